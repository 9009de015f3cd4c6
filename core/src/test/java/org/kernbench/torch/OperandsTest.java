package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.ReduceKind;

/** What ranks that disagree are shown of their calls. */
class OperandsTest {
  private static final Shape SHAPE = Shape.of(4, 2);

  @Test
  void text_hasWhatIsThere_andNothingElse() {
    assertThat(new Operands(DType.F32, SHAPE, Optional.empty(), -1, List.of(), List.of()))
        .hasToString("f32[4, 2]");
    assertThat(
            new Operands(
                DType.F16,
                SHAPE,
                Optional.of(ReduceKind.MAX),
                0,
                List.of(3L, 1L),
                List.of(
                    new Operands.Place(0, 1, List.of(0, 0), Shape.of(3, 2)),
                    new Operands.Place(0, 2, List.of(3, 0), Shape.of(1, 2)))))
        .hasToString("f16[4, 2], MAX, root 0, rows [3, 1], on 2 PEs, the last [1, 2] at [3, 0]");
  }
}
