package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.kernbench.device.simulator.SlotReuseTest.fill;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.ReusableProgram;
import org.kernbench.device.log.LogDifference;
import org.kernbench.device.memory.AddressMapping;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.VirtualAddress;

/**
 * One kernel again and again, with one thing of the key that is another now and then: all rows are
 * those of each launch simulated. {@code LaunchMemoTest} changes all at once, so that one part
 * often tells what another would.
 */
final class MemoKeyTest {
  private static final int RANGE_BYTES = 128 << 10;
  private static final int HALF = RANGE_BYTES / 2;
  private static final Pe NEAR = new Pe(0, 0, 0);
  private static final Pe BESIDE = new Pe(0, 0, 1);
  private static final Pe FAR = new Pe(0, 3, 1);

  private static final Machine MACHINE =
      Machines.load(
          "sip-2026",
          List.of(
              "system.sips.count=1",
              "pe.tcm.size=112 KiB",
              "ipcq.slots=2",
              "ipcq.slot_size=4 KiB"));

  /** What a test does: launches, one after another. */
  private interface Host {
    void run(Run run);
  }

  @Test
  void place_anotherPe_sameMemory() {
    compare(run -> {
      VirtualAddress memory = run.map(NEAR);
      for (int i = 0; i < 15; i++) {
        run.alone(List.of(NEAR, BESIDE, FAR).get(i % 3), 0, memory);
      }
    });
  }

  @Test
  void holder_memoryElsewhere_samePe() {
    compare(run -> {
      List<VirtualAddress> memory = List.of(run.map(NEAR), run.map(FAR));
      for (int i = 0; i < 6; i++) {
        run.alone(NEAR, 0, memory.get(i % 2));
      }
    });
  }

  @Test
  void captured_otherKernel_sameMemory() {
    compare(run -> {
      VirtualAddress memory = run.map(NEAR);
      for (int i = 0; i < 6; i++) {
        run.alone(NEAR, i % 2, memory);
      }
    });
  }

  @Test
  void distance_sameRange_storesToWhatIsLoadedOrNot() {
    compare(run -> {
      VirtualAddress memory = run.map(NEAR);
      for (int i = 0; i < 6; i++) {
        run.sim.drive(
            run.launch(NEAR, 0, 0, List.of(), memory, memory.plus(i % 2 == 0 ? 0 : HALF)));
      }
    });
  }

  @Test
  void sharing_launchThatWaitsOnAnotherStream() {
    compare(run -> {
      VirtualAddress memory = run.map(NEAR);
      VirtualAddress other = run.map(FAR);
      for (int i = 0; i < 8; i++) {
        Launch longer = run.launch(FAR, 0, 2, List.of(), other);
        if (i % 2 == 1) {
          run.launch(NEAR, 1, 0, List.of(longer), memory);
        }
        run.sim.drive(run.launch(NEAR, 0, 0, List.of(), memory));
        run.sim.drive(longer);
        run.all.forEach(run.sim::drive);
      }
    });
  }

  private static void compare(Host host) {
    Run each = new Run(false, host);
    Run again = new Run(true, host);
    assertThat(LogDifference.between(each.sim.opLog(), again.sim.opLog(), MACHINE)).isEmpty();
    assertThat(again.sim.opLog().hash()).isEqualTo(each.sim.opLog().hash());
    assertThat(again.sim.nowPs()).isEqualTo(each.sim.nowPs());
    assertThat(again.sim.reused().orElseThrow().launches()).isGreaterThan(2);
    each.sim.close();
    again.sim.close();
  }

  private static final class Run {
    final Simulator sim;
    final List<Launch> all = new ArrayList<>();
    private long next = VirtualAddress.BASE;

    Run(boolean reuse, Host host) {
      sim = Simulator.open(MACHINE, Mode.TIME, SimulatorOptions.DEFAULT.reusing(reuse));
      host.run(this);
      all.forEach(sim::drive);
    }

    VirtualAddress map(Pe holder) {
      VirtualAddress at = new VirtualAddress(next);
      sim.map(
          new AddressMapping(
              "range",
              at,
              RANGE_BYTES,
              List.of(
                  new AddressMapping.Copy(
                      holder, MACHINE.addresses().hbm(holder, next - VirtualAddress.BASE)))));
      next += 1 << 20;
      return at;
    }

    void alone(Pe pe, int kind, VirtualAddress memory) {
      sim.drive(launch(pe, 0, kind, List.of(), memory));
    }

    Launch launch(Pe pe, int stream, int kind, List<Launch> after, VirtualAddress... memory) {
      LaunchRequest request =
          new LaunchRequest("kind " + kind, List.of(pe), stream, Optional.empty(), after);
      Launch launch = sim.launch(request, new Program(kind, memory[0], memory[memory.length - 1]));
      all.add(launch);
      return launch;
    }
  }

  /** Loads, sums and stores that fill most of the TCM, the more the greater its kind. */
  private record Program(int kind, VirtualAddress from, VirtualAddress to)
      implements ReusableProgram {
    @Override
    public Runnable apply(PePort port) {
      return () -> run(port);
    }

    @Override
    public Optional<Key> key() {
      return Optional.of(
          new Key(List.of(kind), List.of(new Memory(from, HALF), new Memory(to, HALF))));
    }

    private void run(PePort p) {
      List<Register> held = new ArrayList<>();
      for (int i = 0; i < 12 + 20 * kind; i++) {
        Register loaded = p.load(Region.of(from.plus((i % 8) * 8192L), 8192));
        Register made = fill(p, 8192, i);
        p.store(made, 0, Region.of(to.plus((i * 5 % 8) * 8192L), 8192));
        p.release(made);
        held.add(loaded);
        if (held.size() > 3) {
          p.release(held.removeFirst());
        }
      }
      held.forEach(p::release);
    }
  }
}
