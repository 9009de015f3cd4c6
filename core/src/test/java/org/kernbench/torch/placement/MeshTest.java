package org.kernbench.torch.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;

/** Places of devices of every level, against counting through the machine. */
class MeshTest {
  private static final Machine MACHINE = Machines.load("sip-2026", List.of());

  private static Mesh mesh(RankLevel level, int index) {
    return Mesh.of(MACHINE, Device.of(MACHINE, level, index));
  }

  @Test
  void axes_areRowsAndColumnsOfCubes_thenPes() {
    assertThat(mesh(RankLevel.SIP, 1)).hasToString("row 4 x col 4 x pe 8");
    assertThat(mesh(RankLevel.CUBE, 1)).hasToString("row 1 x col 1 x pe 8");
    assertThat(mesh(RankLevel.PE, 1)).hasToString("row 1 x col 1 x pe 1");
  }

  @Test
  void places_areThePesOfTheDevice_inTheirOrder_andNoOthers() {
    for (RankLevel level : RankLevel.values()) {
      int size = level == RankLevel.SIP ? 128 : level == RankLevel.CUBE ? 8 : 1;
      for (int index : new int[] {0, 1, 3}) {
        Mesh mesh = mesh(level, index);
        List<Pe> own = new ArrayList<>();
        for (int i = 0; i < MACHINE.peCount(); i++) {
          boolean inside = i / size == index;
          assertThat(mesh.placeOf(MACHINE.peAt(i)))
              .as("%s of %s", MACHINE.peAt(i), mesh)
              .isEqualTo(inside ? i % size : -1);
          if (inside) {
            own.add(MACHINE.peAt(i));
          }
        }
        assertThat(mesh.size()).isEqualTo(size);
        assertThat(mesh.pes()).isEqualTo(own);
      }
    }
  }

  @Test
  void coordinates_countTheLastAxisFirst() {
    Mesh mesh = mesh(RankLevel.SIP, 2);
    int place = 0;
    for (int row = 0; row < 4; row++) {
      for (int column = 0; column < 4; column++) {
        for (int pe = 0; pe < 8; pe++) {
          assertThat(mesh.coordinate(place)).containsExactly(row, column, pe);
          assertThat(mesh.pe(place++)).isEqualTo(new Pe(2, 4 * row + column, pe));
        }
      }
    }
  }

  @Test
  void axes_thatDoNotFit_areRefused() {
    Device cube = Device.of(MACHINE, RankLevel.CUBE, 0);
    assertThatThrownBy(() -> new Mesh.Axis("a", 0)).hasMessage("axis a: size 0; expected >= 1");
    assertThatThrownBy(() -> new Mesh(cube, List.of()))
        .hasMessageContaining("expected at least one, each name once");
    assertThatThrownBy(() -> new Mesh(cube, List.of(new Mesh.Axis("a", 2), new Mesh.Axis("a", 4))))
        .hasMessageContaining("expected at least one, each name once");
    assertThatThrownBy(() -> new Mesh(cube, List.of(new Mesh.Axis("a", 2), new Mesh.Axis("b", 2))))
        .hasMessageContaining("mesh a 2 x b 2 has 4 places, but ")
        .hasMessageEndingWith(" has 8 PEs; expected as many");
    assertThat(new Mesh(cube, List.of(new Mesh.Axis("a", 2), new Mesh.Axis("b", 4))).coordinate(5))
        .containsExactly(1, 1);
  }
}
