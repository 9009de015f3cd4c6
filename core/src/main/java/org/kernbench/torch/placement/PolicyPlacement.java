package org.kernbench.torch.placement;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.Shape;

/**
 * Resolves a policy on a device. An axis of {@code n} over {@code k} parts gives the first {@code n
 * mod k} parts one element more than the others, so parts may be empty when {@code n < k}.
 */
public final class PolicyPlacement {
  private PolicyPlacement() {}

  public static List<ShardSpec> resolve(String name, Shape shape, DpPolicy policy, Device device) {
    int cubes = count(name, "cubes", policy.numCubes(), device.cubes(), device);
    int pes = count(name, "PEs per cube", policy.numPes(), device.pes(), device);
    Box all = Box.all(shape);
    List<ShardSpec> shards = new ArrayList<>(cubes * pes);
    for (int c = 0; c < cubes; c++) {
      Box ofCube = part(name, all, policy.cube(), c, cubes);
      for (int p = 0; p < pes; p++) {
        Box ofPe = part(name, ofCube, policy.pe(), p, pes);
        shards.add(ofPe.at(device.lead().sip(), device.lead().cube() + c, device.lead().pe() + p));
      }
    }
    return List.copyOf(shards);
  }

  private static int count(
      String name, String what, OptionalInt wanted, int available, Device device) {
    int count = wanted.orElse(available);
    if (count > available) {
      throw new SimulationException(
          """
          tensor %s: placement over %s %s, but %s has %s; ask for at most %s. A tensor \
          lies on one device: for more, make one tensor per rank\
          """
              .formatted(name, count, what, device, available, available));
    }
    return count;
  }

  private static Box part(String name, Box whole, DpPolicy.Split split, int index, int parts) {
    if (split == DpPolicy.Split.REPLICATE || parts == 1) {
      return whole;
    }
    int rank = whole.extent().length;
    if (rank == 0) {
      throw new SimulationException(
          """
          tensor %s: a scalar cannot be divided over %s places; replicate it or place it \
          on one PE\
          """
              .formatted(name, parts));
    }
    int last = rank - 1;
    return switch (split) {
      case REPLICATE -> whole;
      case ROW_WISE -> whole.cut(0, index, parts);
      case COLUMN_WISE -> whole.cut(last, index, parts);
      case TILED_ROW_MAJOR -> {
        int columns = parts / tileRows(name, rank, parts);
        yield whole.cut(0, index / columns, parts / columns).cut(last, index % columns, columns);
      }
      case TILED_COLUMN_MAJOR -> {
        int rows = tileRows(name, rank, parts);
        yield whole.cut(0, index % rows, rows).cut(last, index / rows, parts / rows);
      }
    };
  }

  /** Rows of the squarest grid of {@code parts} tiles: the largest divisor up to the root. */
  private static int tileRows(String name, int rank, int parts) {
    if (rank < 2) {
      throw new SimulationException(
          """
          tensor %s: a vector cannot be divided into tiles; expected at least two axes, \
          or a row-wise split\
          """
              .formatted(name));
    }
    int rows = (int) Math.sqrt(parts);
    while (parts % rows != 0) {
      rows--;
    }
    return rows;
  }
}
