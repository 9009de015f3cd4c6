package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.SipTopology;
import org.kernbench.tensor.DType;

/** {@code ccl-latency-sweep}: all-reduce time against size, on three networks of six packages. */
public final class LatencySweepBench implements Bench {
  static final List<Integer> ELEMENTS =
      List.of(8, 32, 64, 128, 512, 1024, 2048, 4096, 8192, 16384, 32768, 49152);

  static final int PACKAGES = 6;

  /** A network of packages: its name, and what says so in the machine's configuration. */
  public record Network(String name, List<String> overrides) {
    /**
     * The machine that the user chose, or {@code sip-2026}, with its packages joined so.
     *
     * @throws UsageException if the machine joins its packages in a way that {@code system.sips}
     *     does not change
     */
    Machine on(BenchContext context) {
      Machine machine = context.machine("sip-2026", overrides);
      if (machine.sipTopology() == SipTopology.NETWORK) {
        throw new UsageException(
            """
            machine %s: system.network joins its %s packages, whatever system.sips says, so it \
            cannot become the %s of %s packages that the bench compares; expected a machine \
            without system.network: add --set system.network=none, or run ccl-allreduce on it\
            """
                .formatted(machine.name(), machine.sips(), name, PACKAGES));
      }
      return machine;
    }
  }

  public static final List<Network> NETWORKS =
      List.of(
          new Network("ring_1d", List.of("system.sips.count=6", "system.sips.topology=ring_1d")),
          new Network(
              "torus_2d",
              List.of(
                  "system.sips.count=6",
                  "system.sips.topology=torus_2d",
                  "system.sips.w=2",
                  "system.sips.h=3")),
          new Network(
              "mesh_2d_no_wrap",
              List.of(
                  "system.sips.count=6",
                  "system.sips.topology=mesh_2d_no_wrap",
                  "system.sips.w=2",
                  "system.sips.h=3")));

  @Override
  public String name() {
    return "ccl-latency-sweep";
  }

  @Override
  public String description() {
    return "all-reduce time for 12 sizes on ring, torus and mesh of six packages; values checked";
  }

  @Override
  public List<Param<?>> params() {
    List<Param<?>> params = new ArrayList<>(List.of(CollectiveParams.DTYPE));
    params.addAll(CollectiveParams.OF_ALGORITHM);
    params.add(CollectiveParams.PATTERN);
    return params;
  }

  @Override
  public Outcome run(BenchContext context) {
    CclConfig config = CollectiveParams.config(context);
    List<Machine> machines = new ArrayList<>();
    for (Network network : NETWORKS) {
      machines.add(network.on(context));
    }
    Outcome outcome = Outcome.on(machines.getFirst()).condition("packages", PACKAGES);
    PointSum sum = new PointSum(context);
    int total = NETWORKS.size() * ELEMENTS.size();
    int done = 0;
    for (int n = 0; n < NETWORKS.size(); n++) {
      String name = NETWORKS.get(n).name();
      CollectiveLibrary library = CollectiveLibrary.open(machines.get(n), config);
      for (int elements : ELEMENTS) {
        String point = name + " n_elem=" + elements;
        context.progress().at(done++, total, point);
        if (!context.runs(point)) {
          continue;
        }
        Outcome one = point(context, machines.get(n), library, elements);
        outcome.row(row(name, machines.get(n), elements, CollectiveParams.dtype(context), one));
        sum.add(point, one);
      }
    }
    context.progress().at(total, total, "");
    sum.into(outcome);
    return outcome.metric("points", outcome.rows().size());
  }

  private static Outcome point(
      BenchContext context, Machine machine, CollectiveLibrary library, int elements) {
    return new AllReduceRun(
            machine,
            elements,
            CollectiveParams.dtype(context),
            CollectiveParams.pattern(context, library.worldSize()),
            context.mode(),
            context.recordingOfPoint())
        .run(library);
  }

  private static Map<String, Object> row(
      String network, Machine machine, int elements, DType dtype, Outcome point) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("topology", network);
    row.put("sips", machine.sipGridWidth() + "x" + machine.sipGridHeight());
    row.put("point_machine", machine.hash());
    row.put("algorithm", point.conditions().getOrDefault("algorithm", ""));
    row.put("ranks", point.conditions().getOrDefault("ranks", ""));
    row.put("rank_level", point.conditions().getOrDefault("rank_level", ""));
    row.put("n_elem", elements);
    row.put("bytes", (long) elements * dtype.sizeBytes());
    if (point.critPs() > 0) {
      row.put("crit_ns", Numbers.ns(point.critPs()));
      row.put("bound_ns", Numbers.ns(point.boundPs()));
      row.put("bound_kind", point.boundKind());
      row.put("efficiency", Numbers.ratio(point.boundPs(), point.critPs()));
    }
    point.values().ifPresent(v -> row.put("correct", v.isCorrect()));
    return row;
  }
}
