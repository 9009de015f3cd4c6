package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Wiring;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueuePlan.SwitchSum;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * The queues through a switch that adds up and copies. What has the same givers and takers goes
 * through one station; of a reduce-scatter and an all-gather each rank has one, numbered by it.
 */
final class InSwitchQueues {
  private final Group group;
  private final int node;
  private final String phase;
  private final Map<List<Object>, List<QueuePlan.Connection>> wired = new HashMap<>();

  /**
   * Those of a group.
   *
   * @param phase what their names begin with
   */
  InSwitchQueues(Group group, int node, String phase) {
    this.group = group;
    this.node = node;
    this.phase = phase;
  }

  /** By which direction a rank gives to a station. */
  String up(int station) {
    return phase + "up" + number(station);
  }

  /** By which direction a rank gets what a station makes. */
  String down(int station) {
    return phase + "down" + number(station);
  }

  private static String number(int station) {
    return station == 0 ? "" : Integer.toString(station);
  }

  List<QueuePlan.Connection> connections(
      CollectiveOp op, OptionalInt root, BinaryOp combine, DType type) {
    return wired.computeIfAbsent(
        List.of(op, root, combine, type),
        key -> {
          Wiring wiring = new Wiring(group);
          List<SwitchSum> stations = stations(op, root, combine, type);
          for (int s = 0; s < stations.size(); s++) {
            for (int rank = 0; rank < group.size(); rank++) {
              wiring.joinSums(rank, up(s), down(s), stations.get(s));
            }
          }
          return wiring.connections();
        });
  }

  private List<SwitchSum> stations(
      CollectiveOp op, OptionalInt root, BinaryOp combine, DType type) {
    List<Pe> all = group.leads();
    return switch (op) {
      case ALL_REDUCE -> List.of(new SwitchSum(node, all, combine, type));
      case REDUCE -> List.of(to(root.orElseThrow(), combine, type));
      case BROADCAST -> List.of(from(root.orElseThrow(), type));
      case REDUCE_SCATTER -> {
        List<SwitchSum> stations = new ArrayList<>();
        for (int rank = 0; rank < all.size(); rank++) {
          stations.add(to(rank, combine, type));
        }
        yield stations;
      }
      case ALL_GATHER -> {
        List<SwitchSum> stations = new ArrayList<>();
        for (int rank = 0; rank < all.size(); rank++) {
          stations.add(from(rank, type));
        }
        yield stations;
      }
      case GATHER, SCATTER, ALL_TO_ALL, POINT_TO_POINT, BARRIER ->
          throw new CollectiveException(InSwitch.NAME + " has no " + op.word());
    };
  }

  private SwitchSum to(int taker, BinaryOp combine, DType type) {
    return new SwitchSum(node, group.leads(), List.of(group.lead(taker)), combine, type);
  }

  private SwitchSum from(int giver, DType type) {
    Pe pe = group.lead(giver);
    return SwitchSum.copies(
        node, pe, group.leads().stream().filter(other -> !other.equals(pe)).toList(), type);
  }
}
