package org.kernbench.nn.placements;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.nn.placements.Redistribution.Step;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * How long redistributions take at the least, from the routes of the machine: rounds of a ring, in
 * which each rank sends as much as the others to its next one, with nobody in the way; in an
 * exchange to one that is further away in each round. Kernels, launches and queues are not in it.
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
    CollectiveOp op = step.collective().orElseThrow();
    int ranks = mesh.sizes().get(step.dimension());
    int world = mesh.sizes().stream().reduce(1, (a, b) -> a * b);
    int rounds = (ranks - 1) * (op == CollectiveOp.ALL_REDUCE ? 2 : 1);
    long piece = Math.ceilDiv(step.bytes(), (long) world * rounds);
    long ps = 0;
    for (int round = 0; round < rounds; round++) {
      int distance = op == CollectiveOp.ALL_TO_ALL ? round + 1 : 1;
      ps += slowestPs(step.dimension(), distance, piece);
    }
    return ps;
  }

  private long slowestPs(int dimension, int distance, long bytes) {
    long slowest = 0;
    for (Route route :
        routes.computeIfAbsent(List.of(dimension, distance), key -> found(dimension, distance))) {
      slowest = Math.max(slowest, route.alonePs(bytes));
    }
    return slowest;
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
