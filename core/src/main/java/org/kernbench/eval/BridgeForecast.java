package org.kernbench.eval;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.Bounds;
import org.kernbench.ccl.CclConfig;
import org.kernbench.ccl.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.device.OpKind;
import org.kernbench.device.OpLog;
import org.kernbench.device.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.nn.BridgePlan;
import org.kernbench.nn.BridgePlan.Move;
import org.kernbench.nn.BridgePlan.Pass;
import org.kernbench.nn.BridgePlan.Position;
import org.kernbench.nn.BridgePlan.SliceInfo;
import org.kernbench.nn.ColocatedBridgeCommunicator;
import org.kernbench.nn.Graph;
import org.kernbench.nn.HyperCommGrid;
import org.kernbench.nn.RankGrid;
import org.kernbench.nn.Variable;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.CollectiveOp;
import org.kernbench.torch.CollectiveRun;
import org.kernbench.torch.RankLevel;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

/**
 * {@code kernbench layout bridge}: what a bridge between two layouts does, rank by rank, how many
 * bytes it sends, and the time it takes on a machine, with a lower bound.
 *
 * <p>The time is that of both passes alone on an idle machine, activations {@code [samples, tokens,
 * hidden]}; the backward pass starts when all ranks have ended the forward pass.
 */
public final class BridgeForecast {
  private static final double PS_PER_SECOND = 1e12;
  private static final int OPERATIONS = 8_000_000;

  private final BridgePlan plan;
  private final Batch batch;
  private final Optional<Hardware> hardware;
  private final Map<Pass, Timing> timings = new LinkedHashMap<>();

