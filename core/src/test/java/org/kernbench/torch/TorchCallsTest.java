package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.placement.ShardSpec;

/** What a host program may ask of Torch besides tensors on one PE. */
final class TorchCallsTest {
  private static final Pe LEAD = new Pe(0, 0, 0);

  @TempDir private Path folder;

  private static Torch tiny(Mode mode) {
    return Torch.open(Machines.load("tiny", List.of()), TorchOptions.DEFAULT.withMode(mode));
  }

  private static double[] upTo(int n) {
    double[] values = new double[n];
    for (int i = 0; i < n; i++) {
      values[i] = i;
    }
    return values;
  }

  /** Some time on the PEs. */
  private static Kernel sleeping(long ns) {
    return tl -> tl.elapse(1000 * ns);
  }

  // ---- files ----

  @Test
  void archive_holdsTensorsByName_andBringsThemBack() {
    Path file = folder.resolve("all.npz");
    DpPolicy rows = DpPolicy.parse("cube=row_wise pe=row_wise");
    try (Torch torch = tiny(Mode.FULL)) {
      Tensor a = torch.from(upTo(12), Shape.of(4, 3), DType.F32, rows, "a");
      Tensor b = torch.from(upTo(3), Shape.of(3), DType.F64, "b");
      torch.saveAll(file, List.of(b, a));

      Map<String, Tensor> loaded = torch.loadAll(file, rows);

      assertThat(loaded.keySet()).containsExactly("b", "a");
      assertThat(loaded.get("a").toDoubles()).isEqualTo(upTo(12));
      assertThat(loaded.get("a").dtype()).isEqualTo(DType.F32);
      assertThat(loaded.get("a").shape()).isEqualTo(Shape.of(4, 3));
      assertThat(loaded.get("a").shardSpecs()).isEqualTo(a.shardSpecs());
      assertThat(loaded.get("b").toDoubles()).isEqualTo(upTo(3));
      assertThatThrownBy(() -> torch.saveAll(file, List.of(a, a)))
          .isInstanceOf(SimulationException.class)
          .hasMessage("saveAll to " + file + ": two tensors are named a; expected one each");
      assertThatThrownBy(() -> torch.saveAll(folder.resolve("no/where.npz"), List.of(a)))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("tensors cannot be saved to " + folder.resolve("no/where.npz"));
      assertThatThrownBy(() -> torch.loadAll(folder.resolve("none.npz"), rows))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("none.npz cannot be loaded: ")
          .hasMessageEndingWith("; expected an .npz file as numpy.savez writes it");
    }
    try (Torch torch = tiny(Mode.TIME)) {
      assertThat(torch.loadAll(file, rows).get("a").shape()).isEqualTo(Shape.of(4, 3));
    }
    assertThat(Files.exists(file)).isTrue();
  }

  // ---- tensors ----

  /** In mode time nobody computes what nobody looks at. */
  @Test
  void valuesOfASupplier_areAskedForWhereThereAreAny() {
    List<String> asked = new ArrayList<>();
    for (Mode mode : Mode.values()) {
      try (Torch torch = tiny(mode)) {
        Tensor t =
            torch.from(
                () -> {
                  asked.add(mode.name());
                  return upTo(6);
                },
                Shape.of(6),
                DType.F32,
                "t");
        assertThat(t.shape()).isEqualTo(Shape.of(6));
        if (mode != Mode.TIME) {
          assertThat(t.toDoubles()).isEqualTo(upTo(6));
        }
      }
    }
    assertThat(asked).containsExactlyInAnyOrder("FULL", "VALUES");
  }

  @Test
  void emptyLike_liesAsTheOther_inItsOwnType() {
    try (Torch torch = tiny(Mode.FULL)) {
      DpPolicy columns = DpPolicy.parse("cube=column_wise pe=replicate");
      Tensor other = torch.zeros(Shape.of(3, 8), DType.F32, columns, "other");

      Tensor like = torch.emptyLike(other, DType.F16, "like");

      assertThat(like.shardSpecs()).isEqualTo(other.shardSpecs());
      assertThat(like.shape()).isEqualTo(other.shape());
      assertThat(like.dtype()).isEqualTo(DType.F16);
      assertThat(like.name()).isEqualTo("like");
    }
  }

