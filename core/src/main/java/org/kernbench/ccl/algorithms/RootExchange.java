package org.kernbench.ccl.algorithms;

import org.kernbench.ccl.Group;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Wiring;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/** Combines the values that some ranks hold, so that each of them has the whole. */
interface RootExchange {
  /** Nothing to combine: there is one such rank only. */
  RootExchange NONE =
      new RootExchange() {
        @Override
        public void wire(Wiring wiring) {}

        @Override
        public int held() {
          return 0;
        }

        @Override
        public Value run(Tl tl, int rank, Value own, Reduction reduction) {
          return own;
        }

        @Override
        public long formulaPs(Group group, long bytes, long additionPs) {
          return 0;
        }
      };

  /** Adds the queues it needs. */
  void wire(Wiring wiring);

  /** The most values that a rank holds at once besides its own and one that it adds. */
  int held();

  /** One rank's part: gives up {@code own}, returns all combined, with the same bits everywhere. */
  Value run(Tl tl, int rank, Value own, Reduction reduction);

  /** Time by formula for vectors of some bytes, of which two are added in {@code additionPs}. */
  long formulaPs(Group group, long bytes, long additionPs);
}
