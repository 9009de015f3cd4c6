package org.kernbench.torch;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.kernbench.device.Launch;

/**
 * Memory that nobody wants any more, and what is done where there is none left: first what can be
 * done without is closed, then the host waits for the kernels that still use what is closed.
 */
final class Shortage {
  private final Session session;

  /** Closed tensors that kernels still use. */
  private final List<Tensor> leaving = new ArrayList<>();

  private final Set<Runnable> spare = new LinkedHashSet<>();
  private boolean hasBeen;

  /** How far the session was when all of these were last found in use. */
  private long lookedAt = -1;

  Shortage(Session session) {
    this.session = session;
  }

  /** Gives the memory of a closed tensor back as soon as nobody uses it. */
  void release(Tensor tensor) {
    if (!session.releaseIfUnused(tensor)) {
      leaving.add(tensor);
    }
  }

  /** Gives back what is not used any more. */
  void releaseWhatIsUnused() {
    if (!leaving.isEmpty() && session.progress() != lookedAt) {
      lookedAt = session.progress();
      leaving.removeIf(session::releaseIfUnused);
    }
  }

  /** Says what can be closed if memory is short; asked once. */
  void givesBack(Runnable closing) {
    spare.add(closing);
  }

  /** Whether all that can be done without has been given back. */
  boolean hasBeen() {
    return hasBeen;
  }

  /** Whether there is more memory than before. */
  boolean makesRoom() {
    List<Runnable> all = List.copyOf(spare);
    spare.clear();
    hasBeen |= !all.isEmpty();
    all.forEach(Runnable::run);
    int before = leaving.size();
    for (Tensor tensor : List.copyOf(leaving)) {
      for (Launch user : List.copyOf(tensor.users())) {
        session.await(user);
      }
    }
    releaseWhatIsUnused();
    return leaving.size() < before || !all.isEmpty();
  }
}
