package org.kernbench.eval;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.config.UsageException;

/**
 * A run on the package that {@code --device} names, or on each package in turn.
 *
 * @param options with which the result can be had again
 * @param result of the package, or of the slowest one, with a row for each; of the first that
 *     failed, if one did
 */
public record DeviceRun(RunOptions options, RunResult result) {
  private static final String ALL = "all";

  /**
   * Runs a bench.
   *
   * @param device {@code sip:N} or {@code all}
   * @throws UsageException if it is something else, the machine has no such package, or the bench
   *     does not run on one package
   */
  public static DeviceRun of(Runner runner, Bench bench, RunOptions options, String device) {
    DeviceChoice.checkTakenBy(bench);
    if (!device.equals(ALL)) {
      return on(parse(device), runner, bench, options);
    }
    DeviceRun slowest = on(new DeviceChoice(0), runner, bench, options);
    int devices = slowest.result.machine().orElseThrow().sips();
    List<Map<String, Object>> rows = new ArrayList<>();
    DeviceRun last = slowest;
    for (int sip = 0; last.result.isOk(); ) {
      rows.addAll(rows(new DeviceChoice(sip), last.result));
      sip++;
      if (sip == devices) {
        return new DeviceRun(slowest.options, slowest.result.withRows(rows));
      }
      last = on(new DeviceChoice(sip), runner, bench, options);
      slowest = critNs(last.result) > critNs(slowest.result) ? last : slowest;
    }
    return last;
  }

  private static DeviceChoice parse(String text) {
    try {
      return DeviceChoice.parse(text);
    } catch (IllegalArgumentException e) {
      throw new UsageException("--device: " + e.getMessage() + ", or all");
    }
  }

  private static DeviceRun on(DeviceChoice device, Runner runner, Bench bench, RunOptions options) {
    List<String> params = new ArrayList<>(options.params());
    params.add(DeviceChoice.PARAM.name() + "=" + device);
    RunOptions own = options.withParams(params);
    return new DeviceRun(own, runner.run(bench, own));
  }

  private static double critNs(RunResult result) {
    return result.metrics().get("crit_ns") instanceof Number ns ? ns.doubleValue() : 0;
  }

  /** The result as one row, or its own rows, after the name of the device. */
  private static List<Map<String, Object>> rows(DeviceChoice device, RunResult result) {
    Map<String, Object> whole = new LinkedHashMap<>();
    result.values().ifPresent(v -> whole.put("correct", v.isCorrect()));
    for (String name : List.of("crit_ns", "bound_ns", "efficiency")) {
      if (result.metrics().containsKey(name)) {
        whole.put(name, result.metrics().get(name));
      }
    }
    List<Map<String, Object>> all = new ArrayList<>();
    for (Map<String, Object> row : result.rows().isEmpty() ? List.of(whole) : result.rows()) {
      Map<String, Object> named = new LinkedHashMap<>();
      named.put(DeviceChoice.PARAM.name(), device.toString());
      named.putAll(row);
      all.add(named);
    }
    return all;
  }
}
