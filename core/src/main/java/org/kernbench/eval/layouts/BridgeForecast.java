package org.kernbench.eval.layouts;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.TextTable;
import org.kernbench.machine.Machine;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.bridge.BridgePlan;
import org.kernbench.nn.bridge.BridgePlan.Move;
import org.kernbench.nn.bridge.BridgePlan.Pass;
import org.kernbench.nn.bridge.BridgePlan.Position;
import org.kernbench.nn.bridge.BridgePlan.SliceInfo;
import org.kernbench.nn.bridge.ColocatedBridgeCommunicator;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * {@code kernbench layout bridge}: what a bridge between two layouts does, rank by rank, how many
 * bytes it sends, and the time it takes on a machine, with a lower bound.
 *
 * <p>The time is that of both passes alone on an idle machine, activations {@code [samples, tokens,
 * hidden]}; the backward pass starts when all ranks have ended the forward pass.
 */
public final class BridgeForecast {
  /** Of a batch; what all ranks send of it together still fits into a long. */
  private static final long MOST_BYTES = 1L << 48;

  private final BridgePlan plan;
  private final Batch batch;
  private final Optional<Hardware> hardware;
  private @Nullable TwoPasses passes;

  /**
   * What is carried over.
   *
   * @param samples of all replicas together
   * @param tokens of each sample
   * @param hidden elements of each token
   * @param dtype of the elements
   */
  public record Batch(int samples, int tokens, int hidden, DType dtype) {
    /** Checks that all are 1 or more, and that their bytes can be numbered. */
    public Batch {
      check("batch", samples);
      check("tokens", tokens);
      check("hidden", hidden);
      double bytes = (double) samples * tokens * hidden * dtype.sizeBytes();
      if (bytes > MOST_BYTES) {
        throw new UsageException(
            String.format(
                Locale.ROOT,
                """
                a batch of %d samples of %d tokens, hidden %d, has %.1e bytes; expected at most \
                %.1e\
                """,
                samples,
                tokens,
                hidden,
                bytes,
                (double) MOST_BYTES));
      }
    }

    /** Checks that replicas can divide the samples. */
    void checkDivides(int replicas) {
      if (samples % replicas != 0) {
        throw new UsageException(
            """
            batch is %s; expected a multiple of %s, the larger dp, so that every replica \
            has as many samples\
            """
                .formatted(samples, replicas));
      }
    }

    /** Bytes of some samples. */
    long bytes(int count) {
      return (long) count * tokens * hidden * dtype.sizeBytes();
    }

    private static void check(String name, int value) {
      if (value < 1) {
        throw new UsageException(name + " is " + value + "; expected 1 or more");
      }
    }
  }

  /**
   * Where it runs.
   *
   * @param level what a rank owns; it computes on the first PE of it
   * @param ccl how collectives run; its algorithm for all-reduces serves all ranks
   */
  public record Hardware(Machine machine, RankLevel level, CclConfig ccl) {
    /** Whether there are devices for ranks 0 to {@code world} less one. */
    void check(int world) {
      int devices = level.devices(machine);
      if (world > devices) {
        throw new UsageException(
            """
            the layouts need ranks 0 to %s; machine %s has %s devices of level %s; choose a \
            smaller --rank-level, another machine, or --no-time\
            """
                .formatted(
                    world - 1, machine.name(), devices, level.name().toLowerCase(Locale.ROOT)));
      }
    }
  }

  /**
   * A pass as simulated.
   *
   * @param ps from its start to the end of its last kernel
   * @param boundPs no run takes less
   * @param sentBytes counted on the wire
   */
  public record Timing(long ps, long boundPs, long sentBytes) {}

  private BridgeForecast(BridgePlan plan, Batch batch, Optional<Hardware> hardware) {
    this.plan = plan;
    this.batch = batch;
    this.hardware = hardware;
  }

  /**
   * Plans a bridge and, if there is a machine, runs both passes on it.
   *
   * @throws UsageException if the replicas cannot divide the batch, or the machine has too few
   *     devices
   */
  public static BridgeForecast of(BridgePlan plan, Batch batch, Optional<Hardware> hardware) {
    BridgeForecast forecast = new BridgeForecast(plan, batch, hardware);
    forecast.check();
    hardware.ifPresent(forecast::run);
    return forecast;
  }

