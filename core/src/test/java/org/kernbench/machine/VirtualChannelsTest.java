package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.ConfigException;

/** With finite buffers routes must not wait for each other in a circle. */
class VirtualChannelsTest {
  private static Machine load(String preset, String... overrides) {
    List<String> all = new ArrayList<>(List.of("fabric.buffer=4 KiB"));
    all.addAll(List.of(overrides));
    return Machines.load(preset, all);
  }

  /** Channels that auto gives, and what fewer come to. */
  @ParameterizedTest
  @CsvSource({
    "ring,ring_1d,5,2,1",
    "ring,torus_2d,16,4,1",
    "ring,mesh_2d_no_wrap,9,2,0",
    "ring,switch,8,1,0",
    "sip-2026,torus_2d,6,5,3",
    "sip-2026,ring_1d,5,4,3",
    "sip-2026,mesh_2d_no_wrap,6,4,1",
    "sip-2026,switch,4,3,1",
    "sip-2026,fully_connected,5,3,2",
    "sip-2026,torus_2d,9,6,4"
  })
  void auto_everyTopology_isEnoughAndTooFewAreRefused(
      String preset, String topology, int sips, int auto, int tooFew) {
    String[] size = {
      "system.sips.topology=" + topology,
      "system.sips.count=" + sips,
      "system.sips.w=auto",
      "system.sips.h=auto",
      "fabric.virtual_channels=auto"
    };
    if (preset.equals("sip-2026")) { // two cubes each way and few PEs have all the turns
      size = withCubes(size);
    }
    assertThat(load(preset, size).fabric().virtualChannels()).isEqualTo(auto);
    if (tooFew > 0) {
      size[4] = "fabric.virtual_channels=" + tooFew;
      String[] few = size;
      assertThatThrownBy(() -> load(preset, few))
          .isInstanceOf(ConfigException.class)
          .hasMessageContaining("fabric.virtual_channels: got " + tooFew)
          .hasMessageContaining("can wait for each other for ever: sip")
          .hasMessageContaining("expected auto (here " + auto + ")");
    }
  }

  private static String[] withCubes(String[] size) {
    List<String> all = new ArrayList<>(List.of(size));
    all.addAll(List.of("sip.cube_mesh.w=2", "sip.cube_mesh.h=2"));
    return all.toArray(String[]::new);
  }

  /**
   * Along every route the channel never goes down again, within the axis of a ring or all along.
   */
  @Test
  void channels_alongARoute_onlyGoUp() {
    Machine m = load("sip-2026");
    for (int i = 0; i < m.peCount(); i += 7) {
      int[] route = m.route(m.peNode(m.peAt(0)), m.hbmNode(m.peAt(m.peCount() - 1 - i))).links();
      int[] channels = m.virtualChannels(route);
      for (int k = 1; k < channels.length; k++) {
        assertThat(channels[k]).isGreaterThanOrEqualTo(channels[k - 1]);
      }
    }
  }

  /** 12 ns each way at 512 GB/s: 4 KiB cover 24 ns less than wholly, and 250 ns hardly. */
  @Test
  void warnings_bufferBelowTheRoundTrip_sayWhatTheLinkReaches() {
    Machine m = load("sip-2026");
    assertThat(m.warnings()).hasSizeGreaterThan(1);
    assertThat(m.warnings())
        .anySatisfy(w ->
            assertThat(w.message())
                .contains(
                    "4 KiB are fewer bytes than a round trip of system.links.sip_to_sip holds")
                .contains("at most 8.2 GB/s of its 200 GB/s"));
    assertThat(load("sip-2026", "fabric.buffer=2 KiB").warnings())
        .anySatisfy(w ->
            assertThat(w.message())
                .contains("sip.links.cube_to_cube")
                .contains("at most 85.3 GB/s of its 512 GB/s"));
    assertThat(Machines.load("sip-2026", List.of("fabric.buffer=256 KiB")).warnings()).isEmpty();
    for (String key : List.of("pe_to_router", "hbm_to_router", "sram_to_router")) {
      String path = "cube.links." + key;
      assertThat(load("tiny", "fabric.buffer=2 KiB", path + ".latency=50 ns").warnings())
          .anySatisfy(
              w -> assertThat(w.message()).contains(path + " holds").contains("at most 20.5 GB/s"));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "fabric.buffer=100 B | expected a multiple of fabric.flit, e.g. 128 B",
        "fabric.flit=96 B | expected a power of two",
        "fabric.flit=4 KiB | expected at most fabric.chunk: 1024 B",
        "fabric.buffer=endless | expected a size with its unit, e.g. \"2 MiB\", or unlimited",
        "fabric.virtual_channels=7 | a whole number from 1 to 6, or auto"
      })
  void load_badFabric_saysWhatIsExpected(String override, String expected) {
    assertThatThrownBy(() -> load("sip-2026", override)).hasMessageContaining(expected);
  }
}
