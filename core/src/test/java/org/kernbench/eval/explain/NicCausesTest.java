package org.kernbench.eval.explain;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Value;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

/**
 * Messages through NICs, to the picosecond: two nodes of two packages of {@code ring}, whose
 * numbers are those of {@code KnownCausesTest}. From a PE over its router and IO chiplet to the NIC
 * it takes 2 + 2 + 12 ns and from there 12 + 2 + 4, unless said otherwise by the links themselves.
 */
final class NicCausesTest {
  private static final long NIC_PS = 70_000; // message overhead
  private static final int CHUNK = 1024;

  @TempDir private Path folder;

  private Machine machine(int nics, String... overrides) throws IOException {
    Path file = folder.resolve("m.yaml");
    Files.writeString(
        file,
        """
        description: two nodes of two
        extends: ring
        system:
          network:
            - {kind: switch, size: 2, bandwidth: 200 GB/s, latency: 50 ns}
            - {kind: switch, size: 2, bandwidth: 100 GB/s, latency: 400 ns}
          nodes:
            packages: 2
            nics: %s
            bandwidth: 40 GB/s
            latency: 300 ns
            message_overhead: 70 ns
            link: {bandwidth: 80 GB/s, latency: 150 ns}
        """
            .formatted(nics));
    return Machines.load(file.toString(), List.of(overrides));
  }

  private static QueuePlan.Connection queue(int from, int to) {
    return new QueuePlan.Connection(new Pe(from, 0, 0), "to" + to, new Pe(to, 0, 0), "from" + from);
  }

  /** Packages of node 0 that send one message each to their like in node 1, all at once. */
  private static Breakdown sent(Machine machine, int bytes, List<Integer> senders) {
    SimulatorOptions recording = new SimulatorOptions(1 << 20, true);
    Shape shape = Shape.of(bytes / 2);
    try (Torch torch =
        Torch.open(machine, new TorchOptions(Mode.TIME, recording, Optional.empty()))) {
      torch
          .simulator()
          .install(
              new QueuePlan(machine.ipcq(), senders.stream().map(s -> queue(s, s + 2)).toList()));
      List<Pe> pes =
          senders.stream()
              .flatMap(s -> List.of(new Pe(s, 0, 0), new Pe(s + 2, 0, 0)).stream())
              .toList();
      Launch launch =
          torch.launch(
              "nics",
              tl -> {
                int sip = tl.pe().sip();
                if (sip < 2) {
                  Value x = tl.zeros(shape, DType.F16);
                  tl.send("to" + (sip + 2), x);
                } else {
                  tl.recv("from" + (sip - 2), shape, DType.F16);
                }
              },
              pes);
      torch.await(launch);
      return Breakdown.of(machine, torch.simulator().opLog(), launch, machine.ipcq());
    }
  }

  private static long ps(Breakdown path, PathCause cause) {
    return path.segments().stream().filter(s -> s.cause() == cause).mapToLong(Segment::ps).sum();
  }

  /** The latencies of the links from package 0 to 2, as the file and the preset say them. */
  private static long latenciesPs(Machine machine) {
    long sum = 0;
    for (int link : machine.route(new Pe(0, 0, 0), new Pe(2, 0, 0)).links()) {
      sum += machine.link(link).latencyPs();
    }
    return sum;
  }

  /** Dispatch, zeros at 256 B per cycle of 2 GHz after 10 cycles, and the DMA's own overhead. */
  private static long beforePs(int bytes) {
    return 1_000 + (10 + bytes / 256) * 500L + 8_000;
  }

  /** 2 x 150 + 2 x 300 + 2 x 400 between packages. */
  @Test
  void latencies_betweenPackagesOfDifferentNodes_areThoseOfTheFile() throws IOException {
    Machine m = machine(2);
    long between = 0;
    for (int link : m.route(new Pe(0, 0, 0), new Pe(2, 0, 0)).links()) {
      between += m.linkKind(link).isBetweenSips() ? m.link(link).latencyPs() : 0;
    }
    assertThat(between).isEqualTo(1_700_000);
  }

