package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ShapeTest {
  @Test
  void of_extents_givesCountStridesAndText() {
    Shape shape = Shape.of(2, 3, 4);
    assertThat(shape.rank()).isEqualTo(3);
    assertThat(shape.elements()).isEqualTo(24);
    assertThat(shape.strides()).containsExactly(12, 4, 1);
    assertThat(shape.dim(-1)).isEqualTo(4);
    assertThat(shape.outer(1)).isEqualTo(2);
    assertThat(shape.inner(1)).isEqualTo(4);
    assertThat(shape.without(-2)).isEqualTo(Shape.of(2, 4));
    assertThat(shape.with(0, 7)).isEqualTo(Shape.of(7, 3, 4)).hasToString("[7, 3, 4]");
    assertThat(shape).hasSameHashCodeAs(Shape.of(2, 3, 4)).isNotEqualTo(Shape.of(3, 2, 4));
    assertThat(Shape.of().elements()).isEqualTo(1);
    assertThat(Shape.of(1 << 20, 1 << 20).elements()).isEqualTo(1L << 40);
  }

  @Test
  void of_callersArray_isCopied() {
    int[] dims = {2, 3};
    Shape shape = Shape.of(dims);
    dims[0] = 9;
    shape.toArray()[1] = 9;
    assertThat(shape).isEqualTo(Shape.of(2, 3));
  }

  @Test
  void of_negativeExtent_isAnError() {
    assertThatThrownBy(() -> Shape.of(2, -3))
        .isInstanceOf(ShapeException.class)
        .hasMessage("shape [2, -3]: axis 1 is -3; expected 0 or more");
    assertThatThrownBy(() -> Shape.of(2, 3).dim(2))
        .isInstanceOf(ShapeException.class)
        .hasMessage("axis 2 of shape [2, 3]: expected -2 to 1");
  }

  @Test
  void broadcast_fittingShapes_givesCommonShape() {
    assertThat(Shape.broadcast(Shape.of(4, 1, 3), Shape.of(5, 1))).isEqualTo(Shape.of(4, 5, 3));
    assertThat(Shape.broadcast(Shape.of(), Shape.of(2))).isEqualTo(Shape.of(2));
    assertThat(Shape.broadcast(Shape.of(1), Shape.of(0))).isEqualTo(Shape.of(0));
    assertThatThrownBy(() -> Shape.broadcast(Shape.of(2, 3), Shape.of(2)))
        .isInstanceOf(ShapeException.class)
        .hasMessageContaining("cannot broadcast [2, 3] with [2]: axis -1 is 3 against 2");
  }
}
