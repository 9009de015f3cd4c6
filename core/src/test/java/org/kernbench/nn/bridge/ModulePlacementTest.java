package org.kernbench.nn.bridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.RankGrid;

/** Which ranks run which modules: {@code docs/spec/megatron.md} 9.1. */
final class ModulePlacementTest {
  private static ModulePlacement place(String images, String language) {
    return ModulePlacement.of(
        Set.of("images"),
        Map.of("images", RankGrid.parse(images), "language", RankGrid.parse(language)));
  }

  @Test
  void sameRanks_areColocated() {
    ModulePlacement placement = place("tp=2,dp=4,offset=8", "tp=4,dp=2,offset=8");
    assertThat(placement.isColocated()).isTrue();
    assertThat(placement.modulesOf(8)).containsExactly("images", "language");
    assertThat(placement.modulesOf(15)).containsExactly("images", "language");
    assertThat(placement.bridges()).containsOnlyKeys("images");
    assertThat(placement.bridges().firstEntry().getValue().direction())
        .isEqualTo(BridgePlan.Direction.FAN_IN);
  }

  @Test
  void otherRanks_areNotColocated() {
    ModulePlacement placement = place("tp=2,dp=2", "tp=2,dp=2,offset=4");
    assertThat(placement.isColocated()).isFalse();
    assertThat(placement.modulesOf(3)).containsExactly("images");
    assertThat(placement.modulesOf(4)).containsExactly("language");
    assertThat(placement.bridges()).isEmpty();
    assertThatThrownBy(() -> placement.modulesOf(8))
        .isInstanceOfSatisfying(
            LayoutException.class, e -> assertThat(e.kind()).isEqualTo(LayoutException.Kind.STATE))
        .hasMessageContaining("rank 8 is in no module's grid");
  }

  @Test
  void someCommonRanks_areRefused() {
    assertThatThrownBy(() -> place("tp=2,dp=2", "tp=2,dp=2,offset=2"))
        .isInstanceOf(LayoutException.class)
        .hasMessage(
            "modules images (ranks 0 to 3) and language (ranks 2 to 5) share some ranks; expected"
                + " the same ranks or none in common");
    assertThatThrownBy(() -> place("tp=2,dp=2", "tp=2,dp=4"))
        .hasMessageContaining("share some ranks");
  }

  @Test
  void otherKeys_areListed() {
    RankGrid grid = RankGrid.parse("tp=1,dp=1");
    assertThatThrownBy(
            () -> ModulePlacement.of(Set.of("images", "sound"), Map.of("images", grid, "x", grid)))
        .isInstanceOf(LayoutException.class)
        .hasMessage(
            "grids of modules: missing [language, sound], unknown [x]; expected [images, language,"
                + " sound]");
  }
}