  private void check() {
    batch.checkDivides(Math.max(plan.source().size(Dim.DP), plan.dest().size(Dim.DP)));
    int parts = plan.source().size(Dim.CP);
    if (parts > 1 && batch.tokens % (2 * parts) != 0) {
      throw new UsageException(
          "tokens is %s; expected a multiple of %s, twice the cp of the source"
              .formatted(batch.tokens, 2 * parts));
    }
    hardware.ifPresent(h -> h.check(world()));
  }

  private int world() {
    return plan.source().offset() + plan.source().size();
  }

  /** What is planned. */
  public BridgePlan plan() {
    return plan;
  }

  /** A pass as simulated; empty if there was no machine. */
  public Optional<Timing> timing(Pass pass) {
    return Optional.ofNullable(passes).map(p -> p.timing(pass));
  }

  // ---- bytes ----

  private int sourceSamples() {
    return batch.samples / plan.source().size(Dim.DP);
  }

  private long sourceBytes() {
    return batch.bytes(sourceSamples()) / plan.source().size(Dim.CP);
  }

  private List<Move> moves() {
    return plan.moves(sourceBytes());
  }

  /** Bytes that all ranks send together in a pass, as predicted. */
  public long predictedBytes(Pass pass) {
    return moves().stream().filter(m -> m.pass() == pass).mapToLong(Move::sentBytes).sum();
  }

  // ---- time ----

  private void run(Hardware h) {
    Map<Pass, Long> bounds = new LinkedHashMap<>();
    for (Pass pass : Pass.values()) {
      bounds.put(pass, boundPs(h, pass));
    }
    passes = TwoPasses.run(h, world(), this::body, bounds);
  }

  private void body(Worker w, Runnable barrier) {
    HyperCommGrid source = grid(w, plan.source());
    HyperCommGrid dest = grid(w, plan.dest());
    ColocatedBridgeCommunicator bridge =
        ColocatedBridgeCommunicator.create(source, dest, plan.options());
    Torch torch = w.torch();
    Shape shape =
        Shape.of(sourceSamples(), batch.tokens / plan.source().size(Dim.CP), batch.hidden);
    Shape taken = Shape.of(batch.samples / plan.dest().size(Dim.DP), batch.tokens, batch.hidden);
    try (Graph graph = Graph.of(torch);
        Tensor x = torch.empty(shape, batch.dtype, "x");
        Tensor dy = torch.empty(taken, batch.dtype, "dy")) {
      @Nullable Variable y = source.isMember() ? bridge.communicate(graph, graph.input(x)) : null;
      barrier.run();
      if (y != null) {
        graph.backward(y, dy);
      }
    }
  }

  /** A grid with the groups that a bridge needs. */
  static HyperCommGrid grid(Worker w, RankGrid ranks) {
    HyperCommGrid grid = new HyperCommGrid(w.distributed(), ranks);
    if (ranks.size(Dim.CP) > 1) {
      grid.create(Dim.CP);
    }
    return grid;
  }

  private long boundPs(Hardware h, Pass pass) {
    BoundChain chain = new BoundChain(h, world());
    long part = sourceBytes();
    boolean isForward = pass == Pass.FORWARD;
    for (Move move : moves()) {
      if (move.pass() == pass) {
        boolean reduces = move.op() == CollectiveOp.ALL_REDUCE;
        for (List<Integer> group : move.groups()) {
          if (reduces) {
            group.forEach(r -> chain.copy(r, move.bytes())); // on a private copy
            chain.allReduce(group, move.bytes());
          } else {
            chain.allGather(group, move.bytes());
          }
        }
      }
    }
    int parts = plan.source().size(Dim.CP);
    if (parts > 1) { // positions put in order, or picked
      for (int r = plan.source().offset(); r < world(); r++) {
        chain.copy(r, isForward ? part * parts : part);
      }
    }
    return chain.ps();
  }

  // ---- output ----

