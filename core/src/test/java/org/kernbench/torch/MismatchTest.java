package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Mode;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.ReduceKind;

/**
 * Every operation with everything in which ranks can disagree: each case fails in the call where
 * they disagree, before time moves, and shows what both ranks called, with their lines.
 */
final class MismatchTest {
  private static final int RANKS = 4;
  private static final int ODD = 2;

  /** How a rank calls an operation. */
  private record Variant(DType dtype, int rows, ReduceKind reduce, int root, int shift) {
    static final Variant USUAL = new Variant(DType.F32, 2, ReduceKind.SUM, 1, 0);

    Tensor tensor(Worker w, int rowsTimes, String name) {
      return w.torch().zeros(Shape.of(rows * rowsTimes, 3), dtype, name);
    }
  }

  /** An operation, as one member calls it. */
  private interface Call {
    void by(Worker w, ProcessGroup g, Variant v);
  }

  private static final Map<String, Call> CALLS = new LinkedHashMap<>();

  private static void op(String name, Call call) {
    CALLS.put(name, call);
  }

  private static void sync(String name, BiConsumer<ProcessGroup, Operand> call) {
    op(name, (w, g, v) -> call.accept(g, new Operand(w, v, g.size())));
  }

  /** Tensors of one call. */
  private record Operand(Worker w, Variant v, int p) {
    Tensor part() {
      return v.tensor(w, 1, "part");
    }

    Tensor whole() {
      return v.tensor(w, p, "whole");
    }

    boolean isRoot() {
      return w.rank() == v.root;
    }

    /** Rows by member; with a shift one more for the first, one less for the second. */
    List<Integer> rows() {
      List<Integer> rows = new ArrayList<>();
      for (int i = 0; i < p; i++) {
        rows.add(v.rows + (i == 0 ? v.shift : i == 1 ? -v.shift : 0));
      }
      return rows;
    }

    List<Integer> even() {
      return Collections.nCopies(p, v.rows);
    }
  }

  static {
    sync("allReduce", (g, o) -> g.allReduce(o.part(), o.v.reduce));
    sync("reduce", (g, o) -> g.reduce(o.part(), o.v.root, o.v.reduce));
    sync("reduceScatter", (g, o) -> g.reduceScatter(o.part(), o.whole(), o.v.reduce));
    sync(
        "reduceScatter rows", (g, o) -> g.reduceScatter(o.part(), o.whole(), o.v.reduce, o.rows()));
    sync("allGather", (g, o) -> g.allGather(o.whole(), o.part()));
    sync("allGather rows", (g, o) -> g.allGather(o.whole(), o.part(), o.rows()));
    sync("broadcast", (g, o) -> g.broadcast(o.part(), o.v.root));
    sync(
        "gather",
        (g, o) -> {
          if (o.isRoot()) {
            g.gather(o.whole(), o.part(), o.v.root);
          } else {
            g.gather(o.part(), o.v.root);
          }
        });
    sync(
        "scatter",
        (g, o) -> {
          if (o.isRoot()) {
            g.scatter(o.part(), o.whole(), o.v.root);
          } else {
            g.scatter(o.part(), o.v.root);
          }
        });
    sync("allToAll", (g, o) -> g.allToAll(o.whole(), o.whole()));
    sync("allToAll rows", (g, o) -> g.allToAll(o.whole(), o.whole(), o.even(), o.rows()));
    sync("barrier", (g, o) -> g.barrier());
    sync("allReduceAsync", (g, o) -> g.allReduceAsync(o.part(), o.v.reduce).await());
    sync("allGatherAsync", (g, o) -> g.allGatherAsync(o.whole(), o.part()).await());
    sync(
        "reduceScatterAsync",
        (g, o) -> g.reduceScatterAsync(o.part(), o.whole(), o.v.reduce).await());
    sync("allToAllAsync", (g, o) -> g.allToAllAsync(o.whole(), o.whole()).await());
    op(
        "send and recv",
        (w, g, v) -> { // round the members
          int p = g.size();
          Tensor mine = v.tensor(w, 1, "mine");
          Tensor theirs = v.tensor(w, 1, "theirs");
          int next = g.globalRank((g.rank() + 1) % p);
          int previous = g.globalRank((g.rank() + p - 1) % p);
          g.batchIsendIrecv(List.of(P2POp.isend(mine, next), P2POp.irecv(theirs, previous)))
              .forEach(Work::await);
        });
  }

  private enum Difference {
    OP,
    SHAPE,
    DTYPE,
    REDUCTION,
    ROOT,
    ROWS,
    GROUP,
    ORDER,
    MISSING_RANK
  }