  @ParameterizedTest
  @CsvSource({"1024, 2", "1024, 1", "4096, 2", "16384, 2", "16384, 1", "2048, 1"})
  void oneMessage_alone_takesItsOverheadAndItsBytes_andNobodyWaits(int bytes, int nics)
      throws IOException {
    Machine m = machine(nics);
    Breakdown path = sent(m, bytes, List.of(0));
    long bytesPs = bytes * 25L; // 40 GB/s
    assertThat(path.totalPs()).isEqualTo(beforePs(bytes) + latenciesPs(m) + NIC_PS + bytesPs);
    assertThat(ps(path, PathCause.NIC_MESSAGE)).isEqualTo(NIC_PS);
    assertThat(ps(path, PathCause.NIC_CONTENTION)).isZero();
    assertThat(path.unexplainedPs()).isZero();
    assertThat(m.route(new Pe(0, 0, 0), new Pe(2, 0, 0)).messagePs(bytes))
        .isEqualTo(8_000 + latenciesPs(m) + NIC_PS + bytesPs);
  }

  /**
   * Where the way to the NIC is narrower, here 12.8 GB/s in a slow package, bytes come in while the
   * NIC works on the message: 78.125 ps each to the NIC, or 25 from it after its 70 ns.
   */
  @ParameterizedTest
  @CsvSource({"1024, 95600", "2048, 160000", "16384, 1280000"})
  void oneMessage_overASlowWayToTheNic_takesWhicheverIsLater(int bytes, long expected)
      throws IOException {
    Machine m = machine(2, "system.sips.slow=0 links 0.05");
    Breakdown path = sent(m, bytes, List.of(0));
    assertThat(path.totalPs()).isEqualTo(beforePs(bytes) + latenciesPs(m) + expected);
    assertThat(m.route(new Pe(0, 0, 0), new Pe(2, 0, 0)).messagePs(bytes))
        .isEqualTo(8_000 + latenciesPs(m) + expected);
  }

  @ParameterizedTest
  @CsvSource({"1024", "4096", "16384"})
  void twoMessages_atOnce_shareANicOrHaveTheirOwn(int bytes) throws IOException {
    long bytesPs = bytes * 25L;
    Breakdown own = sent(machine(2), bytes, List.of(0, 1));
    Breakdown shared = sent(machine(1), bytes, List.of(0, 1));
    long alone = beforePs(bytes) + latenciesPs(machine(2)) + NIC_PS + bytesPs;

    assertThat(own.totalPs()).isEqualTo(alone);
    assertThat(ps(own, PathCause.NIC_CONTENTION)).isZero();
    // The NIC does both overheads and all bytes, one after the other.
    assertThat(shared.totalPs()).isEqualTo(alone + NIC_PS + bytesPs);
    assertThat(shared.unexplainedPs()).isZero();
    if (bytes == CHUNK) { // the second message waits for all of the first, then has its own
      assertThat(ps(shared, PathCause.NIC_CONTENTION)).isEqualTo(NIC_PS + bytesPs);
      assertThat(ps(shared, PathCause.NIC_MESSAGE)).isEqualTo(NIC_PS);
    }
  }

  @Test
  void why_ofSlowNics_saysThatMessagesWaitedForThem() throws IOException {
    Breakdown path = sent(machine(1, "system.nodes.message_overhead=10 us"), CHUNK, List.of(0, 1));
    assertThat(Why.of(path).toString())
        .contains("messages waited for NICs that were busy with others, all at NICs: 10,025.600 ns")
        .contains("NICs prepared messages, once: 10,000.000 ns");
  }

  /** Sensitivities are exact on a path that stays: 1 % more of each key of a NIC. */
  @Test
  void sensitivities_ofNicKeys_areWhatAnotherRunTakes() throws IOException {
    Machine m = machine(1);
    Breakdown path = sent(m, CHUNK, List.of(0, 1));
    List<Sensitivity> all = Sensitivity.of(m, path);
    for (String key : List.of("bandwidth", "latency", "message_overhead", "link.latency")) {
      Sensitivity found =
          all.stream()
              .filter(s -> s.parameter().path().equals("system.nodes." + key))
              .findFirst()
              .orElseThrow();
      var more = found.more().orElseThrow();
      long other = sent(more.step().machine(), CHUNK, List.of(0, 1)).totalPs();
      assertThat(more.computedPs()).as(key).isEqualTo(other - path.totalPs()).isNotZero();
    }
    assertThat(all).noneMatch(s -> s.parameter().path().matches("system.nodes.(packages|nics)"));
  }
}
