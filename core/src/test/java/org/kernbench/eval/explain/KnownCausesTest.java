package org.kernbench.eval.explain;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.report.Explanation;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Value;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

/**
 * Programs whose time has one cause, known beforehand: the explanation names it, at its place, with
 * its share. Times are worked out by hand from the numbers in {@code machines/}, in ns: dispatch 1,
 * DMA set-up 28, message overhead 8; latencies PE to router 2, HBM link 7.25, HBM 30.5, router to
 * router 2, router to PE 4, cube to IO 12, package link 250; HBM 217.6 GB/s, so 4.706 ns for a
 * chunk of 1 KiB, package link 200 GB/s, all others 256 or 512.
 */
final class KnownCausesTest {
  private static final double CHUNK_OF_HBM = 4.706;
  private static final Offset<Double> EXACT = Offset.offset(1e-9);

  private static Explanation explain(
      Machine machine, List<QueuePlan.Connection> queues, List<Pe> pes, Kernel kernel) {
    SimulatorOptions recording = new SimulatorOptions(1 << 20, true);
    try (Torch torch =
        Torch.open(machine, new TorchOptions(Mode.TIME, recording, Optional.empty()))) {
      torch.simulator().install(new QueuePlan(machine.ipcq(), queues));
      Launch launch = torch.launch("known", kernel, pes);
      torch.await(launch);
      Breakdown breakdown =
          Breakdown.of(machine, torch.simulator().opLog(), launch, machine.ipcq());
      return Explanation.of(machine, breakdown);
    }
  }

  private static Machine machine(String preset, String... overrides) {
    return Machines.load(preset, List.of(overrides));
  }

  private static QueuePlan.Connection queue(Pe from, Pe to) {
    return new QueuePlan.Connection(from, "to" + to.sip(), to, "from" + from.sip());
  }

  private static Slice hbm(Machine machine, Pe owner, long offset, Shape shape) {
    return new Shard("x", machine.addresses().hbm(owner, offset), shape, DType.F16).all();
  }

  private static double ns(Explanation e, String cause, String place) {
    return e.breakdown().places().stream()
            .filter(s -> s.cause().text().equals(cause) && s.place().equals(place))
            .mapToLong(Breakdown.Share::ps)
            .sum()
        / 1e3;
  }

  private static double ns(Explanation e, String cause) {
    return e.breakdown().shares().stream()
            .filter(s -> s.cause().text().equals(cause))
            .mapToLong(Breakdown.Share::ps)
            .sum()
        / 1e3;
  }

  private static double totalNs(Explanation e) {
    long sum = e.breakdown().shares().stream().mapToLong(Breakdown.Share::ps).sum();
    assertThat(sum).as("shares sum to the whole").isEqualTo(e.breakdown().totalPs());
    return sum / 1e3;
  }

  /** The number of the machine of which 1 % counts most. */
  private static String strongest(Explanation e) {
    return e.sensitivities().stream()
        .map(Sensitivity::parameter)
        .filter(p -> p.kind() != MachineParameter.Kind.COUNT)
        .findFirst()
        .orElseThrow()
        .path();
  }

  /** What a step up of a number of the machine does to the time, ns. */
  private static double more(Explanation e, String path) {
    return e.sensitivities().stream()
            .filter(s -> s.parameter().path().equals(path))
            .mapToLong(s -> s.more().orElseThrow().computedPs())
            .findFirst()
            .orElseThrow()
        / 1e3;
  }

  private static Breakdown.Share largest(Explanation e) {
    return e.breakdown().places().getFirst();
  }

  /** Times that were said beforehand: of a library's program, and of a computation elsewhere. */
  @Test
  void timeOfALibrary_isProtocol_andThatOfAComputationIsNoEngine() {
    Machine machine = machine("ring");
    Pe pe = new Pe(0, 0, 0);
    Explanation e =
        explain(
            machine,
            List.of(),
            List.of(pe),
            tl -> {
              tl.await(tl.elapseInProtocol(7_000));
              tl.await(tl.elapse(3_000));
            });

    assertThat(totalNs(e)).isEqualTo(1 + 7 + 1 + 3, EXACT);
    assertThat(ns(e, "protocol", pe.toString())).isEqualTo(7, EXACT);
    assertThat(ns(e, "compute", pe.toString())).isEqualTo(3, EXACT);
    assertThat(e.utilisation().engines()).isEmpty();
  }