  /** One case. */
  record Case(String op, Difference difference) {
    boolean isPossible() {
      boolean reduces = op.startsWith("allReduce") || op.startsWith("reduce");
      return switch (difference) {
        case OP, GROUP, ORDER, MISSING_RANK -> true;
        case SHAPE, DTYPE -> !op.equals("barrier");
        case REDUCTION -> reduces;
        case ROOT ->
            op.equals("reduce")
                || op.equals("broadcast")
                || op.equals("gather")
                || op.equals("scatter");
        case ROWS -> op.endsWith("rows");
      };
    }
  }

  static Stream<Case> cases() {
    return CALLS.keySet().stream()
        .flatMap(op -> Stream.of(Difference.values()).map(d -> new Case(op, d)))
        .filter(Case::isPossible);
  }

  @Test
  void cases_areAsManyAsTheDocumentSays() {
    assertThat(cases()).hasSize(113);
  }

  @ParameterizedTest
  @MethodSource("cases")
  void ranksDisagree_failInTheSameCallWithBothFingerprints(Case c) {
    List<String> past = new ArrayList<>();
    Call call = CALLS.get(c.op);
    try (Torch torch = Rooms.ring(RANKS + 2, Mode.FULL)) {
      Throwable e =
          catchThrowable(() ->
              Rooms.spawn(
                  torch,
                  w -> {
                    ProcessGroup g = w.distributed().newGroup(0, 1, 2, 3);
                    ProcessGroup twin = w.distributed().newGroup(0, 1, 2, 3);
                    ProcessGroup others = w.distributed().newGroup(4, 5);
                    if (w.rank() >= RANKS) {
                      bystand(w, others, past);
                      return;
                    }
                    if (!c.op.equals("barrier")) { // which waits for the device, so for everybody
                      call.by(w, g, Variant.USUAL);
                    }
                    if (w.rank() == ODD) {
                      odd(c, call, w, g, twin);
                    } else if (c.difference == Difference.ORDER) {
                      call.by(w, g, Variant.USUAL);
                      call.by(w, twin, Variant.USUAL);
                    } else {
                      call.by(w, g, Variant.USUAL);
                    }
                    past.add("rank " + w.rank() + " went on");
                  }));
      assertThat(e).as("%s", c).isInstanceOfAny(SpawnException.class, DeadlockException.class);
      assertThat(past)
          .as("%s: who went on", c)
          .filteredOn(p -> p.contains("went on"))
          .isSubsetOf(mayGoOn(c));
      assertThat(past.size()).as("%s: calls of others meanwhile", c).isLessThan(40);
      if (e instanceof SpawnException) {
        assertThat(e).as("%s", c).hasCauseInstanceOf(CollectiveMismatchException.class);
      }
      String text = e.getMessage();
      assertThat(text).as("%s", c).containsPattern("rank.* 2: ").contains("MismatchTest.java:");
      String method = c.op.split(" ")[0].replace("Async", "");
      assertThat(text.split(method + " #", -1).length - 1)
          .as("%s: times that its method is shown in\n%s", c, text)
          .isGreaterThanOrEqualTo(shownAtLeast(c));
      if (c.difference == Difference.OP) {
        assertThat(text).contains(otherName(c) + " #");
      }
    }
  }

  /** The rank that does not come has nothing to wait for; messages concern their two ends. */
  private static List<String> mayGoOn(Case c) {
    List<String> may = new ArrayList<>();
    if (c.difference == Difference.MISSING_RANK) {
      may.add("rank 2 went on");
    }
    if (c.op.equals("send and recv")) {
      may.add("rank 0 went on");
    }
    return may;
  }

  /** Both ranks called the same method, except where the difference is just that. */
  private static int shownAtLeast(Case c) {
    return switch (c.difference) {
      case OP, MISSING_RANK -> 1;
      case DTYPE, SHAPE, REDUCTION, ROOT, ROWS, GROUP, ORDER -> 2;
    };
  }

  private static String otherName(Case c) {
    return c.op.equals("barrier") ? "broadcast" : "barrier";
  }

