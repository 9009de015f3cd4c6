package org.kernbench.device.reuse;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A launch that starts, or has. */
public interface MemoLaunch {
  /** What is remembered of it; always the same object. */
  LaunchMark mark();

  /** The kernel's name. */
  String name();

  /** Which of the PEs' program contexts it takes. */
  int stream();

  /** Its number in the log of launches. */
  int id();

  /** Where it runs, in the order of the launch. */
  List<? extends MemoPe> pes();

  /** What its commands depend on beside PEs and queues; empty if that is not known. */
  Optional<Dependence> dependsOn();

  /** The queues that it sends and receives by; null if by none. */
  @Nullable MemoQueues queues();

  /** The launch whose end on a PE made it start at once; null if something else did. */
  @Nullable MemoLaunch startedBy();

  /** That PE. */
  MemoPe startedByPe();

  /** How many launches had been called before it: of those of one time it starts in this order. */
  int callNumber();

  /** How many starts had been scheduled before its own. */
  int startNumber();

  /** Whether every PE but one has ended its part. */
  boolean isLastPart();

  /** It is simulated from its start, whatever was said of its end. */
  void startsAgain();

  // ---- its part on one of its PEs ----

  /** Its row there in the log of launches. */
  int rowOn(MemoPe pe);

  /** Whether no other launch waits there on its stream. */
  boolean isLastCalledOn(MemoPe pe);

  /** It begins there, and what comes is known: nothing of it happens before it has come. */
  void replaysOn(MemoPe pe);

  /**
   * It has come, and others are told.
   *
   * @param endPs when its last command ended there
   * @param lastOp that command
   * @param donePs when its last message was seen as well
   * @param lastSeen the command whose end that was
   */
  void hasReplayedOn(MemoPe pe, long endPs, int lastOp, long donePs, int lastSeen);

  /**
   * It is simulated there after all.
   *
   * @param row its row in the log of launches
   * @param wasTold whether it was over there, and everybody has been told so
   */
  void startsAfterAllOn(MemoPe pe, int row, boolean wasTold);
}
