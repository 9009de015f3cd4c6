package org.kernbench.torch.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.placement.Layout.Part;
import org.kernbench.torch.placement.Layout.Replicate;
import org.kernbench.torch.placement.Layout.Rows;
import org.kernbench.torch.placement.Layout.Shard;

final class MeshLayoutTest {
  /** 2 x 2 cubes of 2 PEs. */
  private static final Device PACKAGE = new Device(0, RankLevel.SIP, new Pe(0, 0, 0), 4, 2);

  private static final Mesh MESH = Mesh.of(Machines.load("tiny", List.of()), PACKAGE);

  @Test
  void of_package_isCubesThenPes_andOneByOneForLess() {
    assertThat(MESH).hasToString("row 2 x col 2 x pe 2");
    Mesh cube = Mesh.of(Machines.load("tiny", List.of()), Spread.CUBE.of(PACKAGE));
    assertThat(cube).hasToString("row 1 x col 1 x pe 2");
    Mesh one = Mesh.of(Machines.load("tiny", List.of()), Spread.LEAD.of(PACKAGE));
    assertThat(one).hasToString("row 1 x col 1 x pe 1");
    for (int place = 0; place < MESH.size(); place++) {
      assertThat(MESH.placeOf(MESH.pe(place))).isEqualTo(place);
    }
    assertThat(one.placeOf(new Pe(0, 0, 1))).isEqualTo(-1);
  }

  static Stream<Layout> layouts() {
    List<Part> parts = List.of(new Shard(0), new Shard(-1), new Replicate());
    List<Part> rows = List.of(new Rows(), new Shard(-1), new Replicate());
    List<Layout> all = new ArrayList<>();
    for (List<Part> of : List.of(parts, rows)) {
      for (Part a : of) {
        for (Part b : of) {
          for (Part c : of) {
            all.add(new Layout(MESH, List.of(a, b, c)));
          }
        }
      }
    }
    all.add(new Layout(MESH, List.of(new Rows(2), new Rows(0), new Rows(1))));
    all.add(new Layout(MESH, List.of(new Rows(1), new Replicate(), new Rows(0))));
    return all.stream();
  }

  /** Each PE has the elements that the layout says, found element by element without boxes. */
  @ParameterizedTest
  @MethodSource("layouts")
  void resolve_everyElement_isWhereTheLayoutSays(Layout layout) {
    for (Shape shape :
        List.of(Shape.of(16, 8), Shape.of(7, 5), Shape.of(3, 1, 4), Shape.of(5, 3, 7))) {
      List<ShardSpec> specs = layout.resolve("x", shape);
      for (int place = 0; place < MESH.size(); place++) {
        Pe pe = MESH.pe(place);
        boolean[] held = new boolean[(int) shape.elements()];
        for (ShardSpec spec : specs) {
          if (spec.place().equals(pe)) {
            mark(shape, spec, held);
          }
        }
        for (int i = 0; i < held.length; i++) {
          assertThat(held[i])
              .as("element %s of %s at %s in %s", i, shape, pe, layout)
              .isEqualTo(says(layout, shape, i, MESH.coordinate(place)));
        }
      }
    }
  }

  private static void mark(Shape shape, ShardSpec spec, boolean[] held) {
    ShardCopy copy = new ShardCopy(shape, spec, 1);
    for (int i = 0; i < held.length; i++) {
      if (spec.shape().elements() > 0 && copy.position(index(shape, i)) >= 0) {
        assertThat(held[i]).isFalse();
        held[i] = true;
      }
    }
  }

  private static int[] index(Shape shape, int element) {
    int[] index = new int[shape.rank()];
    for (int axis = shape.rank() - 1, rest = element; axis >= 0; axis--) {
      index[axis] = rest % shape.dim(axis);
      rest /= shape.dim(axis);
    }
    return index;
  }