  /** A link of 20 GB/s between two packages, and a message of 16 KiB over it. */
  @Test
  void slowLink_isNamedWithTheTimeOfItsBytes() {
    Machine machine = machine("ring", "system.links.sip_to_sip.bandwidth=20 GB/s");
    Pe a = new Pe(0, 0, 0);
    Pe b = new Pe(1, 0, 0);
    Explanation e =
        explain(
            machine,
            List.of(queue(a, b)),
            List.of(a, b),
            tl -> {
              Shape shape = Shape.of(8192);
              if (tl.pe().equals(a)) {
                tl.send("to1", tl.load(hbm(machine, a, 0, shape)));
              } else {
                tl.store(hbm(machine, b, 0, shape), tl.recv("from0", shape, DType.F16));
              }
            });

    double load = 28 + 2 + 7.25 + 30.5 + 16 * CHUNK_OF_HBM + 7.25 + 4;
    double bytes = 16_384 / 20.0;
    double message = 8 + 2 + 12 + 250 + 12 + 4 + bytes;
    double store = 28 + 2 + 7.25 + 30.5 + 16 * CHUNK_OF_HBM + 7.25 + 4;
    assertThat(totalNs(e)).isEqualTo(1 + load + message + store, EXACT);
    assertThat(largest(e).cause().text()).isEqualTo("serialisation");
    assertThat(largest(e).place()).isEqualTo("sip0.ioE->sip1.ioW");
    assertThat(largest(e).line()).startsWith("KnownCausesTest.java");
    assertThat(largest(e).ps() / 1e3).isEqualTo(bytes, EXACT);
    assertThat(largest(e).share()).isEqualTo(bytes / (1 + load + message + store), EXACT);
    assertThat(strongest(e)).isEqualTo("system.links.sip_to_sip.bandwidth");
  }

  /**
   * The same zeros and load of 64 KiB on two packages, of which one has half of the HBM's rate and
   * a quarter of the clock.
   */
  @Test
  void slowPackage_isNamedWithItsMemoryAndItsEngine() {
    Machine machine = machine("ring", "system.sips.slow=1 hbm 0.5, compute 0.25");
    Pe usual = new Pe(0, 0, 0);
    Pe slow = new Pe(1, 0, 0);
    Explanation e =
        explain(
            machine,
            List.of(),
            List.of(usual, slow),
            tl -> {
              Value zeros = tl.zeros(Shape.of(512), DType.F16);
              tl.await(tl.store(hbm(machine, tl.pe(), 0, Shape.of(512)), zeros));
              tl.load(hbm(machine, tl.pe(), 65_536, Shape.of(32_768)));
            });

    double chunkOfSlowHbm = 9.412; // 1024 B / 108.8 GB/s
    double zeros = 28; // (10 + 4) cycles at 0.5 GHz
    double store = 28 + 2 + 7.25 + 30.5 + chunkOfSlowHbm + 7.25 + 4;
    double load = 1 + 28 + 2 + 7.25 + 30.5 + 64 * chunkOfSlowHbm + 7.25 + 4;
    assertThat(totalNs(e)).isEqualTo(1 + zeros + store + load, EXACT);
    assertThat(ns(e, "compute", "sip1.cube0.pe0 MATH")).isEqualTo(zeros, EXACT);
    assertThat(ns(e, "serialisation", "sip1.cube0.hbmctl0<->sip1.cube0.hbm0"))
        .isEqualTo(65 * chunkOfSlowHbm, EXACT);
    double faster = 14 / (2.02 * 0.25);
    assertThat(more(e, "pe.math.clock")).isEqualTo(faster - zeros, Offset.offset(1e-3));
  }

