package org.kernbench.device;

import org.jspecify.annotations.Nullable;
import org.kernbench.device.reuse.MemoEngine;

/**
 * One or more equal channels, and in front of them a queue for each program stream of the PE.
 *
 * <p>A stream's commands start in order. Between streams, of the heads that are ready the one goes
 * first whose stream was served longest ago, of equals the one issued first. So a head that waits
 * for an operand, a message or a credit delays its own stream only, and one that is ready waits for
 * at most one command of each other stream.
 */
final class Engine implements MemoEngine {
  static final long NEVER = Long.MAX_VALUE;

  final ProcessingElement pe;
  final String name;

  final int channels;
  int busy;

  /** The queues of the streams of which commands have come, linked by {@code after}. */
  @Nullable CommandQueue first;

  /** When a channel was freed last, and by which operation. */
  long freedPs = -1;

  int freedBy = -1;

  /** The product that was started last; its sums may still be in the array. */
  int lastProduct = -1;

  /** When its sums have left the array; the next product need not wait for that, MATH does. */
  long drainedPs = -1;

  /** Whether it is on the list of engines to try, and the next there. */
  boolean listed;

  @Nullable Engine nextListed;

  /** Its number among those that streams share; -1 before they do. */
  int index = -1;

  /** When it is to choose between streams: the next such time, and the last. */
  long choosesPs = NEVER;

  long chosePs = -1;

  Engine(ProcessingElement pe, String name, int channels) {
    this.pe = pe;
    this.name = name;
    this.channels = channels;
  }

  void add(Op op) {
    CommandQueue queue = queue(op.stream());
    queue.add(op);
    op.engine = this;
    op.queue = queue;
  }

  private CommandQueue queue(int stream) {
    for (CommandQueue q = first; q != null; q = q.after) {
      if (q.stream == stream) {
        return q;
      }
    }
    CommandQueue added = new CommandQueue(stream, first);
    first = added;
    return added;
  }

  @Override
  public long startedPs(int stream) {
    for (CommandQueue q = first; q != null; q = q.after) {
      if (q.stream == stream) {
        return q.startedPs();
      }
    }
    return -1;
  }

  @Override
  public void served(int stream, long timePs) {
    if (timePs >= 0 || startedPs(stream) >= 0) {
      queue(stream).served(timePs);
    }
  }

  void free(long nowPs, int op) {
    busy--;
    freed(nowPs, op);
  }

  @Override
  public void freed(long timePs, int op) {
    freedPs = timePs;
    freedBy = op;
  }

  @Override
  public void drained(long timePs, int op) {
    drainedPs = timePs;
    lastProduct = op;
  }

  @Override
  public long freedPs() {
    return freedPs;
  }

  @Override
  public int freedBy() {
    return freedBy;
  }

  @Override
  public long drainedPs() {
    return drainedPs;
  }

  @Override
  public int lastProduct() {
    return lastProduct;
  }

  /** Engines to be tried, first come first served, each at most once; linked by themselves. */
  static final class Line {
    private @Nullable Engine first;
    private @Nullable Engine last;

    /** Adds an engine that is not on it yet. */
    void add(Engine engine) {
      if (engine.listed) {
        return;
      }
      engine.listed = true;
      Engine l = last;
      if (l == null) {
        first = engine;
      } else {
        l.nextListed = engine;
      }
      last = engine;
    }

    /** Takes all off. */
    void clear() {
      while (first != null) {
        poll();
      }
    }

    /** Takes the first off; null if there is none. */
    @Nullable Engine poll() {
      Engine engine = first;
      if (engine != null) {
        first = engine.nextListed;
        if (first == null) {
          last = null;
        }
        engine.nextListed = null;
        engine.listed = false;
      }
      return engine;
    }
  }
}
