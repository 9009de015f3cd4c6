package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.ConfigException;
import org.kernbench.machine.spec.RouterAllocator;
import org.kernbench.machine.spec.RouterSpec;

/** The keys of {@code fabric.router}: each is found where it belongs, bad ones are refused. */
final class RouterKeysTest {
  private static final String MESH = "../examples/machines/mesh-4x4.yaml";

  @Test
  void allDifferent_areFoundByTheirNames() {
    Machine machine =
        Machines.load(
            MESH,
            List.of(
                "fabric.virtual_channels=20",
                "fabric.router.clock=3 GHz",
                "fabric.router.route_computation=2",
                "fabric.router.channel_allocation=3",
                "fabric.router.switch_allocation=4",
                "fabric.router.traversal=5",
                "fabric.router.allocator=ideal",
                "fabric.router.speed_up=6",
                "fabric.router.credit_delay=7",
                "fabric.router.channel_reuse=8"));
    assertThat(machine.fabric().virtualChannels()).isEqualTo(20);
    assertThat(machine.fabric().router())
        .contains(new RouterSpec(3_000_000_000L, 2, 3, 4, 5, RouterAllocator.IDEAL, 6, 7, 8));
    assertThat(Machines.load("sip-2026", List.of()).fabric().router()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "fabric.router.clock=5000 GHz | got 5000000000000 Hz; expected at most 1000 GHz",
        "fabric.router.allocator=idael | expected ideal or separable; did you mean ideal?",
        "fabric.router.speed_up=9 | got \"9\"; expected a whole number from 1 to 8",
        "fabric.router.traversal=-1 | expected a whole number from 0 to 1000",
        "fabric.router=fast | got \"fast\"; expected a section of keys",
        "fabric.buffer=unlimited | got unlimited, but fabric.router describes routers with buffers",
        "fabric.virtual_channels=65 | got \"65\"; expected a whole number from 1 to 64, or auto",
        "cube.hbm.fidelity=banked | routers that are clocked do not know banked memories",
      })
  void badValue_isOneMessage(String override, String message) {
    assertThatThrownBy(() -> Machines.load(MESH, List.of(override)))
        .isInstanceOfSatisfying(ConfigException.class, e -> assertThat(e.problems()).hasSize(1))
        .hasMessageContaining(message);
  }
}