  /** Twenty messages of 1 KiB through two slots, each round trip longer than the bytes of three. */
  @Test
  void oneSlotTooFew_timeIsRoundTripsOfCredits_andOneMoreSlotSavesAThird() {
    Machine machine = machine("ring", "ipcq.slots=2");
    Pe a = new Pe(0, 0, 0);
    Pe b = new Pe(1, 0, 0);
    Explanation e =
        explain(
            machine,
            List.of(queue(a, b)),
            List.of(a, b),
            tl -> {
              if (tl.pe().equals(a)) {
                Value x = tl.zeros(Shape.of(512), DType.F16);
                for (int i = 0; i < 20; i++) {
                  tl.send("to1", x);
                }
              } else {
                for (int i = 0; i < 20; i++) {
                  try (Scope turn = tl.scope()) {
                    tl.recv("from0", Shape.of(512), DType.F16);
                  }
                }
              }
            });

    double zeros = 7; // 10 + 1024 B / 256 B per cycle, at 2 GHz
    double onTheWay = 8 + 280 + 1024 / 200.0;
    double credit = 280 + 16 / 200.0 + 2;
    double roundTrip = onTheWay + credit;
    // 0, 2, 4 … go in the first slot; 1, 3, 5 … start when the one before has left: 8 + 1024 / 256
    double time = 1 + zeros + 12 + 9 * roundTrip + onTheWay;
    assertThat(totalNs(e)).isEqualTo(time, EXACT);
    String back = "sip1.cube0.pe0->sip0.cube0.pe0";
    assertThat(ns(e, "credit return", back)).isEqualTo(9 * credit, EXACT);
    assertThat(largest(e).cause().text()).isEqualTo("credit return");
    assertThat(largest(e).share()).isEqualTo(9 * credit / time, EXACT);

    // message 19 is then the second of the seventh three: 6 round trips before it
    double saved = (9 - 6) * roundTrip;
    assertThat(more(e, "ipcq.slots")).isEqualTo(-saved, EXACT);
  }

  /** 192 loads of 64 B, all of which could be under way at once. */
  private static Explanation loads(int window) {
    Machine machine = machine("ring", "pe.dma.read_queues=64", "pe.cpu.command_window=" + window);
    Pe pe = new Pe(0, 0, 0);
    return explain(
        machine,
        List.of(),
        List.of(pe),
        tl -> {
          for (int i = 0; i < 192; i++) {
            tl.load(hbm(machine, pe, 64L * i, Shape.of(32)));
          }
        });
  }

  @Test
  void smallCommandWindow_isTheCause_andTwiceTheWindowSavesHalfOfWhatItHeldUp() {
    Explanation small = loads(8);
    double held = small.breakdown().windowLimited().ps() / 1e3;
    assertThat(held).isBetween(0.85 * totalNs(small), totalNs(small));
    List<String> why = Why.of(small.breakdown());
    assertThat(why.getFirst()).startsWith("61 % of the time bytes were on their way");
    assertThat(why.getLast())
        .startsWith("all in all, ")
        .contains("held up by its full command window", "pe.cpu.command_window is 8");
    double saved = totalNs(small) - totalNs(loads(16));
    assertThat(saved).isEqualTo(held / 2, Offset.offset(0.1 * held));
    assertThat(more(small, "pe.cpu.command_window")).isEqualTo(-held / 9, Offset.offset(1e-3));
  }

  @Test
  void largeCommandWindow_isNoCause() {
    Explanation large = loads(4096);
    assertThat(large.breakdown().windowLimited().ps()).isZero();
    assertThat(Why.of(large.breakdown())).noneMatch(why -> why.contains("command window"));
    assertThat(more(large, "pe.cpu.command_window")).isZero();
  }

  /**
   * Eight steps of 64 x 64 x 512 with one read channel: the two tiles of a step take 760 ns to
   * load, their product 319 ns.
   */
  @Test
  void dmaBoundGemm_timeIsTheBytesAtTheHbm() {
    Machine machine = machine("tiny", "pe.dma.read_queues=1");
    Pe pe = new Pe(0, 0, 0);
    int tile = 64 * 512;
    Explanation e =
        explain(
            machine,
            List.of(),
            List.of(pe),
            tl -> {
              Value sum = tl.zeros(Shape.of(64, 64), DType.F32);
              for (int k = 0; k < 8; k++) {
                Value a = tl.load(hbm(machine, pe, 4L * k * tile, Shape.of(tile)));
                Value b = tl.load(hbm(machine, pe, (4L * k + 2) * tile, Shape.of(tile)));
                sum = tl.dot(a.reshape(64, 512), b.reshape(512, 64), sum);
              }
            });

    double bytes = 64 * CHUNK_OF_HBM; // of a tile
    double load = 28 + 2 + 7.25 + 30.5 + bytes + 7.25 + 4;
    double product = (512 + 64 + 64 - 2) / 2.0;
    double time = 2 + 16 * load + product; // two commands: the zeros and the first load
    String port = "sip0.cube0.hbmctl0<->sip0.cube0.hbm0";
    assertThat(totalNs(e)).isEqualTo(time, EXACT);
    assertThat(ns(e, "serialisation", port)).isEqualTo(16 * bytes, EXACT);
    assertThat(ns(e, "compute")).isEqualTo(product, EXACT);
    assertThat(ns(e, "DMA setup")).isEqualTo(16 * 28, EXACT);
    Breakdown.Share most = e.breakdown().shares().getFirst();
    assertThat(most.cause().text()).isEqualTo("serialisation");
    assertThat(most.place()).isEqualTo(port);
    assertThat(most.share()).isEqualTo(16 * bytes / time, EXACT);
    Utilisation.EngineUse busiest = e.utilisation().engines().getFirst();
    assertThat(busiest.engine()).isEqualTo("DMA read");
    assertThat(busiest.busyPs() / 1e3).isEqualTo(16 * load, EXACT);
    assertThat(strongest(e)).startsWith("cube.hbm.");
  }

