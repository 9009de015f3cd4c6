package org.kernbench.nn.autograd;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.kernbench.torch.Tensor;

/**
 * Positions of queries or keys, which say who sees whom: on the device, and on the host to know
 * which tiles the mask leaves out.
 *
 * @param from the first position that each of these, of queries, sees; empty if all see from the
 *     beginning
 */
record Positions(int[] host, Tensor device, Optional<Positions> from) {
  int count() {
    return host.length;
  }

  /** The first key that a query sees. */
  int from(int query) {
    return from.isEmpty() ? Integer.MIN_VALUE : from.orElseThrow().host[query];
  }

  /** What a kernel reads of it. */
  List<Tensor> tensors() {
    return from.isEmpty() ? List.of(device) : List.of(device, from.orElseThrow().device);
  }

  /** Pairs of one of these queries and a key that it sees. */
  long pairs(Positions keys) {
    int[] sorted = keys.host.clone();
    Arrays.sort(sorted);
    long pairs = 0;
    for (int i = 0; i < count(); i++) {
      pairs += Math.max(0, before(sorted, host[i] + 1) - before(sorted, from(i)));
    }
    return pairs;
  }

  /** How many sorted numbers are less than one. */
  private static int before(int[] sorted, int than) {
    int index = Arrays.binarySearch(sorted, than);
    return index >= 0 ? index : -index - 1;
  }
}