  /**
   * What is carried over.
   *
   * @param samples of all replicas together
   * @param tokens of each sample
   * @param hidden elements of each token
   * @param dtype of the elements
   */
  public record Batch(int samples, int tokens, int hidden, DType dtype) {
    /** Checks that all are 1 or more. */
    public Batch {
      check("batch", samples);
      check("tokens", tokens);
      check("hidden", hidden);
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
  public record Hardware(Machine machine, RankLevel level, CclConfig ccl) {}

  /**
   * A pass as simulated.
   *
   * @param ps from its start to the end of its last kernel
   * @param boundPs no run takes less
   * @param sentBytes counted on the wire; negative if there were too many operations to count
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
    int replicas = Math.max(plan.source().size("dp"), plan.dest().size("dp"));
    if (batch.samples % replicas != 0) {
      throw new UsageException(
          "batch is "
              + batch.samples
              + "; expected a multiple of "
              + replicas
              + ", the larger dp, so that every replica has as many samples");
    }
    int parts = plan.source().size("cp");
    if (parts > 1 && batch.tokens % (2 * parts) != 0) {
      throw new UsageException(
          "tokens is "
              + batch.tokens
              + "; expected a multiple of "
              + 2 * parts
              + ", twice the cp of the source");
    }
    hardware.ifPresent(
        h -> {
          int devices = h.level.devices(h.machine);
          if (world() > devices) {
            throw new UsageException(
                "the layouts need ranks 0 to "
                    + (world() - 1)
                    + "; machine "
                    + h.machine.name()
                    + " has "
                    + devices
                    + " devices of level "
                    + h.level.name().toLowerCase(Locale.ROOT)
                    + "; choose a smaller --rank-level, another machine, or --no-time");
          }
        });
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
    return Optional.ofNullable(timings.get(pass));
  }

  // ---- bytes ----

  private int sourceSamples() {
    return batch.samples / plan.source().size("dp");
  }

  private long sourceBytes() {
    return (long) sourceSamples()
        * (batch.tokens / plan.source().size("cp"))
        * batch.hidden
        * batch.dtype.sizeBytes();
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
    CclConfig ccl = h.ccl;
    CollectiveLibrary library = CollectiveLibrary.open(h.machine, ccl);
    TorchOptions options =
        TorchOptions.DEFAULT
            .withMode(Mode.TIME)
            .withSimulator(new SimulatorOptions(OPERATIONS, false))
            .withCollectives(library);
    try (Torch torch = Torch.open(h.machine, options)) {
      torch.distributed().initProcessGroup(library.name());
      torch.multiprocessing().spawn(this::body, world());
      torch.synchronize();
      measure(torch, h);
    }
  }

  private void body(Worker w) {
    HyperCommGrid source = grid(w, plan.source());
    HyperCommGrid dest = grid(w, plan.dest());
    ColocatedBridgeCommunicator bridge =
        ColocatedBridgeCommunicator.create(source, dest, plan.options());
    Torch torch = w.torch();
    Shape shape = Shape.of(sourceSamples(), batch.tokens / plan.source().size("cp"), batch.hidden);
    Shape taken = Shape.of(batch.samples / plan.dest().size("dp"), batch.tokens, batch.hidden);
    try (Graph graph = Graph.of(torch);
        Tensor x = torch.empty(shape, batch.dtype, "x");
        Tensor dy = torch.empty(taken, batch.dtype, "dy")) {
      @Nullable Variable y = source.isMember() ? bridge.communicate(graph, graph.input(x)) : null;
      w.distributed().barrier();
      if (y != null) {
        graph.backward(y, dy);
      }
    }
  }

  private static HyperCommGrid grid(Worker w, RankGrid ranks) {
    HyperCommGrid grid = new HyperCommGrid(w.distributed(), ranks);
    if (ranks.size("cp") > 1) {
      grid.create("cp");
    }
    return grid;
  }

  /** Splits what was recorded at the barrier between the passes. */
  private void measure(Torch torch, Hardware h) {
    Optional<CollectiveRun> barrier =
        torch.distributed().history().stream()
            .filter(run -> run.op() == CollectiveOp.BARRIER)
            .findFirst();
    long before = barrier.map(CollectiveRun::startPs).orElse(0L);
    long after = barrier.map(CollectiveRun::endPs).orElse(0L);
    OpLog log = torch.simulator().opLog();
    long[] end = {0, after};
    long[] sent = new long[2];
    for (int id = 0; id < log.size(); id++) {
      boolean isForward = log.has(id) && log.endPs(id) <= before;
      if (isForward || (log.has(id) && log.startPs(id) >= after)) {
        int pass = isForward ? 0 : 1;
        end[pass] = Math.max(end[pass], log.endPs(id));
        sent[pass] += log.kind(id) == OpKind.SEND ? log.bytes(id) : 0;
      }
    }
    Bound bound = new Bound(h);
    for (Pass pass : Pass.values()) {
      int i = pass.ordinal();
      long start = i == 0 ? 0 : after;
      timings.put(
          pass, new Timing(end[i] - start, bound.ps(pass), log.isComplete() ? sent[i] : -1));
    }
  }

  /**
   * A lower bound of a pass: a rank does one thing after the other, and a collective starts when
   * all its members can. Tensors lie in the HBM slice of the rank's PE, which serves loads and
   * stores in turn: what is copied passes it twice, an all-gather loads the own part and stores all
   * of them, an all-reduce loads and stores the tensor. What the collective needs of the network is
   * that of {@link Bounds}.
   */
  private final class Bound {
    private final Hardware h;
    private final int first = plan.source().offset();
    private final long[] ready = new long[plan.source().size()];

    Bound(Hardware h) {
      this.h = h;
    }

    long ps(Pass pass) {
      Arrays.fill(ready, 0);
      long part = sourceBytes();
      long whole = part * plan.source().size("cp");
      long taken = plan.destBytes(part);
      boolean isForward = pass == Pass.FORWARD;
      for (Move move : moves()) {
        if (move.pass() == pass) {
          if (move.op() == CollectiveOp.ALL_REDUCE) {
            copy(taken); // on a private copy
          }
          collective(move);
        }
      }
      if (part < whole) {
        copy(isForward ? whole : part); // positions put in order, or picked
      }
      return Arrays.stream(ready).max().orElse(0);
    }

    private void copy(long bytes) {
      for (int i = 0; i < ready.length; i++) {
        ready[i] += memoryPs(2 * bytes);
      }
    }

    private long memoryPs(long bytes) {
      return (long) (bytes / (double) h.machine.hbm().rate().bytesPerSecond() * PS_PER_SECOND);
    }

    private void collective(Move move) {
      for (List<Integer> group : move.groups()) {
        List<Pe> leads = group.stream().map(r -> h.level.lead(h.machine, r)).toList();
        Bounds bounds = Bounds.of(h.machine, leads);
        boolean reduces = move.op() == CollectiveOp.ALL_REDUCE;
        long network =
            (reduces
                    ? bounds.allReduce(move.bytes())
                    : bounds.allGather(group.stream().map(r -> move.bytes()).toList()))
                .ps();
        long memory = memoryPs((reduces ? 2 : 1 + group.size()) * move.bytes());
        long start = group.stream().mapToLong(r -> ready[r - first]).max().orElse(0);
        group.forEach(r -> ready[r - first] = start + Math.max(network, memory));
      }
    }
  }

  // ---- output ----

  /** For people. */
  public String text() {
    StringBuilder out = new StringBuilder();
    out.append("bridge ").append(plan).append('\n');
    out.append(
        String.format(
            Locale.ROOT,
            "%d samples of %d tokens, hidden %d, %s: %,d B from each source rank, %,d B to each"
                + " destination rank%n",
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
              word(m.pass()),
              m.op().word().replace('_', '-'),
              m.groups().size() + " groups",
              "of " + m.ranks(),
              String.format(Locale.ROOT, "%,d", m.bytes()),
              String.format(Locale.ROOT, "%,d", m.sentBytes())));
    }
    out.append('\n').append(moves().isEmpty() ? "nothing is sent\n" : moves.toString());
    hardware.ifPresent(h -> out.append('\n').append(times(h)));
    return out.toString();
  }

