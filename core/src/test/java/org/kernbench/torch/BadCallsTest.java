package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.device.Mode;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.ReduceKind;

/** Calls that a rank alone can know to be wrong: each is refused with what was expected. */
final class BadCallsTest {
  private static final Map<String, Consumer<Worker>> CALLS = new LinkedHashMap<>();

  private static Tensor rows(Worker w, int rows) {
    return w.torch().zeros(Shape.of(rows, 3), DType.F32, "t" + rows);
  }

  private static Tensor rows(Worker w, int rows, String name) {
    return w.torch().zeros(Shape.of(rows, 3), DType.F32, name);
  }

  private static void call(String expected, Consumer<Worker> body) {
    CALLS.put(expected, body);
  }

  private static ProcessGroup group(Worker w) {
    return w.distributed().newGroup(0, 1);
  }

  static {
    call(
        "send in group 1 [0, 1]: peer 0; expected the global rank of another member, of [0, 1]",
        w -> group(w).send(rows(w, 2), 0));
    call(
        "recv in group 1 [0, 1]: peer 2; expected the global rank of another member, of [0, 1]",
        w -> group(w).recv(rows(w, 2), 2));
    call(
        "broadcast in group 1 [0, 1]: root 2; expected the global rank of a member, of [0, 1]",
        w -> group(w).broadcast(rows(w, 2), 2));
    call(
        "the root gives no output; expected gather(output, input, dst)",
        w -> group(w).gather(rows(w, 2), 0));
    call(
        "an output on another rank than the root 1; expected gather(input, dst)",
        w -> group(w).gather(rows(w, 4), rows(w, 2), 1));
    call(
        "the root gives no input; expected scatter(output, input, src)",
        w -> group(w).scatter(rows(w, 2), 0));
    call(
        "an input on another rank than the root 1; expected scatter(output, src)",
        w -> group(w).scatter(rows(w, 2), rows(w, 4), 1));
    call(
        "input t2 is f32, output o is f16; expected one dtype",
        w -> group(w).allGather(w.torch().zeros(Shape.of(4, 3), DType.F16, "o"), rows(w, 2)));
    call(
        "3 numbers of rows; expected one for each of 2 members",
        w -> group(w).allGather(rows(w, 4), rows(w, 2), List.of(2, 1, 1)));
    call(
        "tensor t2 has 2 rows; expected 3, as the list of rows says",
        w -> group(w).allGather(rows(w, 4), rows(w, 2), List.of(3, 1)));
    call(
        "tensor t6 has shape [6, 3], the part t2 has [2, 3], in a group of 2; expected 4 rows",
        w -> group(w).allGather(rows(w, 6), rows(w, 2)));
    call(
        "tensor t4 has shape [4, 3], the part t2 has [2, 3], in a group of 2; expected 5 rows",
        w -> group(w).reduceScatter(rows(w, 2), rows(w, 4), ReduceKind.SUM, List.of(2, 3)));
    call(
        "allToAll in group 1 [0, 1]: output and input are one tensor; expected two",
        w -> {
          Tensor t = rows(w, 2);
          group(w).allToAll(t, t);
        });
    call(
        "input [3, 3] and output [3, 3] in a group of 2; expected equal shapes with rows that divide",
        w -> group(w).allToAll(rows(w, 3), w.torch().zeros(Shape.of(3, 3), DType.F32, "i")));
    call(
        "input [2, 3] and output [4, 3] in a group of 2; expected equal shapes",
        w -> group(w).allToAll(rows(w, 4), rows(w, 2)));
    call(
        "input t4 has shape [4, 3], its rows for each member [1, 2]; expected 2 numbers that add up",
        w -> group(w).allToAll(rows(w, 2), rows(w, 4), List.of(1, 1), List.of(1, 2)));
    call(
        "output t2 has shape [2, 3], its rows for each member [3, -1]; expected 2 numbers",
        w -> group(w).allToAll(rows(w, 2), rows(w, 4), List.of(3, -1), List.of(2, 2)));
    call(
        "output t2 has shape [2, 3], its rows for each member [2]; expected 2 numbers",
        w -> group(w).allToAll(rows(w, 2), rows(w, 4), List.of(2), List.of(2, 2)));
    call(
        "rank 0: allReduce of tensor whole: AVG of i32; expected a floating-point type, or use SUM",
        w -> group(w).allReduce(w.torch().zeros(Shape.of(2), DType.I32, "whole"), ReduceKind.AVG));
    call(
        """
        rank 0: allReduce of tensor far: it lies at sip1.cube0.pe0; expected sip0.cube0.pe0, on \
        the rank's own device: make it there, or set the device back\
        """,
        w -> {
          w.torch().ahbm().setDevice(1);
          Tensor far = rows(w, 2, "far");
          group(w).allReduce(far);
        });
    call(
        "setDevice: got 3; expected 0 to 2, the packages of machine ring",
        w -> w.torch().ahbm().setDevice(3));
    call("setDevice: got -1; expected 0 to 2", w -> w.torch().ahbm().setDevice(-1));
    call(
        "rank 0: allReduce of tensor other, which belongs to another Torch",
        w -> {
          try (Torch elsewhere = Rooms.ring(2, Mode.TIME)) {
            group(w).allReduce(elsewhere.zeros(Shape.of(2), DType.F32, "other"));
          }
        });
    call(
        """
        input s has shape [], output t4 has [4, 3]; expected shapes that differ in the first axis \
        only\
        """,
        w -> group(w).allGather(rows(w, 4), w.torch().zeros(Shape.of(), DType.F32, "s")));
    call(
        "tensor s is a scalar, which has no rows to divide",
        w ->
            group(w)
                .allGather(
                    w.torch().zeros(Shape.of(), DType.F32, "o"),
                    w.torch().zeros(Shape.of(), DType.F32, "s")));
  }

