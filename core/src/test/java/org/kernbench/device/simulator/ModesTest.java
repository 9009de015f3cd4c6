package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;

/**
 * The three modes are one semantics: {@code full} and {@code time} agree on times, {@code full} and
 * {@code values} on bytes.
 */
final class ModesTest {
  private static final int CASES = 40;

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void randomPrograms_fullAndTime_sameOpLog(int block) {
    for (int i = 0; i < CASES; i++) {
      RandomCase c = RandomCase.of(block * CASES + i);
      try (DeviceRig full = c.rig(Mode.FULL);
          DeviceRig time = c.rig(Mode.TIME);
          DeviceRig again = c.rig(Mode.TIME)) {
        Launch inFull = c.run(full);
        Launch inTime = c.run(time);
        c.run(again);
        assertThat(time.rows()).as("%s", c).isEqualTo(full.rows());
        assertThat(time.sim.opLog().hash())
            .as("%s", c)
            .isEqualTo(full.sim.opLog().hash())
            .isEqualTo(again.sim.opLog().hash());
        assertThat(inTime.criticalPs()).isEqualTo(inFull.criticalPs());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void randomPrograms_fullAndValues_sameBytes(int block) {
    for (int i = 0; i < CASES; i++) {
      RandomCase c = RandomCase.of(1000 + block * CASES + i);
      try (DeviceRig full = c.rig(Mode.FULL);
          DeviceRig values = c.rig(Mode.VALUES)) {
        c.run(full, true);
        c.run(values, true);
        List<byte[]> expected = c.memories(values);
        List<byte[]> got = c.memories(full);
        for (int pe = 0; pe < c.pes(); pe++) {
          assertThat(got.get(pe)).as("PE %d of %s", pe, c).isEqualTo(expected.get(pe));
        }
      }
    }
  }

  /**
   * A faster machine computes the same bytes: timing never decides a value of a race-free program.
   */
  @ParameterizedTest
  @ValueSource(longs = {5, 17, 99})
  void randomPrograms_otherTiming_sameBytes(long seed) {
    RandomCase c = RandomCase.of(seed);
    RandomCase slow =
        new RandomCase(
            seed,
            c.pes(),
            c.slots(),
            java.util.stream.Stream.concat(
                    c.overrides().stream(),
                    java.util.stream.Stream.of(
                        "system.links.sip_to_sip.latency=5 us",
                        "cube.hbm.latency=900 ns",
                        "fabric.chunk=256 B"))
                .toList(),
            c.programs());
    try (DeviceRig a = c.rig(Mode.FULL);
        DeviceRig b = slow.rig(Mode.FULL)) {
      c.run(a, true);
      slow.run(b, true);
      List<byte[]> expected = c.memories(a);
      List<byte[]> got = slow.memories(b);
      for (int pe = 0; pe < c.pes(); pe++) {
        assertThat(got.get(pe)).isEqualTo(expected.get(pe));
      }
    }
  }
}
