package org.kernbench.tl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/** Parts of a tensor in memory, seen in other shapes. */
final class SliceTest {
  private static final Machine MACHINE = Machines.load("tiny", List.of());
  private static final Shard SHARD =
      new Shard("x", MACHINE.addresses().hbm(new Pe(0, 0, 0), 0), Shape.of(4, 6), DType.F32);

  @Test
  void reshape_consecutiveElements_keepsThemAndTheirPlace() {
    Slice rows = SHARD.block(1, 2, 0, 6);
    assertThat(rows.isDense()).isTrue();
    assertThat(rows.reshape(3, 4).shape()).isEqualTo(Shape.of(3, 4));
    assertThat(SHARD.block(2, 1, 1, 3).isDense()).as("one row").isTrue();
    assertThatThrownBy(() -> rows.reshape(3, 5))
        .hasMessageContaining("a slice [2, 6] cannot be seen as [3, 5]");
  }

  @Test
  void reshape_rowsApart_isRefused() {
    Slice columns = SHARD.block(0, 4, 0, 3);
    assertThat(columns.isDense()).isFalse();
    assertThatThrownBy(() -> columns.reshape(12))
        .hasMessageContaining("of rows that are not consecutive cannot be seen as [12]");
  }

  /** The first parts have one more than the others, and each begins where the one before ends. */
  @Test
  void parts_ofAnExtent_differByOneAtMost_andCoverIt() {
    for (int extent = 0; extent <= 20; extent++) {
      for (int parts = 1; parts <= 9; parts++) {
        int at = 0;
        for (int i = 0; i < parts; i++) {
          assertThat(ShardedGemm.start(extent, i, parts)).as("%d of %d", i, parts).isEqualTo(at);
          at += extent / parts + (i < extent % parts ? 1 : 0);
        }
        assertThat(ShardedGemm.start(extent, parts, parts)).isEqualTo(extent);
      }
    }
  }
}