  private static void odd(Case c, Call call, Worker w, ProcessGroup g, ProcessGroup twin) {
    Variant u = Variant.USUAL;
    switch (c.difference) {
      case OP -> CALLS.get(otherName(c)).by(w, g, u);
      case SHAPE -> call.by(w, g, new Variant(u.dtype, 3, u.reduce, u.root, 0));
      case DTYPE -> call.by(w, g, new Variant(DType.F16, u.rows, u.reduce, u.root, 0));
      case REDUCTION -> call.by(w, g, new Variant(u.dtype, u.rows, ReduceKind.MAX, u.root, 0));
      case ROOT -> call.by(w, g, new Variant(u.dtype, u.rows, u.reduce, 3, 0));
      case ROWS -> call.by(w, g, new Variant(u.dtype, u.rows, u.reduce, u.root, 1));
      case GROUP -> call.by(w, twin, u);
      case ORDER -> {
        call.by(w, twin, u);
        call.by(w, g, u);
      }
      case MISSING_RANK -> {
        return;
      }
    }
  }

  /** Ranks of another group, which go on for long: nobody may wait for them to find the mistake. */
  private static void bystand(Worker w, ProcessGroup others, List<String> past) {
    Tensor t = w.torch().zeros(Shape.of(8), DType.F32, "t");
    for (int i = 0; i < 1000; i++) {
      others.allReduce(t);
      past.add("call " + i);
    }
  }

  @Test
  void asyncCall_aRankNeverComes_isToldWhenTheSpawnEnds() {
    try (Torch torch = Rooms.ring(3, Mode.FULL)) {
      Throwable e =
          catchThrowable(() ->
              Rooms.spawn(
                  torch,
                  w -> {
                    Tensor t = w.torch().zeros(Shape.of(8), DType.F32, "t");
                    if (w.rank() != 1) {
                      w.distributed().allReduceAsync(t, ReduceKind.SUM);
                    }
                  }));
      assertThat(e)
          .isInstanceOf(CollectiveMismatchException.class)
          .hasMessageContaining("allReduce #0 of group world: f32[8], SUM, at MismatchTest.java:")
          .hasMessageContaining("rank 1 never came");
    }
  }

  @Test
  void isend_nobodyReceives_isToldWhenTheSpawnEnds() {
    try (Torch torch = Rooms.ring(3, Mode.FULL)) {
      Throwable e =
          catchThrowable(() ->
              Rooms.spawn(
                  torch,
                  w -> {
                    if (w.rank() == 0) {
                      w.distributed().isend(w.torch().zeros(Shape.of(8), DType.F32, "t"), 2);
                    }
                  }));
      assertThat(e)
          .isInstanceOf(CollectiveMismatchException.class)
          .hasMessageContaining("rank 0: send #0 to rank 2 of group world: f32[8], at Mismatch")
          .hasMessageContaining("rank 2 never came");
    }
  }

  @Test
  void send_bothSendFirst_deadlockNamesBothAndTheRemedy() {
    try (Torch torch = Rooms.ring(2, Mode.FULL)) {
      Throwable e =
          catchThrowable(() ->
              Rooms.spawn(
                  torch,
                  w -> {
                    Tensor t = w.torch().zeros(Shape.of(8), DType.F32, "t");
                    w.distributed().send(t, 1 - w.rank());
                    w.distributed().recv(t, 1 - w.rank());
                  }));
      assertThat(e)
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("rank 0: send #0 to rank 1")
          .hasMessageContaining("rank 1: send #0 to rank 0")
          .hasMessageContaining("batchIsendIrecv");
    }
  }

  @Test
  void groups_madeInAnotherOrder_isToldAtOnce() {
    try (Torch torch = Rooms.ring(4, Mode.FULL)) {
      Throwable e =
          catchThrowable(() ->
              Rooms.spawn(
                  torch,
                  w -> {
                    boolean odd = w.rank() == 3;
                    w.distributed().newGroup(odd ? List.of(2, 3) : List.of(0, 1));
                    w.distributed().newGroup(odd ? List.of(0, 1) : List.of(2, 3));
                  }));
      assertThat(e)
          .isInstanceOf(SpawnException.class)
          .hasMessageContaining("rank 0: newGroup #0 of group world: [[0, 1]], at MismatchTest")
          .hasMessageContaining("rank 3: newGroup #0 of group world: [[2, 3]], at MismatchTest");
    }
  }

  @Test
  void groups_oneRankMakesNone_isToldAtOnce() {
    try (Torch torch = Rooms.ring(4, Mode.FULL)) {
      Throwable e =
          catchThrowable(() ->
              Rooms.spawn(
                  torch,
                  w -> {
                    if (w.rank() != 2) {
                      w.distributed().newGroup(0, 1);
                    }
                    w.distributed().barrier();
                  }));
      assertThat(e)
          .isInstanceOf(SpawnException.class)
          .hasMessageContaining("rank 0: newGroup #0 of group world")
          .hasMessageContaining("rank 2: barrier #0 of group world");
    }
  }
}