  private static List<Integer> order(Layout layout) {
    List<Integer> order = new ArrayList<>();
    for (int turn = 0; turn < 3; turn++) {
      for (int axis = 0; axis < 3; axis++) {
        int of = layout.parts().get(axis) instanceof Rows rows ? rows.turn() : 0;
        if (of == turn) {
          order.add(axis);
        }
      }
    }
    return order;
  }

  /** Follows one element through the cuts of each axis of the mesh. */
  private static boolean says(Layout layout, Shape shape, int element, List<Integer> at) {
    int last = shape.rank() - 1;
    boolean rows = layout.parts().stream().anyMatch(Rows.class::isInstance);
    int[] position = index(shape, element);
    int[] extent = shape.toArray();
    if (rows) {
      int width = shape.dim(last);
      position = new int[] {element / width, element % width};
      extent = new int[] {(int) (shape.elements() / width), width};
    }
    for (int axis : order(layout)) {
      Part part = layout.parts().get(axis);
      if (part instanceof Replicate) {
        continue;
      }
      int dim = part instanceof Shard shard && shard.dim() < 0 ? position.length - 1 : 0;
      int places = layout.mesh().axes().get(axis).size();
      int longer = extent[dim] % places;
      int start = 0;
      for (int p = 0; p < at.get(axis); p++) {
        start += extent[dim] / places + (p < longer ? 1 : 0);
      }
      position[dim] -= start;
      extent[dim] = extent[dim] / places + (at.get(axis) < longer ? 1 : 0);
      if (position[dim] < 0 || position[dim] >= extent[dim]) {
        return false;
      }
    }
    return true;
  }

  /** Policies that cut an axis are short for layouts of (cube, PE). */
  @Test
  void resolve_sameCutsAsAPolicy_samePlacement() {
    Mesh flat = new Mesh(PACKAGE, List.of(new Mesh.Axis("cube", 4), new Mesh.Axis("pe", 2)));
    for (Shape shape : List.of(Shape.of(16, 8), Shape.of(7, 5), Shape.of(3, 9))) {
      for (DpPolicy.Split cube : DpPolicy.Split.values()) {
        for (DpPolicy.Split pe : DpPolicy.Split.values()) {
          if (isCut(cube) && isCut(pe)) {
            Layout layout = new Layout(flat, List.of(part(cube), part(pe)));
            assertThat(layout.resolve("x", shape))
                .isEqualTo(PolicyPlacement.resolve("x", shape, DpPolicy.of(cube, pe), PACKAGE));
          }
        }
      }
    }
  }

  private static boolean isCut(DpPolicy.Split split) {
    return split != DpPolicy.Split.TILED_ROW_MAJOR && split != DpPolicy.Split.TILED_COLUMN_MAJOR;
  }

  private static Part part(DpPolicy.Split split) {
    return switch (split) {
      case ROW_WISE -> new Shard(0);
      case COLUMN_WISE -> new Shard(-1);
      default -> new Replicate();
    };
  }

  @Test
  void resolve_anAxisThatTheTensorLacks_isRefusedByName() {
    assertThatThrownBy(() -> Layout.all(MESH, new Shard(2)).resolve("x", Shape.of(4, 4)))
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("tensor x of shape [4, 4]: Shard(2) along row cuts an axis")
        .hasMessageContaining("expected at most 1");
    Layout mixed = new Layout(MESH, List.of(new Rows(), new Shard(0), new Replicate()));
    assertThatThrownBy(() -> mixed.resolve("x", Shape.of(4, 4)))
        .hasMessageContaining("Shard(0) along col beside Rows; expected the last of several axes");
  }

  @Test
  void mesh_withOtherPlacesThanTheDevice_isRefused() {
    assertThatThrownBy(() -> new Mesh(PACKAGE, List.of(new Mesh.Axis("pe", 6))))
        .hasMessageContaining("mesh pe 6 has 6 places")
        .hasMessageContaining("has 8 PEs");
  }
}