  static List<String> calls() {
    return new ArrayList<>(CALLS.keySet());
  }

  @ParameterizedTest
  @MethodSource("calls")
  void call_thatCannotBe_isRefusedByItsRank(String expected) {
    try (Torch torch = Rooms.ring(3, Mode.TIME)) {
      assertThatThrownBy(() ->
              Rooms.spawn(
                  torch,
                  w -> {
                    if (w.rank() == 0) {
                      CALLS.getOrDefault(expected, x -> {}).accept(w);
                    } else {
                      group(w);
                    }
                  }))
          .isInstanceOf(SpawnException.class)
          .hasMessageContaining("rank 0: ")
          .hasMessageContaining(expected);
    }
  }

  /** The world's methods are those of the group of all. */
  @Test
  void world_everyMethod_movesWhatTheGroupWould() {
    try (Torch torch = Rooms.ring(2, Mode.FULL)) {
      Rooms.spawn(
          torch,
          w -> {
            Distributed d = w.distributed();
            Tensor whole = w.torch().full(Shape.of(2, 1), DType.F32, w.rank() + 1, "whole");
            Tensor part = w.torch().full(Shape.of(1, 1), DType.F32, 10 + w.rank(), "part");
            if (w.rank() == 0) {
              d.gather(whole, part, 0);
              assertThat(whole.toFloats()).containsExactly(10, 11);
              d.scatter(part, whole, 0);
              d.send(part, 1);
            } else {
              d.gather(part, 0);
              d.scatter(part, 0);
              assertThat(part.toFloats()).containsExactly(11);
              d.recv(part, 0);
            }
            assertThat(part.toFloats()).containsExactly(10);
            Tensor sent = w.torch().full(Shape.of(2, 1), DType.F32, w.rank() + 1, "sent");
            d.allToAll(whole, sent, List.of(1, 1), List.of(1, 1));
            assertThat(whole.toFloats()).containsExactly(1, 2);
            assertThat(d.algorithm()).isEqualTo("ring");
          });
    }
  }

  @Test
  void collective_inTheHostProgram_saysWhereItBelongs() {
    try (Torch torch = Rooms.ring(2, Mode.TIME)) {
      torch.distributed().initProcessGroup("ahbm");
      Tensor t = torch.zeros(Shape.of(2), DType.F32, "t");
      assertThatThrownBy(() -> torch.distributed().allReduce(t))
          .hasMessageContaining("in the host program, which is no rank");
    }
  }
}
