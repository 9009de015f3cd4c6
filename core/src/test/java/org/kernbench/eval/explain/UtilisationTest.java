package org.kernbench.eval.explain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.Suggest;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** Windows of use: what they hold in sum is the time in which engines and links were busy. */
final class UtilisationTest {
  private static final RunResult RUN =
      Runner.of("test", Progress.SILENT)
          .run(
              BenchRegistry.standard().find("ccl-allreduce"),
              RunOptions.DEFAULT
                  .withTopology("tiny")
                  .withParams(List.of("n_elem=2000", "algorithm=mesh")));
  private static final Breakdown PATH = RUN.path().orElseThrow();
  private static final OpLog LOG = PATH.log();
  private static final Machine MACHINE = PATH.machine();
  private static final long FROM = PATH.beginPs();
  private static final long TO = PATH.endPs();

  private static void assertHoldsAll(
      Map<String, double[]> windows, Map<String, Long> busyPs, Map<String, Integer> users) {
    assertThat(windows.keySet()).isEqualTo(busyPs.keySet());
    windows.forEach((kind, of) -> {
      double width = (double) (TO - FROM) / of.length;
      double sum = Arrays.stream(of).sum() * width * users.getOrDefault(kind, 0);
      double busy = busyPs.getOrDefault(kind, 0L);
      assertThat(sum).as(kind).isCloseTo(busy, within(1e-6 * busy + 1e-3));
      assertThat(Arrays.stream(of).boxed())
          .as(kind)
          .allSatisfy(share -> assertThat(share).isBetween(0.0, 1 + 1e-9));
    });
  }

  /** All links behind the slow one are taken as long, a few even longer: they pass on its bytes. */
  @Test
  void links_behindASlowOne_comeAfterIt() {
    RunResult slow =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("hello-send"),
                RunOptions.DEFAULT
                    .withTopology("ring")
                    .withOverrides(List.of("system.links.sip_to_sip.bandwidth=5 GB/s"))
                    .withParams(List.of("to=sip1.cube0.pe0", "n_elem=65536")));
    Breakdown path = slow.path().orElseThrow();

    List<Utilisation.LinkUse> links =
        Utilisation.of(path.machine(), path.log(), path.beginPs(), path.endPs()).links();

    assertThat(links.getFirst().link().name()).isEqualTo("sip0.ioE->sip1.ioW");
    assertThat(links.get(1).busyPs()).isGreaterThanOrEqualTo(links.getFirst().busyPs());
  }

  @Test
  void utilisation_ofACutLog_isRefused() {
    Machine machine = Machines.load("ring", List.of("system.sips.count=3"));
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    CollectiveTrial trial =
        CollectiveTrial.of(
            machine,
            CollectiveLibrary.algorithm(config, "ring"),
            config.of("ring"),
            RankLevel.SIP,
            List.of(new Pe(0, 0, 0), new Pe(1, 0, 0), new Pe(2, 0, 0)));
    List<OpLog> cut = new ArrayList<>();
    CollectiveTrial.Result result =
        trial.run(
            CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F16, 300),
            Mode.TIME,
            SimulatorOptions.DEFAULT.withOpLogLimit(5),
            (log, launch, queues) -> cut.add(log));

    OpLog log = cut.getFirst();
    assertThat(log.isComplete()).isFalse();
    assertThat(result.wireBytes()).isEqualTo(2 * 2 * 600);
    String message = "the op log kept 5 of " + log.completed() + " operations";
    assertThatThrownBy(() -> Utilisation.of(machine, log, 0, 1)).hasMessageContaining(message);
    assertThatThrownBy(() -> Utilisation.enginesOverTime(log, 0, 1, 1))
        .hasMessageContaining(message);
    assertThatThrownBy(() -> Utilisation.linksOverTime(machine, log, 0, 1, 1))
        .hasMessageContaining(message);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 80})
  void linksOverTime_windows_holdTheBusyTimeOfAllLinks(int windows) {
    Map<String, Long> busy = new HashMap<>();
    Map<String, Integer> users = new HashMap<>();
    for (Utilisation.LinkUse l : Utilisation.of(MACHINE, LOG, FROM, TO).links()) {
      if (l.busyPs() > 0) {
        String kind = Suggest.fold(l.link().kind().name());
        busy.merge(kind, l.busyPs(), Long::sum);
        users.merge(kind, 1, Integer::sum);
      }
    }
    assertHoldsAll(Utilisation.linksOverTime(MACHINE, LOG, FROM, TO, windows), busy, users);
  }

  /** Beside the sums of the utilisation: moments counted one by one. */
  @ParameterizedTest
  @ValueSource(ints = {1, 7, 80})
  void enginesOverTime_windows_holdTheBusyTimeOfAllEngines(int windows) {
    Map<String, Long> busy = new HashMap<>();
    Map<String, Integer> users = new HashMap<>();
    for (Utilisation.EngineUse u : Utilisation.of(MACHINE, LOG, FROM, TO).engines()) {
      busy.merge(u.engine(), u.busyPs(), Long::sum);
      users.merge(u.engine(), 1, Integer::sum);
    }
    assertHoldsAll(Utilisation.enginesOverTime(LOG, FROM, TO, windows), busy, users);
  }

  /** A slow second implementation: is any operation of the engine under way at this picosecond? */
  @Test
  void enginesOverTime_oneWindow_isWhatSamplesSay() {
    BiFunction<Integer, Long, Boolean> runs =
        (id, ps) -> LOG.startPs(id) <= ps && ps < LOG.endPs(id);
    Set<Object> pes = new HashSet<>();
    long hits = 0;
    int samples = 4000;
    for (int i = 0; i < samples; i++) {
      long ps = FROM + (TO - FROM) * i / samples;
      Set<Object> busy = new HashSet<>();
      for (int id = 0; id < LOG.size(); id++) {
        if (LOG.has(id) && Utilisation.engine(LOG.kind(id)).equals("MATH")) {
          pes.add(LOG.pe(id));
          if (runs.apply(id, ps)) {
            busy.add(LOG.pe(id));
          }
        }
      }
      hits += busy.size();
    }
    double[] math =
        Utilisation.enginesOverTime(LOG, FROM, TO, 1).getOrDefault("MATH", new double[1]);
    assertThat(math[0]).isPositive().isCloseTo((double) hits / samples / pes.size(), within(0.002));
  }
}