  /** Any stretch of a tensor that lies in order is its elements, each held where it was. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "cube=row_wise pe=row_wise",
        "cube=replicate pe=row_wise",
        "cube=row_wise pe=replicate",
        "cube=replicate pe=replicate"
      })
  void view_hasTheElements_whereTheyWere(String placement) {
    try (Torch torch = tiny(Mode.FULL)) {
      DpPolicy policy = DpPolicy.parse(placement);
      Tensor all = torch.from(upTo(48), Shape.of(16, 3), DType.F32, policy, "all");
      Map<Pe, BitSet> held = elements(all, 0, 48);
      for (int start = 0; start < 48; start += 5) {
        for (int rows : new int[] {0, 1, 2, 5}) {
          int count = Math.min(2 * rows, 48 - start) / 2 * 2;
          Tensor view = all.view(start, Shape.of(count / 2, 2), "view");

          double[] expected = new double[count];
          for (int i = 0; i < count; i++) {
            expected[i] = start + i;
          }
          assertThat(view.toDoubles()).isEqualTo(expected);
          Map<Pe, BitSet> viewed = elements(view, start, 48);
          for (Pe pe : held.keySet()) {
            BitSet both = new BitSet();
            both.set(start, start + count);
            both.and(held.get(pe));
            assertThat(viewed.getOrDefault(pe, new BitSet()))
                .as("%s + %s on %s", start, count, pe)
                .isEqualTo(both);
          }
        }
      }
    }
  }

  /** Which elements each PE holds, by {@link Tensor#runs} and by the shards, which must agree. */
  private static Map<Pe, BitSet> elements(Tensor t, int from, int most) {
    Map<Pe, BitSet> byRuns = new java.util.HashMap<>();
    t.runs()
        .forEach((pe, runs) ->
            runs.forEach(run ->
                byRuns
                    .computeIfAbsent(pe, p -> new BitSet(most))
                    .set(from + run.start(), from + run.start() + run.count())));
    Map<Pe, BitSet> byShards = new java.util.HashMap<>();
    for (ShardSpec spec : t.shardSpecs()) {
      int first = from + (int) spec.firstIn(t.shape());
      int count = (int) spec.shape().elements();
      if (count > 0) {
        byShards.computeIfAbsent(spec.place(), p -> new BitSet(most)).set(first, first + count);
      }
    }
    assertThat(byRuns).isEqualTo(byShards);
    return byRuns;
  }

  @Test
  void runs_bringEveryByteOnce() {
    try (Torch torch = tiny(Mode.FULL)) {
      DpPolicy rows = DpPolicy.parse("cube=row_wise pe=row_wise");
      int n = 3 * (1 << 18) / 4 + 1000; // parts of one piece and of more
      Tensor t = torch.from(upTo(n), Shape.of(n), DType.F32, rows, "t");
      byte[] expected = t.toBytes();
      byte[] got = new byte[expected.length];
      boolean[] seen = new boolean[expected.length];

      assertThat(t.isInRuns()).isTrue();
      t.toRuns((position, bytes, count) -> {
        for (int i = 0; i < count; i++) {
          int at = (int) position + i;
          assertThat(seen[at]).isFalse();
          seen[at] = true;
          got[at] = bytes[i];
        }
      });

      assertThat(got).isEqualTo(expected);
      Tensor columns =
          torch.zeros(Shape.of(4, 8), DType.F32, DpPolicy.parse("cube=column_wise"), "c");
      assertThat(columns.isInRuns()).isFalse();
    }
  }

  // ---- launches ----

  @Test
  void launchAfter_startsWhenAllOfTheOthersAreDone() {
    try (Torch torch = tiny(Mode.TIME)) {
      List<Pe> elsewhere = List.of(new Pe(0, 1, 0));
      Launch first = torch.launch("first", sleeping(300), List.of(LEAD));
      Launch second = torch.launchAfter("second", sleeping(500), elsewhere, List.of());
      Launch third =
          torch.launchAfter(
              "third", sleeping(10), List.of(new Pe(0, 2, 0)), List.of(first, second));
      torch.synchronize();

      assertThat(second.startPs()).isLessThan(first.endPs());
      assertThat(third.startPs()).isGreaterThanOrEqualTo(Math.max(first.endPs(), second.endPs()));
      assertThat(third.criticalPs()).isBetween(10_000L, 20_000L);
    }
  }

