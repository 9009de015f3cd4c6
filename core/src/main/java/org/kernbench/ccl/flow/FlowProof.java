package org.kernbench.ccl.flow;

import java.util.Arrays;
import java.util.BitSet;
import org.kernbench.ccl.SlotWalk;
import org.kernbench.ccl.flow.Dataflow.Kind;
import org.kernbench.ccl.flow.Dataflow.Part;

/**
 * What can be shown of a {@link Dataflow} without running it: that it is right.
 *
 * <p>Every part is followed as the set of ranks whose contributions it contains. Two that are
 * combined must have none in common, and what is stored must be what the operation asks for, once
 * for every rank and unit.
 *
 * <p>Ranks take their actions in an order by steps in which all can be taken one at a time, so with
 * slots enough nobody waits for ever; how many are enough is counted by {@link SlotWalk}.
 */
final class FlowProof {
  private FlowProof() {}

  // ---- contributions ----

  /**
   * The ranks whose contributions are in each result: by rank and unit, null where none is stored.
   *
   * @throws IllegalStateException if a contribution would count twice, or a result is stored twice
   */
  static BitSet[][] results(Dataflow flow) {
    BitSet[][] in = new BitSet[flow.parts().size()][]; // by part and place among its units
    BitSet[][] results = new BitSet[flow.ranks()][flow.units()];
    for (Part p : flow.parts()) {
      in[p.id] =
          switch (p.kind) {
            case OWN -> filled(p.count, only(p.rank));
            case VIEW -> {
              int from = p.first - p.source().first;
              yield Arrays.copyOfRange(in[p.source().id], from, from + p.count);
            }
            case RECEIVED, FINISHED, STORED -> in[p.source().id];
            case JOINED ->
                p.from.stream().flatMap(s -> Arrays.stream(in[s.id])).toArray(BitSet[]::new);
            case COMBINED -> united(p, in[p.from.get(0).id], in[p.from.get(1).id]);
          };
      if (p.kind == Kind.STORED) {
        for (int unit = p.first; unit < p.end(); unit++) {
          if (results[p.rank][unit] != null) {
            throw new IllegalStateException(
                "unit %s is stored twice at rank %s, the second time by %s"
                    .formatted(unit, p.rank, p));
          }
          results[p.rank][unit] = in[p.id][unit - p.first];
        }
      }
    }
    return results;
  }

  private static BitSet[] filled(int count, BitSet each) {
    BitSet[] all = new BitSet[count];
    Arrays.fill(all, each);
    return all;
  }

  private static BitSet[] united(Part p, BitSet[] a, BitSet[] b) {
    BitSet[] both = new BitSet[p.count];
    for (int i = 0; i < both.length; i++) {
      if (i > 0 && a[i] == a[i - 1] && b[i] == b[i - 1]) {
        both[i] = both[i - 1];
        continue;
      }
      if (a[i].intersects(b[i])) {
        throw new IllegalStateException(p + " has contributions twice: " + a[i] + " and " + b[i]);
      }
      both[i] = (BitSet) a[i].clone();
      both[i].or(b[i]);
    }
    return both;
  }

  private static BitSet only(int rank) {
    BitSet one = new BitSet();
    one.set(rank);
    return one;
  }
}
