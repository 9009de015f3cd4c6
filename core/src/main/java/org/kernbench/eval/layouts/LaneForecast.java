package org.kernbench.eval.layouts;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.UsageException;
import org.kernbench.eval.layouts.BridgeForecast.Batch;
import org.kernbench.eval.layouts.BridgeForecast.Hardware;
import org.kernbench.eval.layouts.BridgeForecast.Timing;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.TextTable;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.bridge.BridgeCommunicator;
import org.kernbench.nn.bridge.BridgeLanes;
import org.kernbench.nn.bridge.BridgeLanes.Lane;
import org.kernbench.nn.bridge.BridgePlan.Direction;
import org.kernbench.nn.bridge.BridgePlan.Pass;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Worker;

/**
 * {@link BridgeForecast} for modules on ranks of their own: leaders, messages, what is handed on,
 * bytes, and the time of both passes alone on a machine.
 */
public final class LaneForecast {
  private final BridgeLanes plan;
  private final Batch batch;
  private @Nullable TwoPasses passes;

  private LaneForecast(BridgeLanes plan, Batch batch) {
    this.plan = plan;
    this.batch = batch;
  }

  /**
   * Plans a bridge and, if there is a machine, runs both passes on it.
   *
   * @throws UsageException if the replicas cannot divide the batch, or the machine has too few
   *     devices
   */
  public static LaneForecast of(BridgeLanes plan, Batch batch, Optional<Hardware> hardware) {
    LaneForecast forecast = new LaneForecast(plan, batch);
    batch.checkDivides(Math.max(plan.source().size(Dim.DP), plan.dest().size(Dim.DP)));
    hardware.ifPresent(h -> {
      h.check(forecast.world());
      Map<Pass, Long> bounds = new LinkedHashMap<>();
      for (Pass pass : Pass.values()) {
        bounds.put(pass, forecast.boundPs(h, pass));
      }
      forecast.passes = TwoPasses.run(h, forecast.world(), forecast::body, bounds);
    });
    return forecast;
  }

  private int world() {
    return Math.max(
        plan.source().offset() + plan.source().size(), plan.dest().offset() + plan.dest().size());
  }

  private long bytes(boolean isSource) {
    return batch.bytes(batch.samples() / (isSource ? plan.source() : plan.dest()).size(Dim.DP));
  }

  /** A pass as simulated; empty if there was no machine. */
  public Optional<Timing> timing(Pass pass) {
    return Optional.ofNullable(passes).map(p -> p.timing(pass));
  }

  /** Bytes that all ranks send together in a pass, at least. */
  public long predictedBytes(Pass pass) {
    boolean isForward = pass == Pass.FORWARD;
    List<Lane> takers = isForward ? plan.destLanes() : plan.sourceLanes();
    long handedOn =
        takers.stream().mapToLong(l -> (l.boundary().size() - 1) * bytes(!isForward)).sum();
    long context = plan.dest().size(Dim.CP);
    long summed = isForward ? 0 : plan.destLanes().size() * 2L * (context - 1) * bytes(false);
    return batch.bytes(batch.samples()) + handedOn + summed;
  }

  private long boundPs(Hardware h, Pass pass) {
    BoundChain chain = new BoundChain(h, world());
    boolean isForward = pass == Pass.FORWARD;
    if (!isForward && plan.dest().size(Dim.CP) > 1) {
      for (List<Integer> group : plan.dest().enumerate(Dim.CP)) {
        if (plan.destLanes().stream().anyMatch(l -> group.contains(l.leader()))) {
          group.forEach(r -> chain.copy(r, bytes(false)));
          chain.allReduce(group, bytes(false));
        }
      }
    }
    List<Integer> from = new ArrayList<>();
    List<Integer> to = new ArrayList<>();
    for (List<Integer> pair : pairs()) {
      from.add(pair.get(isForward ? 0 : 1));
      to.add(pair.get(isForward ? 1 : 0));
    }
    chain.messages(from, to, batch.bytes(batch.samples() / from.size()));
    boolean joins = plan.direction() == (isForward ? Direction.FAN_IN : Direction.FAN_OUT);
    for (Lane lane : isForward ? plan.destLanes() : plan.sourceLanes()) {
      if (joins) {
        chain.copy(lane.leader(), bytes(!isForward));
      }
      chain.broadcast(lane.boundary(), lane.leader(), bytes(!isForward));
    }
    return chain.ps();
  }

