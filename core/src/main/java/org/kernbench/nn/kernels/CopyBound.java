package org.kernbench.nn.kernels;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Node;
import org.kernbench.machine.Pe;
import org.kernbench.torch.ElementRun;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.placement.Mesh;

/**
 * A lower bound of the time in which {@link Copies} are made: what some cubes must hold, less all
 * that their memories hold of the tensor already, comes through the links that lead to them. These
 * may be any cubes; taken are each one, and all those on one side of a line through the grid.
 */
final class CopyBound {
  private static final double ROUNDING = 1 - 1e-9;

  private final Machine machine;
  private final Mesh mesh;

  /** Of cubes, with the bytes per second of all links that lead to them. */
  private record Cubes(Set<Integer> which, double bytesPerSecond) {}

  private final List<Cubes> sets = new ArrayList<>();

  CopyBound(Machine machine, Mesh mesh) {
    this.machine = machine;
    this.mesh = mesh;
  }

  private List<Cubes> sets() {
    int high = mesh.axes().get(0).size();
    int wide = mesh.axes().get(1).size();
    if (sets.isEmpty()) {
      for (int cube = 0; cube < high * wide; cube++) {
        int one = cube;
        add(c -> c == one);
      }
      for (int line = 1; line < wide; line++) {
        int behind = line;
        add(c -> c % wide < behind);
        add(c -> c % wide >= behind);
      }
      for (int line = 1; line < high; line++) {
        int behind = line;
        add(c -> c / wide < behind);
        add(c -> c / wide >= behind);
      }
    }
    return sets;
  }

  private int cube(Pe pe) {
    return mesh.placeOf(pe) / mesh.axes().get(2).size();
  }

  private void add(IntPredicate which) {
    Pe lead = mesh.pe(0);
    Set<Integer> nodesOf = new HashSet<>();
    Set<Integer> cubes = new HashSet<>();
    for (Pe pe : mesh.pes()) {
      if (which.test(cube(pe))) {
        cubes.add(cube(pe));
        nodesOf.add(pe.cube());
      }
    }
    double rate = 0;
    int first = lead.sip() * machine.linksPerSip();
    for (int link = first; link < first + machine.linksPerSip(); link++) {
      Node from = machine.node(machine.linkFrom(link));
      if (isIn(machine.node(machine.linkTo(link)), lead.sip(), nodesOf)
          && from.cube() >= 0 // no way from cube to cube goes by an IO chiplet
          && !isIn(from, lead.sip(), nodesOf)) {
        rate += OperandBound.bytesPerSecond(machine, link);
      }
    }
    sets.add(new Cubes(cubes, rate));
  }

  private static boolean isIn(Node node, int sip, Set<Integer> cubes) {
    return node.sip() == sip && cubes.contains(node.cube());
  }

  /**
   * The least time.
   *
   * @param copy one of the copies, which lie alike
   * @param axis of the mesh along which there is one for each place
   * @param sources that hold the tensor, one or several
   */
  long leastPs(Tensor copy, int axis, List<Tensor> sources) {
    long padding = Math.max(0, copy.sizeBytes() - sources.getFirst().sizeBytes());
    Map<Integer, Long> parts = new HashMap<>(); // by place along the other axis
    bytes(copy).forEach((cube, bytes) -> parts.merge(along(1 - axis, cube), bytes, Long::sum));
    Map<Integer, Long> held = new HashMap<>();
    for (Tensor source : sources) {
      bytes(source).forEach((cube, bytes) -> held.merge(cube, bytes, Long::sum));
    }
    double most = 0;
    for (Cubes set : sets()) {
      Set<Integer> places = new HashSet<>();
      long here = 0;
      for (int cube : set.which) {
        places.add(along(1 - axis, cube));
        here += held.getOrDefault(cube, 0L);
      }
      long needed = -padding;
      for (int place : places) {
        needed += parts.getOrDefault(place, 0L);
      }
      if (set.bytesPerSecond > 0) {
        most = Math.max(most, (needed - here) / set.bytesPerSecond);
      }
    }
    return (long) (most * 1e12 * ROUNDING);
  }

  /** What a tensor has in the memory of each cube. */
  private Map<Integer, Long> bytes(Tensor of) {
    Map<Integer, Long> bytes = new HashMap<>();
    of.runs()
        .forEach((pe, runs) -> {
          if (mesh.placeOf(pe) >= 0) {
            long elements = runs.stream().mapToLong(ElementRun::count).sum();
            bytes.merge(cube(pe), elements * of.dtype().sizeBytes(), Long::sum);
          }
        });
    return bytes;
  }

  private int along(int axis, int cube) {
    int wide = mesh.axes().get(1).size();
    return axis == 0 ? cube / wide : cube % wide;
  }
}
