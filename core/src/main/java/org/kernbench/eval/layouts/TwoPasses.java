package org.kernbench.eval.layouts;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.layouts.BridgeForecast.Hardware;
import org.kernbench.eval.layouts.BridgeForecast.Timing;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.output.TextTable;
import org.kernbench.nn.bridge.BridgePlan.Pass;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectiveRun;

/** A program of a forward and a backward pass, run for its times alone; split at a barrier. */
final class TwoPasses {
  private static final int OPERATIONS = 8_000_000;

  private final Hardware hardware;
  private final Map<Pass, Timing> timings = new LinkedHashMap<>();

  private TwoPasses(Hardware hardware) {
    this.hardware = hardware;
  }

  /**
   * Runs a body on every rank.
   *
   * @param body calls what it is given once, on every rank, between the passes
   * @param boundsPs by pass, a lower bound
   */
  static TwoPasses run(
      Hardware hardware, int world, BiConsumer<Worker, Runnable> body, Map<Pass, Long> boundsPs) {
    TwoPasses passes = new TwoPasses(hardware);
    CollectiveLibrary library = CollectiveLibrary.open(hardware.machine(), hardware.ccl());
    TorchOptions options =
        TorchOptions.DEFAULT
            .withMode(Mode.TIME)
            .withSimulator(new SimulatorOptions(OPERATIONS, false))
            .withCollectives(library);
    try (Torch torch = Torch.open(hardware.machine(), options)) {
      torch.distributed().initProcessGroup(library.name());
      torch.multiprocessing().spawn(w -> body.accept(w, () -> w.distributed().barrier()), world);
      torch.synchronize();
      passes.measure(torch, boundsPs);
    }
    return passes;
  }

  private void measure(Torch torch, Map<Pass, Long> boundsPs) {
    Optional<CollectiveRun> barrier =
        torch.distributed().history().stream()
            .filter(run -> run.op() == CollectiveOp.BARRIER)
            .findFirst();
    long before = barrier.map(CollectiveRun::startPs).orElse(0L);
    long after = barrier.map(CollectiveRun::endPs).orElse(0L);
    OpLog log = torch.simulator().opLog();
    if (!log.isComplete()) {
      throw new UsageException(
          """
          the op log %s, so what the passes took is not known; use a smaller problem\
          """
              .formatted(log.lack()));
    }
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
    for (Pass pass : Pass.values()) {
      int i = pass.ordinal();
      timings.put(
          pass,
          new Timing(end[i] - (i == 0 ? 0 : after), boundsPs.getOrDefault(pass, 0L), sent[i]));
    }
  }

  Timing timing(Pass pass) {
    return Optional.ofNullable(timings.get(pass)).orElseThrow();
  }

  static String word(Pass pass) {
    return pass.name().toLowerCase(Locale.ROOT);
  }

  private String level() {
    return hardware.level().name().toLowerCase(Locale.ROOT);
  }

  /** A table for people. */
  String text(Map<Pass, Long> predictedBytes) {
    TextTable table =
        new TextTable(
            List.of("pass", "time, ns", "bound, ns", "bound/time", "B sent", "predicted"));
    table.left(0);
    timings.forEach((pass, t) -> {
      List<String> row = new ArrayList<>();
      row.add(word(pass));
      row.add(Numbers.ns(t.ps()).toPlainString());
      row.add(Numbers.ns(t.boundPs()).toPlainString());
      row.add(t.ps() == 0 ? "-" : Numbers.ratio(t.boundPs(), t.ps()).toPlainString());
      row.add(bytes(t.sentBytes()));
      row.add(bytes(predictedBytes.getOrDefault(pass, 0L)));
      table.add(row);
    });
    return """
    on %s, a rank is a %s, all-reduce by %s
    %s\
    """
        .formatted(hardware.machine().name(), level(), hardware.ccl().algorithm(), table);
  }

  /** A number of bytes, its thousands apart. */
  static String bytes(long bytes) {
    return String.format(Locale.ROOT, "%,d", bytes);
  }

  /** Both passes for programs. */
  Map<String, Object> json(Map<Pass, Long> predictedBytes) {
    Map<String, Object> times = new LinkedHashMap<>();
    times.put("machine", hardware.machine().name());
    times.put("machine_hash", hardware.machine().hash());
    times.put("rank_level", level());
    times.put("algorithm", hardware.ccl().algorithm());
    timings.forEach((pass, t) -> {
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("time_ns", Numbers.ns(t.ps()));
      row.put("bound_ns", Numbers.ns(t.boundPs()));
      row.put("bytes_sent", t.sentBytes());
      row.put("bytes_predicted", predictedBytes.getOrDefault(pass, 0L));
      times.put(word(pass), row);
    });
    return times;
  }
}
