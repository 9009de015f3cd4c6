package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.placement.Device;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.ShardSpec;

/** Which shards lie on a device, and where. */
final class LaneTest {
  /** A device of package 1 with cubes 2 and 3 and their PEs 4, 5 and 6. */
  private static final Device DEVICE = new Device(0, RankLevel.SIP, new Pe(1, 2, 4), 2, 3);

  private static ShardSpec shard(int sip, int cube, int pe) {
    return new ShardSpec(sip, cube, pe, List.of(0), Shape.of(8));
  }

  @ParameterizedTest
  @CsvSource({
    "1, 2, 4, true",
    "1, 3, 6, true",
    "1, 2, 3, false",
    "1, 2, 7, false",
    "1, 1, 4, false",
    "1, 4, 4, false",
    "0, 2, 4, false",
    "2, 2, 4, false"
  })
  void isOn_firstAndLastAndOnePast_knowsTheEdges(int sip, int cube, int pe, boolean on) {
    assertThat(Lane.isOn(shard(sip, cube, pe), DEVICE)).isEqualTo(on);
  }

  @ParameterizedTest
  @CsvSource({"2, 4", "3, 5", "3, 6"})
  void of_shardOnDevice_leadsBackToItsPe(int cube, int pe) {
    Lane lane = Lane.of(shard(1, cube, pe), DEVICE);
    assertThat(lane).isEqualTo(new Lane(cube - 2, pe - 4));
    assertThat(lane.on(DEVICE)).isEqualTo(new Pe(1, cube, pe));
  }
}
