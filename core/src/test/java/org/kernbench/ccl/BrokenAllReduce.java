package org.kernbench.ccl;

import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.placement.RankLevel;

/** A plain ring all-reduce that can be broken in the ways in which such programs are broken. */
public record BrokenAllReduce(Flaw flaw) implements CollectiveAlgorithm {
  public enum Flaw {
    NONE,
    /** The last rank's ring is closed to the wrong rank. */
    WRONG_NEIGHBOUR,
    /** A segment begins one element too late. */
    SEGMENT_OFF_BY_ONE,
    /** One contribution is passed on without being added. */
    MISSING_REDUCTION,
    /** The average is not divided. */
    UNFINISHED,
    /** Says that it needs fewer slots than it does. */
    TOO_FEW_SLOTS,
    /** Sends one message more than it says. */
    EXTRA_MESSAGE,
    /** Ranks wait for each other in a circle. */
    RECEIVES_FIRST,
    /** Each rank adds in another order. */
    OWN_ORDER,
    /** The kernel stops with an exception of its own. */
    THROWS,
    /** No plan is made, by an exception that is no refusal. */
    PLANS_NOTHING,
    /** No group is served. */
    REFUSES
  }

  @Override
  public String name() {
    return "broken";
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    return switch (flaw) {
      case PLANS_NOTHING -> throw new UnsupportedOperationException("not yet");
      case REFUSES -> throw new CollectiveException("broken: serves nobody");
      default -> new Ring(group, flaw);
    };
  }

  private record Ring(Group group, Flaw flaw) implements Schedule {
    @Override
    public List<QueuePlan.Connection> connections() {
      Wiring wiring = new Wiring(group);
      int p = group.size();
      for (int i = 0; i < p; i++) {
        wiring.join(i, "next", (i + 1) % p, "previous");
      }
      return wiring.connections();
    }

    @Override
    public OptionalLong wireBytes(CollectiveCall call) {
      int p = group.size();
      return OptionalLong.of(p * (p - 1L) * call.bytes());
    }

    /** Two messages are sent, half a vector each, before anything is received. */
    @Override
    public OptionalInt leastSlots(CollectiveCall call) {
      return OptionalInt.of(flaw == Flaw.TOO_FEW_SLOTS || call.elements() == 1 ? 1 : 2);
    }

    /** Whole vectors once round the ring in two halves; each rank adds in rank order at the end. */
    @Override
    public RankProgram program(CollectiveCall call) {
      int n = Math.toIntExact(call.elements());
      int p = group.size();
      Segments blocks = Segments.ofAtMost(0, n, 2048);
      return (tl, rank, vector, reduction) -> {
        if (flaw == Flaw.THROWS && rank == p - 1) {
          throw new ClassCastException("no such neighbour");
        }
        for (int b = 0; b < blocks.parts(); b++) {
          Scope scope = tl.scope();
          Segments halves = blocks.of(b, 2);
          int start = halves.start();
          Value[][] of = new Value[2][p];
          for (int h = 0; h < 2; h++) {
            int shift = flaw == Flaw.SEGMENT_OFF_BY_ONE && h == 1 && n > 3 ? 1 : 0;
            if (halves.count(h) > 0) {
              of[h][rank] = vector.read(tl, halves.start(h) - shift, halves.count(h));
            }
          }
          for (int step = 1; step < p; step++) {
            int newer = Math.floorMod(rank - step, p);
            int older = Math.floorMod(rank - step + 1, p);
            if (flaw == Flaw.WRONG_NEIGHBOUR && rank == p - 1 && step == 1 && p > 2) {
              newer = Math.floorMod(newer - 1, p); // takes what comes for another rank's
            }
            for (int round = 0; round < 2; round++) {
              boolean sends = (round == 0) != (flaw == Flaw.RECEIVES_FIRST);
              for (int h = 0; h < 2; h++) {
                if (halves.count(h) == 0) {
                  continue;
                }
                if (sends) {
                  Value value = of[h][older] == null ? of[h][rank] : of[h][older];
                  tl.send("next", value);
                } else {
                  of[h][newer] = tl.recvCopy("previous", Shape.of(halves.count(h)), call.dtype());
                }
              }
            }
          }
          for (int h = 0; h < 2; h++) {
            if (halves.count(h) > 0) {
              Value sum = null;
              for (int i = 0; i < p; i++) {
                int from = flaw == Flaw.OWN_ORDER ? (i + rank) % p : i;
                Value next = of[h][from];
                if (next == null || (flaw == Flaw.MISSING_REDUCTION && i == p - 1 && rank == 0)) {
                  continue;
                }
                sum = sum == null ? next : reduction.combine(sum, next);
              }
              if (sum == null) {
                throw new IllegalStateException("bug: nothing to add");
              }
              Value whole = flaw == Flaw.UNFINISHED ? sum : reduction.finish(tl, sum);
              vector.write(tl, halves.start(h), halves.count(h), whole);
            }
          }
          if (flaw == Flaw.EXTRA_MESSAGE && start == 0 && rank == 0 && p > 4) {
            tl.send("next", of[0][0]);
          }
          scope.close();
        }
      };
    }
  }
}