  /** For people. */
  public String text() {
    StringBuilder out = new StringBuilder();
    out.append("bridge ").append(plan).append('\n');
    out.append(
        String.format(
            Locale.ROOT,
            """
            %d samples of %d tokens, hidden %d, %s: %,d B from each source rank, %,d B to each \
            destination rank%n\
            """,
            batch.samples,
            batch.tokens,
            batch.hidden,
            batch.dtype.code(),
            sourceBytes(),
            plan.destBytes(sourceBytes())));
    out.append('\n').append(ranks());
    groups(out, "gathered over", plan.gatherGroups());
    groups(out, "gradients summed over", plan.contextGroups());
    groups(out, "sequence gathered over", plan.sourceContextGroups());
    TextTable moves = new TextTable(List.of("pass", "moves", "", "", "B before", "B sent by all"));
    moves.left(0, 1);
    for (Move m : moves()) {
      moves.add(
          List.of(
              TwoPasses.word(m.pass()),
              m.op().word().replace('_', '-'),
              m.groups().size() + " groups",
              "of " + m.ranks(),
              TwoPasses.bytes(m.bytes()),
              TwoPasses.bytes(m.sentBytes())));
    }
    out.append('\n').append(moves().isEmpty() ? "nothing is sent\n" : moves.toString());
    Optional.ofNullable(passes).ifPresent(p -> out.append('\n').append(p.text(predicted())));
    return out.toString();
  }

  private static void groups(StringBuilder out, String what, List<List<Integer>> groups) {
    if (!groups.isEmpty()) {
      out.append(what).append(' ').append(LayoutGroups.shown(groups)).append('\n');
    }
  }

  private int larger() {
    return Math.max(sourceSamples(), batch.samples / plan.dest().size(Dim.DP));
  }

  private TextTable ranks() {
    TextTable table =
        new TextTable(
            List.of("rank", plan.options().source(), plan.options().dest(), "slot", "slice"));
    table.left(1, 2, 4);
    for (int r = plan.source().offset(); r < world(); r++) {
      SliceInfo slice = plan.slice(r, larger());
      table.add(
          List.of(
              "" + r,
              shown(plan.sourcePosition(r), plan.source().size(Dim.CP) > 1),
              shown(plan.destPosition(r), true),
              "" + plan.slot(r),
              slice.start() + " to " + (slice.start() + slice.size() - 1) + " of " + larger()));
    }
    return table;
  }

  private static String shown(Position p, boolean context) {
    return "dp " + p.dp() + " tp " + p.tp() + (context ? " cp " + p.cp() : "");
  }

  private Map<Pass, Long> predicted() {
    Map<Pass, Long> bytes = new LinkedHashMap<>();
    for (Pass pass : Pass.values()) {
      bytes.put(pass, predictedBytes(pass));
    }
    return bytes;
  }

  /** For programs. */
  public String json() {
    Map<String, Object> root = new LinkedHashMap<>();
    root.put("direction", plan.direction().toString());
    root.put("scale", plan.scale());
    root.put("source", LayoutGroups.layout(plan.source()));
    root.put("dest", LayoutGroups.layout(plan.dest()));
    root.put("samples", batch.samples);
    root.put("tokens", batch.tokens);
    root.put("hidden", batch.hidden);
    root.put("dtype", batch.dtype.code());
    List<Object> ranks = new ArrayList<>();
    for (int r = plan.source().offset(); r < world(); r++) {
      SliceInfo slice = plan.slice(r, larger());
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("rank", r);
      row.put("source_dp", plan.sourcePosition(r).dp());
      row.put("source_tp", plan.sourcePosition(r).tp());
      row.put("source_cp", plan.sourcePosition(r).cp());
      row.put("dest_dp", plan.destPosition(r).dp());
      row.put("dest_tp", plan.destPosition(r).tp());
      row.put("dest_cp", plan.destPosition(r).cp());
      row.put("slot", plan.slot(r));
      row.put("slice_start", slice.start());
      row.put("slice_size", slice.size());
      ranks.add(row);
    }
    root.put("ranks", ranks);
    root.put("gather_groups", plan.gatherGroups());
    root.put("context_groups", plan.contextGroups());
    root.put("source_context_groups", plan.sourceContextGroups());
    List<Object> moves = new ArrayList<>();
    for (Move m : moves()) {
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("pass", TwoPasses.word(m.pass()));
      row.put("op", m.op().word());
      row.put("groups", m.groups().size());
      row.put("ranks", m.ranks());
      row.put("bytes_before", m.bytes());
      row.put("bytes_sent", m.sentBytes());
      moves.add(row);
    }
    root.put("moves", moves);
    Optional.ofNullable(passes).ifPresent(p -> root.put("times", p.json(predicted())));
    return Json.write(root);
  }
}
