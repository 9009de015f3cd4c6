package org.kernbench.nn.placements;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.nn.placements.Redistribution.Step;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * How long redistributions take, from the routes of the machine: rounds of a ring, in which each
 * rank sends as much as the others to its next one, with nobody in the way. In an exchange all is
 * sent at once; the furthest message decides, or the ports that all of a rank's leave by. Kernels,
 * launches and queues are not in it.
 *
 * <p>All ranks find the same, for they look at all groups along a dimension.
 */
final class MeshPace {
  private final Machine machine;
  private final DeviceMesh mesh;
  private final Map<List<Integer>, List<Route>> routes = new HashMap<>();

  MeshPace(Machine machine, DeviceMesh mesh) {
    this.machine = machine;
    this.mesh = mesh;
  }

  /** Of all steps, one after the other. */
  long ps(Redistribution plan) {
    return plan.steps().stream().mapToLong(this::ps).sum();
  }

  /** Of one. */
  long ps(Step step) {
    if (step.collective().isEmpty() || step.bytes() == 0) {
      return 0;
    }
    int ranks = mesh.sizes().get(step.dimension());
    int world = mesh.sizes().stream().reduce(1, (a, b) -> a * b);
    CollectiveOp op = step.collective().orElseThrow();
    if (op == CollectiveOp.ALL_TO_ALL) {
      return exchangePs(step.dimension(), ranks, Math.ceilDiv(step.bytes(), (long) world));
    }
    int rounds = (ranks - 1) * (op == CollectiveOp.ALL_REDUCE ? 2 : 1);
    long piece = Math.ceilDiv(step.bytes(), (long) world * rounds);
    return rounds * slowest(step.dimension(), 1, route -> route.alonePs(piece));
  }

  /** If each rank sends so many bytes, to each other as many. */
  private long exchangePs(int dimension, int ranks, long bytes) {
    long piece = Math.ceilDiv(bytes, (long) ranks - 1);
    long port =
        slowest(dimension, 1, r -> r.latencyPs() + machine.specOf(r.first()).durationPs(bytes));
    long furthest = 0;
    for (int distance = 1; distance < ranks; distance++) {
      furthest = Math.max(furthest, slowest(dimension, distance, r -> r.alonePs(piece)));
    }
    return Math.max(port, furthest);
  }

  private long slowest(int dimension, int distance, ToLongFunction<Route> ps) {
    List<Integer> key = List.of(dimension, distance);
    return routes.computeIfAbsent(key, k -> found(dimension, distance)).stream()
        .mapToLong(ps)
        .max()
        .orElse(0);
  }

  private List<Route> found(int dimension, int distance) {
    List<Route> found = new ArrayList<>();
    for (List<Pe> group : mesh.devices(dimension)) {
      for (int i = 0; i < group.size(); i++) {
        found.add(machine.route(group.get(i), group.get((i + distance) % group.size())));
      }
    }
    return found;
  }
}
