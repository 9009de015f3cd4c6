package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Value;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.placement.DpPolicy.Split;
import org.kernbench.torch.placement.OutOfHbmException;

final class TensorTest {
  private final Torch torch = Runtimes.open(Runtimes.tiny());

  @AfterEach
  void close() {
    torch.close();
  }

  private static double[] upTo(int n) {
    double[] values = new double[n];
    for (int i = 0; i < n; i++) {
      values[i] = i;
    }
    return values;
  }

  /** Where the shard at a PE really lies. */
  private PhysicalAddress placeOf(Tensor t, Pe pe) {
    var at = (VirtualAddress) t.shardOn(pe).orElseThrow().address();
    return torch.simulator().translate(pe, at);
  }

  @Test
  void from_everyPlacement_readsBackWhatWasWritten() {
    for (Split cube : Split.values()) {
      for (Split pe : Split.values()) {
        Shape shape = Shape.of(5, 3, 7);
        Tensor t = torch.from(upTo(105), shape, DType.I32, DpPolicy.of(cube, pe), "t");
        assertThat(t.toDoubles()).as("%s %s", cube, pe).containsExactly(upTo(105));
        assertThat(t.get(4, 1, 6)).isEqualTo((4 * 3 + 1) * 7 + 6);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void full_everyType_roundsToTheType(DType type) {
    Tensor t = torch.full(Shape.of(3), type, 1, "ones");
    assertThat(t.toDoubles()).containsExactly(1, 1, 1);
    assertThat(t.toFloats()).containsExactly(1, 1, 1);
  }

  @Test
  void from_floats_roundedToNearestEven() {
    // f16 has 11 significant bits: 2049 is a tie between 2048 and 2050
    Tensor t = torch.from(new float[] {2049f, 2051f}, Shape.of(2), DType.F16, "t");
    assertThat(t.toFloats()).containsExactly(2048f, 2052f);
  }

  @Test
  void shards_rowWise_lieInTheSliceOfTheirPe() {
    Tensor t = torch.from(upTo(16), Shape.of(8, 2), DType.F32, DpPolicy.rowWise(), "t");
    Pe last = new Pe(0, 3, 1);
    assertThat(t.shardOn(last).orElseThrow().shape()).isEqualTo(Shape.of(1, 2));
    assertThat(placeOf(t, last)).isEqualTo(torch.machine().addresses().hbm(last, 0));
    assertThat(t.shardOn(new Pe(0, 0, 0))).isPresent();
  }

  @Test
  void launch_onShards_runsWhereTheyLieAndReadsWait() {
    Tensor t = torch.from(upTo(8), Shape.of(8), DType.F32, DpPolicy.rowWise(), "t");
    Kernel twice = tl -> tl.store(t, tl.load(t).mul(2));
    Launch launch = torch.launch("twice", twice, t);
    assertThat(launch.isDone()).isFalse();
    assertThat(launch.pes()).hasSize(8);
    assertThat(t.toDoubles()).containsExactly(0, 2, 4, 6, 8, 10, 12, 14);
    assertThat(launch.isDone()).isTrue();
    assertThat(torch.simulator().nowPs()).isPositive();
  }

  /** The example in the documentation of {@link Torch}. */
  @Test
  void torch_exampleOfItsDocumentation_givesTwo() {
    Tensor x = torch.full(Shape.of(64, 64), DType.F16, 1, DpPolicy.rowWise(), "x");
    torch.launch("twice", tl -> tl.store(x, tl.load(x).mul(2)), x);
    assertThat(x.get(0, 0)).isEqualTo(2);
  }

  @Test
  void launch_raggedAndEmptyShards_computesEveryElementOnce() {
    Tensor t = torch.from(upTo(21), Shape.of(3, 7), DType.F32, DpPolicy.columnWise(), "t");
    torch.launch("inc", tl -> tl.store(t, tl.load(t).add(1)), t);
    double[] expected = upTo(21);
    for (int i = 0; i < 21; i++) {
      expected[i] += 1;
    }
    assertThat(t.toDoubles()).containsExactly(expected);
  }

  @Test
  void read_unrelatedKernelUnderWay_doesNotWaitForIt() {
    Tensor a = torch.zeros(Shape.of(4), DType.F32, "a");
    Tensor b = torch.zeros(Shape.of(4), DType.F32, "b");
    Launch launch = torch.launch("one", tl -> tl.store(a, tl.load(a).add(1)), a);
    assertThat(b.toDoubles()).containsExactly(0, 0, 0, 0);
    b.copyInPlace(new float[] {1, 2, 3, 4});
    assertThat(launch.isDone()).isFalse();
    assertThat(a.toDoubles()).containsExactly(1, 1, 1, 1);
  }

  @Test
  void read_kernelLaunchedByPlace_waitsForIt() {
    Tensor a = torch.zeros(Shape.of(4), DType.F32, "a");
    torch.launch("one", tl -> tl.store(a, tl.load(a).add(1)), List.of(new Pe(0, 0, 0)));
    assertThat(a.get(3)).isEqualTo(1);
  }

  @Test
  void kernel_tensorItWasNotGiven_isRefused() {
    Tensor a = torch.zeros(Shape.of(4), DType.F32, "a");
    Tensor b = torch.zeros(Shape.of(4), DType.F32, "b");
    torch.launch("copy", tl -> tl.store(b, tl.load(a)), a);
    assertThatThrownBy(a::toFloats)
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("kernel copy at sip0.cube0.pe0 uses tensor b")
        .hasMessageContaining("pass it to launch");
  }

  @Test
  void copyInPlace_kernelStillReadsTheTarget_kernelSeesTheOldValues() {
    Tensor a = torch.full(Shape.of(4), DType.F32, 1, "a");
    Tensor out = torch.zeros(Shape.of(4), DType.F32, "out");
    torch.launch("copy", tl -> tl.store(out, tl.load(a)), a, out);
    a.copyInPlace(new float[] {9, 9, 9, 9});
    assertThat(out.toDoubles()).containsExactly(1, 1, 1, 1);
    assertThat(a.toDoubles()).containsExactly(9, 9, 9, 9);
  }

  @Test
  void copyInPlace_otherTypeAndPlacement_copiesValues() {
    Tensor a = torch.from(upTo(6), Shape.of(2, 3), DType.F32, DpPolicy.columnWise(), "a");
    Tensor b = torch.zeros(Shape.of(2, 3), DType.F16, DpPolicy.replicate(), "b");
    assertThat(b.copyInPlace(a).toDoubles()).containsExactly(upTo(6));
    // a host write reaches every copy
    Tensor out = torch.zeros(Shape.of(8, 2, 3), DType.F16, DpPolicy.rowWise(), "out");
    torch.launch("copies", tl -> tl.store(out, tl.load(b).reshape(1, 2, 3)), b, out);
    assertThat(out.toDoubles()).containsSequence(upTo(6)).hasSize(48);
    assertThat(out.get(7, 1, 2)).isEqualTo(5);
  }

  @Test
  void copyInPlace_otherShape_isAnError() {
    Tensor a = torch.zeros(Shape.of(4), DType.F32, "a");
    Tensor b = torch.zeros(Shape.of(2, 2), DType.F32, "b");
    assertThatThrownBy(() -> a.copyInPlace(b))
        .isInstanceOf(ShapeException.class)
        .hasMessageContaining("source b has shape [2, 2], target a has [4]");
    assertThatThrownBy(() -> a.copyInPlace(new float[3])).hasMessageContaining("got 3 values");
  }

  @Test
  void close_givesMemoryBackOnlyWhenNoKernelUsesIt() {
    long bytes = torch.machine().hbm().sizeBytes();
    int n = (int) (bytes / 2 / 4);
    Tensor half = torch.empty(Shape.of(n), DType.F32, "half");
    Tensor small = torch.zeros(Shape.of(4), DType.F32, "small");
    Launch launch =
        torch.launch(
            "late", tl -> tl.store(small, tl.load(tl.shard(half).range(0, 4))), half, small);
    half.close();
    assertThat(launch.isDone()).isFalse();
    Tensor other = torch.empty(Shape.of(n), DType.F32, "other"); // waits for the kernel (ADR 0202)
    assertThat(launch.isDone()).isTrue();
    assertThatThrownBy(() -> torch.empty(Shape.of(n), DType.F32, "third"))
        .isInstanceOf(OutOfHbmException.class)
        .hasMessageContaining("largest: other");
    other.close();
    assertThatThrownBy(half::toFloats)
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("half, which is closed");
    half.close();
  }

  @Test
  void allocate_secondShardDoesNotFit_firstIsGivenBack() {
    long n = torch.machine().hbm().sizeBytes() / 4;
    torch.ahbm().setDevice(0);
    DpPolicy twoPes = DpPolicy.of(Split.REPLICATE, Split.ROW_WISE).withCubes(1);
    Tensor onSecond = torch.empty(Shape.of(2, 1), DType.F32, twoPes, "pair");
    Shape big = Shape.of((int) (n - 16));
    Tensor first = torch.empty(big, DType.F32, "first");
    assertThatThrownBy(() ->
            torch.empty(
                Shape.of(2, 64),
                DType.F32,
                DpPolicy.of(Split.REPLICATE, Split.REPLICATE).withCubes(1),
                "copies"))
        .isInstanceOf(OutOfHbmException.class);
    first.close();
    onSecond.close();
    torch.empty(Shape.of((int) n), DType.F32, "everything").close();
  }

  @Test
  void npy_roundTrip_sameShapeTypeValues(@TempDir Path dir) {
    Tensor a = torch.from(upTo(6), Shape.of(2, 3), DType.F16, DpPolicy.columnWise(), "a");
    a.save(dir.resolve("a.npy"));
    Tensor b = torch.load(dir.resolve("a.npy"), "b");
    assertThat(b.dtype()).isEqualTo(DType.F16);
    assertThat(b.shape()).isEqualTo(Shape.of(2, 3));
    assertThat(b.toDoubles()).containsExactly(upTo(6));
  }

  @Test
  void npz_roundTrip_sameTensorsByName(@TempDir Path dir) {
    Tensor w = torch.from(upTo(6), Shape.of(2, 3), DType.F32, DpPolicy.columnWise(), "w");
    Tensor step = torch.full(Shape.of(), DType.I64, 1L << 40, "step");
    torch.saveAll(dir.resolve("checkpoint.npz"), List.of(w, step));
    var read = torch.loadAll(dir.resolve("checkpoint.npz"), DpPolicy.replicate());
    assertThat(read.keySet()).containsExactly("w", "step");
    assertThat(read.get("w").toDoubles()).containsExactly(upTo(6));
    assertThat(read.get("w").shards()).hasSize(8);
    assertThat(read.get("step").dtype()).isEqualTo(DType.I64);
    assertThat(read.get("step").get()).isEqualTo(1L << 40);
    assertThatThrownBy(() -> torch.saveAll(dir.resolve("two.npz"), List.of(w, w)))
        .hasMessageContaining("two tensors are named w");
    assertThatThrownBy(() -> torch.loadAll(dir.resolve("none.npz"), DpPolicy.single()))
        .hasMessageContaining("none.npz cannot be loaded: no such file");
  }

  @Test
  void npy_noSuchFileAndNoSuchType_areUserErrors(@TempDir Path dir) {
    assertThatThrownBy(() -> torch.load(dir.resolve("none.npy"), "x"))
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("none.npy cannot be loaded")
        .hasMessageContaining("no such file");
    Tensor t = torch.zeros(Shape.of(1), DType.BF16, "t");
    assertThatThrownBy(() -> t.save(dir.resolve("t.npy")))
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("tensor t cannot be saved");
  }

  @Test
  void get_outOfRange_namesTensorIndexAndShape() {
    Tensor t = torch.zeros(Shape.of(2, 3), DType.F32, "t");
    assertThatThrownBy(() -> t.get(2, 0))
        .isInstanceOf(ShapeException.class)
        .hasMessageContaining("tensor t: index [2, 0] is out of range for shape [2, 3]");
    assertThatThrownBy(() -> t.get(0)).isInstanceOf(ShapeException.class);
  }

  @Test
  void closed_everyUse_isRefusedByItsName() {
    Tensor gone = torch.empty(Shape.of(2), DType.F32, "gone");
    Tensor here = torch.zeros(Shape.of(2), DType.F32, "here");
    gone.close();
    Map<String, Runnable> uses = new LinkedHashMap<>();
    uses.put("view", () -> gone.view(0, Shape.of(1), "part"));
    uses.put("copyInPlace", () -> gone.copyInPlace(here));
    uses.put("copyInPlace from", () -> here.copyInPlace(gone));
    uses.put("copyInPlace ", () -> gone.copyInPlace(new float[2]));
    uses.put("copyInPlace  ", () -> gone.copyInPlace(new double[2]));
    uses.put("copyInPlace   ", () -> gone.copyInPlace(new byte[8]));
    uses.put(
        "copyInPlace    ",
        () -> gone.copyInPlace(java.lang.foreign.MemorySegment.ofArray(new byte[8])));
    uses.put("fillInPlace", () -> gone.fillInPlace(1));
    uses.put("toMemory", () -> gone.toMemory(java.lang.foreign.MemorySegment.ofArray(new byte[8])));
    uses.put("get", () -> gone.get(0));

    uses.forEach((name, use) ->
        assertThatThrownBy(use::run)
            .as(name)
            .isInstanceOf(SimulationException.class)
            .hasMessage(
                name.strip() + " of tensor gone, which is closed; use it before it is closed"));
    assertThat(here.toDoubles()).containsExactly(0, 0);
  }

  @Test
  void toString_upToSixtyFour_showsAll() {
    String all = java.util.Arrays.toString(upTo(64));
    assertThat(torch.from(upTo(64), Shape.of(64), DType.I32, DpPolicy.replicate(), "a"))
        .hasToString("Tensor(a, i32[64], " + all + ")");
    assertThat(torch.from(upTo(65), Shape.of(65), DType.I32, DpPolicy.replicate(), "b"))
        .hasToString("Tensor(b, i32[65], [0.0, 1.0, 2.0, …, 62.0, 63.0, 64.0])");
  }

  @Test
  void toString_showsValues() {
    assertThat(torch.from(upTo(3), Shape.of(3), DType.F32, "x"))
        .hasToString("Tensor(x, f32[3], [0.0, 1.0, 2.0])");
    assertThat(torch.from(upTo(100), Shape.of(100), DType.I32, "y"))
        .hasToString("Tensor(y, i32[100], [0.0, 1.0, 2.0, …, 97.0, 98.0, 99.0])");
    assertThat(torch.empty(Shape.of(0), DType.I32, "z")).hasToString("Tensor(z, i32[0], [])");
    assertThat(torch.full(Shape.of(), DType.F32, 7, "s")).hasToString("Tensor(s, f32[], [7.0])");
  }

  @Test
  void timeMode_tensorsHaveNoValues() {
    try (Torch timed = Torch.open(Runtimes.tiny(), TorchOptions.DEFAULT.withMode(Mode.TIME))) {
      Tensor a = timed.full(Shape.of(4), DType.F32, 1, "a");
      Tensor b = timed.zeros(Shape.of(4), DType.F32, "b").copyInPlace(a);
      timed.launch("add", tl -> tl.store(b, tl.load(b).add(tl.load(a))), a, b);
      timed.synchronize();
      assertThat(timed.simulator().nowPs()).isPositive();
      assertThat(b).hasToString("Tensor(b, f32[4])");
      assertThatThrownBy(b::toFloats)
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("mode time");
    }
  }

  /**
   * As on one stream: a kernel sees what earlier ones wrote, also from PEs that it does not use.
   */
  @Test
  void launch_earlierKernelWritesFromAnotherPe_startsAfterIt() {
    DpPolicy two = DpPolicy.of(Split.REPLICATE, Split.ROW_WISE).withCubes(1);
    for (Mode mode : List.of(Mode.FULL, Mode.VALUES)) {
      try (Torch t = Torch.open(Runtimes.tiny(), TorchOptions.DEFAULT.withMode(mode))) {
        Tensor target = t.zeros(Shape.of(4), DType.F32, "target");
        Tensor out = t.zeros(Shape.of(4), DType.F32, "out");
        Tensor pair = t.full(Shape.of(2, 4), DType.F32, 1, two, "pair");
        Slice remote = target.shards().getFirst().all();
        Kernel slowRemoteWrite =
            tl -> {
              if (tl.programId(0) == 1) {
                Value v = tl.load(pair).reshape(4);
                for (int i = 0; i < 50; i++) {
                  v = v.add(1);
                }
                tl.store(remote, v);
              }
            };
        t.launch("write", slowRemoteWrite, target, pair);
        t.launch("read", tl -> tl.store(out, tl.load(target)), target, out);
        assertThat(out.toDoubles()).containsExactly(51, 51, 51, 51);
      }
    }
  }

  @Test
  void launch_samePes_isEnqueuedWithoutWaiting() {
    Tensor a = torch.zeros(Shape.of(8), DType.F32, DpPolicy.rowWise(), "a");
    Launch first = torch.launch("one", tl -> tl.store(a, tl.load(a).add(1)), a);
    Launch second = torch.launch("two", tl -> tl.store(a, tl.load(a).mul(3)), a);
    assertThat(first.isDone()).isFalse();
    assertThat(second.enqueuedPs()).isEqualTo(first.enqueuedPs());
    assertThat(a.toDoubles()).containsOnly(3);
  }

  @Test
  void fullAndTime_sameProgram_sameOpLog() {
    String[] hashes = new String[2];
    for (Mode mode : List.of(Mode.FULL, Mode.TIME)) {
      try (Torch t = Torch.open(Runtimes.tiny(), TorchOptions.DEFAULT.withMode(mode))) {
        Tensor a = t.full(Shape.of(64, 8), DType.F32, 1, DpPolicy.rowWise(), "a");
        t.launch("twice", tl -> tl.store(a, tl.load(a).mul(2)), a);
        t.launch("again", tl -> tl.store(a, tl.load(a).mul(2)), a);
        t.synchronize();
        hashes[mode.ordinal()] = t.simulator().opLog().hash();
      }
    }
    assertThat(hashes[0]).isEqualTo(hashes[1]);
  }

  @Test
  void empty_readBeforeWritten_saysWhichElement() {
    Tensor t = torch.empty(Shape.of(4, 2), DType.F32, DpPolicy.rowWise().withCubes(2), "t");
    assertThatThrownBy(t::toFloats)
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("tensor t: element [0, 0] at sip0.cube0.pe0 is read before");
    torch.launch(
        "half",
        tl -> {
          if (tl.programId(1) == 0) {
            tl.store(t, tl.full(Shape.of(1, 2), 5, DType.F32));
          }
        },
        t);
    assertThat(t.get(1, 1)).isEqualTo(5);
    assertThat(t).hasToString("Tensor(t, f32[4, 2], [5.0, 5.0, 5.0, 5.0, ?, ?, ?, ?])");
    assertThatThrownBy(() -> t.get(3, 1)).hasMessageContaining("element [3, 1] at sip0.cube1.pe1");
    assertThatThrownBy(t::toBytes).hasMessageContaining("element [2, 0] at sip0.cube1.pe0");
  }

  @Test
  void empty_memoryOfAClosedTensor_isNotInitialised() {
    Tensor old = torch.full(Shape.of(3000), DType.F32, 7, "old");
    Pe first = new Pe(0, 0, 0);
    PhysicalAddress place = placeOf(old, first);
    old.close();
    Tensor t = torch.empty(Shape.of(3000), DType.F32, "t");
    assertThat(placeOf(t, first)).isEqualTo(place);
    assertThatThrownBy(() -> t.get(2999)).hasMessageContaining("is read before anything was");
  }

  @Test
  void read_replicas_firstCopyShows() {
    Tensor t = torch.empty(Shape.of(2), DType.F32, DpPolicy.replicate(), "t");
    torch.launch(
        "first",
        tl -> {
          if (tl.programId(0) == 0 && tl.programId(1) == 0) {
            tl.store(t, tl.full(Shape.of(2), 3, DType.F32));
          }
        },
        t);
    assertThat(t.toDoubles()).containsExactly(3, 3);
  }

  @Test
  void kernel_readsLikeAHost_isRefused() {
    Tensor a = torch.zeros(Shape.of(1), DType.F32, "a");
    torch.launch("peek", tl -> a.get(0), a);
    assertThatThrownBy(torch::synchronize)
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("from inside a kernel");
    assertThatThrownBy(() -> torch.launch("next", tl -> {}, a))
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("the simulation has stopped after an error");
  }

  @Test
  void address_shardsFollowOneAnotherAndReplicasShareThem() {
    Tensor t = torch.from(upTo(7), Shape.of(7), DType.F32, DpPolicy.rowWise(), "t");
    long at = t.address().value();
    for (int i = 0; i < 8; i++) {
      assertThat(t.shards().get(i).address().value()).isEqualTo(at);
      at += t.shards().get(i).shape().elements() * 4;
    }
    assertThat(at - t.address().value()).isEqualTo(t.sizeBytes());
    DpPolicy copies = DpPolicy.of(Split.REPLICATE, Split.ROW_WISE);
    Tensor r = torch.from(upTo(7), Shape.of(7), DType.F32, copies, "r");
    assertThat(r.shards().get(6).address()).isEqualTo(r.shards().get(0).address());
    assertThat(r.shards().get(7).address()).isEqualTo(r.address().plus(16));
    assertThat(r.address().value()).isGreaterThanOrEqualTo(t.address().value() + t.sizeBytes());
  }

  @Test
  void setDevice_outOfRange_saysTheRange() {
    assertThatThrownBy(() -> torch.ahbm().setDevice(1))
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("setDevice: got 1; expected 0 to 0");
  }

  // ---- views ----

  @Test
  void view_writesAndReads_shareTheMemory() {
    Tensor flat = torch.from(upTo(12), Shape.of(12), DType.F32, "flat");
    Tensor matrix = flat.view(4, Shape.of(2, 3), "matrix");
    assertThat(matrix.toDoubles()).containsExactly(4, 5, 6, 7, 8, 9);
    assertThat(matrix.get(1, 0)).isEqualTo(7);
    matrix.copyInPlace(new double[] {-1, -2, -3, -4, -5, -6});
    torch.launch("twice", tl -> tl.store(flat, tl.load(flat).mul(2)), flat);
    assertThat(matrix.toDoubles()).containsExactly(-2, -4, -6, -8, -10, -12);
    torch.launch("thrice", tl -> tl.store(matrix, tl.load(matrix).mul(3)), matrix);
    assertThat(flat.toDoubles()).containsExactly(0, 2, 4, 6, -6, -12, -18, -24, -30, -36, 20, 22);
    assertThat(matrix.view(3, Shape.of(2), "part").toDoubles()).containsExactly(-24, -30);
  }

  @Test
  void view_closed_keepsTheMemoryOfItsOwner() {
    Tensor flat = torch.from(upTo(6), Shape.of(6), DType.F32, "flat");
    Tensor part = flat.view(1, Shape.of(2), "part");
    Tensor other = flat.view(0, Shape.of(2), "other");
    part.close();
    assertThatThrownBy(part::toDoubles).hasMessageContaining("part, which is closed");
    assertThat(flat.toDoubles()).containsExactly(upTo(6));
    flat.close();
    assertThat(other.isClosed()).isTrue();
    assertThatThrownBy(other::toDoubles).hasMessageContaining("other, which is closed");
  }

  @Test
  void view_outsideOrOfColumns_isRefused() {
    Tensor flat = torch.zeros(Shape.of(6), DType.F32, "flat");
    assertThatThrownBy(() -> flat.view(4, Shape.of(3), "part"))
        .isInstanceOf(ShapeException.class)
        .hasMessageContaining("view part [3] of tensor flat [6] from element 4");
    Tensor spread = torch.zeros(Shape.of(8, 8), DType.F32, DpPolicy.columnWise(), "spread");
    assertThatThrownBy(() -> spread.view(0, Shape.of(3), "part"))
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("view of tensor spread, whose elements do not follow one another");
  }

  /** Any run of a tensor that is spread by rows, counted in any shape, is what the host sees. */
  @Test
  void view_ofRowsOnSeveralPes_sharesTheirMemory() {
    int pes = torch.machine().peCount();
    Tensor rows =
        torch.from(upTo(6 * pes), Shape.of(2 * pes, 3), DType.F32, DpPolicy.rowWise(), "rows");
    Tensor middle = rows.view(4, Shape.of(2, 5), "middle");
    assertThat(middle.toDoubles()).containsExactly(4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
    middle.copyInPlace(new double[] {-4, -5, -6, -7, -8, -9, -10, -11, -12, -13});
    assertThat(rows.get(1, 0)).isEqualTo(3);
    assertThat(rows.get(1, 1)).isEqualTo(-4);
    assertThat(rows.get(4, 1)).isEqualTo(-13);
    assertThat(rows.get(4, 2)).isEqualTo(14);
    assertThat(middle.view(3, Shape.of(3), "end").toDoubles()).containsExactly(-7, -8, -9);
  }
}