  private static void groups(StringBuilder out, String what, List<List<Integer>> groups) {
    if (!groups.isEmpty()) {
      out.append(what).append(' ').append(LayoutGroups.shown(groups)).append('\n');
    }
  }

  private static String word(Pass pass) {
    return pass.name().toLowerCase(Locale.ROOT);
  }

  private int larger() {
    return Math.max(sourceSamples(), batch.samples / plan.dest().size("dp"));
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
              shown(plan.sourcePosition(r), plan.source().size("cp") > 1),
              shown(plan.destPosition(r), true),
              "" + plan.slot(r),
              slice.start() + " to " + (slice.start() + slice.size() - 1) + " of " + larger()));
    }
    return table;
  }

  private static String shown(Position p, boolean context) {
    return "dp " + p.dp() + " tp " + p.tp() + (context ? " cp " + p.cp() : "");
  }

  private String times(Hardware h) {
    TextTable table =
        new TextTable(
            List.of("pass", "time, ns", "bound, ns", "bound/time", "B sent", "predicted"));
    table.left(0);
    timings.forEach(
        (pass, t) ->
            table.add(
                List.of(
                    word(pass),
                    Numbers.ns(t.ps).toPlainString(),
                    Numbers.ns(t.boundPs).toPlainString(),
                    t.ps == 0 ? "-" : Numbers.ratio(t.boundPs, t.ps).toPlainString(),
                    t.sentBytes < 0 ? "-" : String.format(Locale.ROOT, "%,d", t.sentBytes),
                    String.format(Locale.ROOT, "%,d", predictedBytes(pass)))));
    return "on "
        + h.machine.name()
        + ", a rank is a "
        + h.level.name().toLowerCase(Locale.ROOT)
        + ", all-reduce by "
        + h.ccl.algorithm()
        + "\n"
        + table;
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
      row.put("pass", word(m.pass()));
      row.put("op", m.op().word());
      row.put("groups", m.groups().size());
      row.put("ranks", m.ranks());
      row.put("bytes_before", m.bytes());
      row.put("bytes_sent", m.sentBytes());
      moves.add(row);
    }
    root.put("moves", moves);
    hardware.ifPresent(h -> root.put("times", timesJson(h)));
    return Json.write(root);
  }

  private Map<String, Object> timesJson(Hardware h) {
    Map<String, Object> times = new LinkedHashMap<>();
    times.put("machine", h.machine.name());
    times.put("machine_hash", h.machine.hash());
    times.put("rank_level", h.level.name().toLowerCase(Locale.ROOT));
    times.put("algorithm", h.ccl.algorithm());
    timings.forEach(
        (pass, t) -> {
          Map<String, Object> row = new LinkedHashMap<>();
          row.put("time_ns", Numbers.ns(t.ps));
          row.put("bound_ns", Numbers.ns(t.boundPs));
          row.put("bytes_sent", t.sentBytes < 0 ? Json.NULL : t.sentBytes);
          row.put("bytes_predicted", predictedBytes(pass));
          times.put(word(pass), row);
        });
    return times;
  }
}
