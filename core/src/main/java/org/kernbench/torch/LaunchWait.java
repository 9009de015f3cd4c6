package org.kernbench.torch;

import java.util.BitSet;
import org.kernbench.device.Launch;

/** A rank waits for a kernel. */
record LaunchWait(Launch launch) implements Wait {
  @Override
  public boolean isOver() {
    return launch.isDone();
  }

  @Override
  public boolean advance(Session session) {
    session.drive(launch);
    return true;
  }

  @Override
  public BitSet missing() {
    return new BitSet();
  }

  @Override
  public String describe(Scheduler scheduler) {
    return "await of kernel " + launch.name();
  }
}