  /** Four PEs add five times, but one fifty times; the first waits for all. */
  @Test
  void straggler_isNamedWithItsAdditions() {
    Machine machine = machine("ring", "system.sips.count=4");
    Pe first = new Pe(0, 0, 0);
    Pe straggler = new Pe(1, 0, 0);
    List<Pe> pes = List.of(first, straggler, new Pe(2, 0, 0), new Pe(3, 0, 0));
    Explanation e =
        explain(
            machine,
            List.of(queue(pes.get(1), first), queue(pes.get(2), first), queue(pes.get(3), first)),
            pes,
            tl -> {
              Value x = tl.zeros(Shape.of(4096), DType.F16);
              for (int i = 0; i < (tl.pe().equals(straggler) ? 50 : 5); i++) {
                x = x.add(x);
              }
              if (tl.pe().equals(first)) {
                for (int i = 1; i < 4; i++) {
                  tl.recv("from" + i, Shape.of(4096), DType.F16);
                }
              } else {
                tl.send("to0", x);
              }
            });

    double zeros = (10 + 32) / 2.0; // 8 KiB of f16, 256 B per cycle
    double addition = 3 * 8192 / 1024.0; // the TCM port binds: two operands and a result
    double message = 8 + 280 + 8192 / 200.0;
    double time = 1 + zeros + 50 * addition + message;
    assertThat(totalNs(e)).isEqualTo(time, EXACT);
    assertThat(largest(e).cause().text()).isEqualTo("compute");
    assertThat(largest(e).place()).isEqualTo("sip1.cube0.pe0 MATH");
    assertThat(largest(e).ps() / 1e3).isEqualTo(50 * addition, EXACT);
    assertThat(largest(e).share()).isEqualTo(50 * addition / time, EXACT);
    assertThat(e.breakdown().places())
        .noneMatch(s -> s.place().startsWith("sip2") || s.place().startsWith("sip3"));
    assertThat(e.utilisation().engines().getFirst().pe()).isEqualTo(straggler);
  }

  /** Two PEs read 64 KiB each out of one slice: the chunks of the one wait for the other's. */
  @Test
  void hbmConflict_halfOfTheBytesAreTheOthers() {
    Machine machine = machine("tiny");
    Pe owner = new Pe(0, 0, 0);
    Pe guest = new Pe(0, 0, 1);
    Explanation e =
        explain(
            machine,
            List.of(),
            List.of(owner, guest),
            tl ->
                tl.load(hbm(machine, owner, tl.pe().equals(owner) ? 0 : 65_536, Shape.of(32_768))));

    double bytes = 64 * CHUNK_OF_HBM;
    // the port begins with the owner's, whose command comes first, then takes turns; the guest ends
    double time = 1 + 28 + 2 + 7.25 + 2 * bytes + 30.5 + 7.25 + 2 + 4;
    String port = "sip0.cube0.hbmctl0<->sip0.cube0.hbm0";
    assertThat(totalNs(e)).isEqualTo(time, EXACT);
    assertThat(ns(e, "contention", port)).isEqualTo(bytes, EXACT);
    assertThat(ns(e, "serialisation", port)).isEqualTo(bytes, EXACT);
    assertThat(ns(e, "contention")).isEqualTo(bytes, EXACT);
    assertThat(e.utilisation().links())
        .filteredOn(u -> u.link().name().equals(port))
        .singleElement()
        .satisfies(u -> assertThat(u.busyPs() / 1e3).isEqualTo(2 * bytes, EXACT))
        .satisfies(u -> assertThat(u.waitedPs()).isPositive());
  }
}