  @Test
  void await_ofATensor_isForItsKernels_andNoOther() {
    try (Torch torch = tiny(Mode.TIME)) {
      Tensor a = torch.zeros(Shape.of(8), DType.F32, "a");
      Launch of = torch.launch("of a", sleeping(200), a);
      Launch other =
          torch.launchAfter("other", sleeping(9000), List.of(new Pe(0, 3, 1)), List.of());

      a.close();
      torch.await(a);

      assertThat(of.isDone()).isTrue();
      assertThat(other.isDone()).isFalse();
      torch.await(other);
      assertThat(other.isDone()).isTrue();
    }
  }

  @Test
  void memory_thatCanBeDoneWithout_isAskedForOnce_whenThereIsNone() {
    try (Torch torch = tiny(Mode.TIME)) {
      long slice = torch.memory().sliceBytes();
      Tensor spare = torch.empty(Shape.of((int) (slice / 2)), DType.I8, "spare");
      int[] asked = new int[1];
      torch.givesBack(() -> {
        asked[0]++;
        spare.close();
      });
      assertThat(torch.hasGivenBack()).isFalse();

      Tensor large = torch.empty(Shape.of((int) (slice / 2 + 64)), DType.I8, "large");

      assertThat(asked[0]).isEqualTo(1);
      assertThat(torch.hasGivenBack()).isTrue();
      assertThat(torch.memory().byTensor().keySet()).isEqualTo(Set.of("large"));
      assertThat(torch.memory().mostBytes()).isBetween(slice / 2 + 64, slice / 2 + 128);
      assertThatThrownBy(() -> torch.empty(Shape.of((int) (slice / 2)), DType.I8, "too much"))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("too much");
      assertThat(asked[0]).isEqualTo(1);
      large.close();
    }
  }

  // ---- collectives ----

  @Test
  void history_saysWhatCollectivesDid() {
    try (Torch torch = Rooms.ring(3, Mode.FULL)) {
      Rooms.spawn(
          torch,
          w -> {
            Tensor t = w.torch().full(Shape.of(4, 2), DType.F16, w.rank(), "sum" + w.rank());
            w.distributed().allReduce(t, ReduceKind.MAX);
            assertThat(t.toDoubles()).containsOnly(2);
          });
      assertThat(torch.distributed().history()).hasSize(1);
      CollectiveRun run = torch.distributed().history().getFirst();

      assertThat(run.group()).isEqualTo("world");
      assertThat(run.ranks()).containsExactly(0, 1, 2);
      assertThat(run.op()).isEqualTo(CollectiveOp.ALL_REDUCE);
      assertThat(run.reduce()).isEqualTo(ReduceKind.MAX);
      assertThat(run.dtype()).isEqualTo(DType.F16);
      assertThat(run.elements()).isEqualTo(8);
      assertThat(run.bytes()).isEqualTo(16);
      assertThat(run.lanes()).isEqualTo(1);
      assertThat(run.algorithm()).isEqualTo("ring");
      assertThat(run.result()).isEqualTo("sum0");
      assertThat(run.durationPs()).isPositive().isEqualTo(run.endPs() - run.startPs());
      assertThat(run.startPs()).isEqualTo(run.launch().startPs());
      assertThat(run.durationPs()).isEqualTo(run.launch().criticalPs());
      assertThat(run.exposedPs()).isEqualTo(run.durationPs());
      assertThat(run.hiddenPs()).isZero();
      assertThat(run.queues()).isEqualTo(run.queueSet().plan());
      assertThat(run).hasToString("allReduce of 16 B in group world (ring)");
    }
  }

  /** A kernel that runs all the while on every rank hides the whole collective. */
  @Test
  void collective_beside_aLongKernel_isHidden() {
    try (Torch torch = Rooms.ring(2, Mode.TIME)) {
      Rooms.spawn(
          torch,
          w -> {
            Tensor busy = w.torch().zeros(Shape.of(1), DType.F32, "busy");
            Tensor t = w.torch().zeros(Shape.of(8), DType.F32, "t");
            w.torch().launch("long", sleeping(1_000_000), busy);
            Work work = w.distributed().allReduceAsync(t, ReduceKind.SUM);
            work.await();
          });
      torch.synchronize();
      CollectiveRun run = torch.distributed().history().getFirst();

      assertThat(run.durationPs()).isLessThan(1_000_000_000L);
      assertThat(run.exposedPs()).isZero();
      assertThat(run.hiddenPs()).isEqualTo(run.durationPs());
    }
  }
}