  /** Leaders that exchange, of the source and of the destination. */
  private List<List<Integer>> pairs() {
    List<List<Integer>> pairs = new ArrayList<>();
    int lanes = Math.max(plan.sourceLanes().size(), plan.destLanes().size());
    for (int i = 0; i < lanes; i++) {
      int source = plan.direction() == Direction.FAN_OUT ? i / plan.scale() : i;
      int dest = plan.direction() == Direction.FAN_IN ? i / plan.scale() : i;
      pairs.add(
          List.of(plan.sourceLanes().get(source).leader(), plan.destLanes().get(dest).leader()));
    }
    return pairs;
  }

  private Shape shape(boolean isSource) {
    int replicas = (isSource ? plan.source() : plan.dest()).size(Dim.DP);
    return Shape.of(batch.samples() / replicas, batch.tokens(), batch.hidden());
  }

  private static boolean isIn(List<Lane> lanes, int rank) {
    return lanes.stream().anyMatch(lane -> lane.boundary().contains(rank));
  }

  private void body(Worker w, Runnable barrier) {
    HyperCommGrid source = BridgeForecast.grid(w, plan.source());
    HyperCommGrid dest = BridgeForecast.grid(w, plan.dest());
    BridgeCommunicator bridge = new BridgeCommunicator(source, dest, plan.options());
    Torch torch = w.torch();
    boolean gives = isIn(plan.sourceLanes(), w.rank());
    boolean takes = isIn(plan.destLanes(), w.rank());
    try (Graph graph = Graph.of(torch);
        Tensor x = torch.empty(shape(gives), batch.dtype(), gives ? "x" : "dy")) {
      Variable value = graph.input(x);
      if (gives) {
        bridge.sendForward(graph, value);
      } else if (takes) {
        value = bridge.recvForward(graph, shape(false), batch.dtype());
      }
      barrier.run();
      if (gives) {
        bridge.recvBackward(graph, value);
      } else if (takes) {
        graph.backward(value, x);
        bridge.sendBackward(graph, value);
      }
    }
  }

  // ---- output ----

  private Map<Pass, Long> predicted() {
    Map<Pass, Long> bytes = new LinkedHashMap<>();
    for (Pass pass : Pass.values()) {
      bytes.put(pass, predictedBytes(pass));
    }
    return bytes;
  }

  /** For people. */
  public String text() {
    StringBuilder out = new StringBuilder();
    out.append("bridge between ranks apart, ").append(plan).append('\n');
    out.append(
        String.format(
            Locale.ROOT,
            """
            %d samples of %d tokens, hidden %d, %s: %,d B in each source lane, %,d B in each \
            destination lane%n\
            """,
            batch.samples(),
            batch.tokens(),
            batch.hidden(),
            batch.dtype().code(),
            bytes(true),
            bytes(false)));
    TextTable table = new TextTable(List.of("lane", "leader", "ranks of the stage"));
    table.left(0, 2);
    lanes(table, plan.options().source(), plan.sourceLanes());
    lanes(table, plan.options().dest(), plan.destLanes());
    out.append('\n').append(table);
    out.append("messages ").append(LayoutGroups.shown(pairs())).append('\n');
    Optional.ofNullable(passes).ifPresent(p -> out.append('\n').append(p.text(predicted())));
    return out.toString();
  }

  private static void lanes(TextTable table, String module, List<Lane> lanes) {
    for (int i = 0; i < lanes.size(); i++) {
      Lane lane = lanes.get(i);
      table.add(
          List.of(
              module + " " + i,
              "" + lane.leader(),
              lane.boundary().toString().replaceAll("[\\[\\],]", "")));
    }
  }

  /** For programs. */
  public String json() {
    Map<String, Object> root = new LinkedHashMap<>();
    root.put("direction", plan.direction().toString());
    root.put("scale", plan.scale());
    root.put("source", LayoutGroups.layout(plan.source()));
    root.put("dest", LayoutGroups.layout(plan.dest()));
    root.put("samples", batch.samples());
    root.put("tokens", batch.tokens());
    root.put("hidden", batch.hidden());
    root.put("dtype", batch.dtype().code());
    root.put("source_lanes", lanesJson(plan.sourceLanes()));
    root.put("dest_lanes", lanesJson(plan.destLanes()));
    root.put("messages", pairs());
    Optional.ofNullable(passes).ifPresent(p -> root.put("times", p.json(predicted())));
    return Json.write(root);
  }

  private static List<Object> lanesJson(List<Lane> lanes) {
    List<Object> rows = new ArrayList<>();
    for (Lane lane : lanes) {
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("leader", lane.leader());
      row.put("ranks", lane.boundary());
      rows.add(row);
    }
    return rows;
  }
}
