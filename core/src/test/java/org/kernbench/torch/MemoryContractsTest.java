package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.MachineException;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.placement.DpPolicy.Split;
import org.kernbench.torch.placement.ShardSpec;

/**
 * Bugs that the predecessor had with memory, placement and addresses, each with the test that keeps
 * it away: the name of a test begins with the bug.
 */
final class MemoryContractsTest {
  private static Torch open(Mode mode, String... overrides) {
    Machine machine = Machines.load("tiny", List.of(overrides));
    return Torch.open(machine, TorchOptions.DEFAULT.withMode(mode));
  }

  private static double[] upTo(int n) {
    double[] values = new double[n];
    Arrays.setAll(values, i -> i);
    return values;
  }

  // ---- scratch ----

  /**
   * Data effects were replayed after all kernels had been timed, so a store could write what a
   * later use of the same scratch had left there. Here 64 KiB of scratch serve 32 rounds of two
   * values of 16 KiB each, while stores are under way.
   */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"FULL", "VALUES"})
  void staleScratch_scratchReusedWhileStoresAreUnderWay_storesWhatWasComputed(Mode mode) {
    int rows = 32;
    int n = 4096;
    try (Torch torch = open(mode, "pe.tcm.size=64 KiB", "ipcq.slots=2", "ipcq.slot_size=1 KiB")) {
      Tensor x = torch.from(upTo(rows * n), Shape.of(rows, n), DType.F32, "x");
      Tensor y = torch.empty(Shape.of(rows, n), DType.F32, "y");
      Kernel twice =
          tl -> {
            for (int row = 0; row < rows; row++) {
              try (Scope scope = tl.scope()) {
                Value v = tl.load(tl.shard(x).range(row * n, n));
                tl.store(tl.shard(y).range(row * n, n), v.mul(2));
              }
            }
          };
      torch.launch("twice", twice, x, y);
      torch.launch(
          "clear", tl -> tl.store(tl.shard(x).range(0, n), tl.zeros(Shape.of(n), DType.F32)), x);
      double[] expected = upTo(rows * n);
      for (int i = 0; i < expected.length; i++) {
        expected[i] *= 2;
      }
      assertThat(y.toDoubles()).isEqualTo(expected);
      assertThat(x.get(0, 7)).isZero();
    }
  }

  // ---- coordinates ----

  /**
   * A flat PE index was read as global by some and as local to the package by others. There is
   * none: a shard says package, cube and PE, and a tensor of the second package lies and runs
   * there.
   */
  @Test
  void flatIndexAmbiguity_secondPackage_liesAndRunsThere() {
    assertThat(Arrays.stream(ShardSpec.class.getRecordComponents()).map(RecordComponent::getName))
        .containsExactly("sip", "cube", "pe", "offset", "shape");
    try (Torch torch = open(Mode.FULL, "system.sips.count=2", "system.sips.topology=ring_1d")) {
      torch.ahbm().setDevice(1);
      DpPolicy onePerCube = DpPolicy.of(Split.ROW_WISE, Split.REPLICATE).withPes(1);
      Tensor t = torch.from(upTo(4), Shape.of(4), DType.F32, onePerCube, "t");
      List<Pe> places = List.of(new Pe(1, 0, 0), new Pe(1, 1, 0), new Pe(1, 2, 0), new Pe(1, 3, 0));
      assertThat(t.shardSpecs()).extracting(ShardSpec::place).containsExactlyElementsOf(places);
      Launch launch =
          torch.launch(
              "ids", tl -> tl.store(t, tl.full(Shape.of(1), tl.programId(1), DType.F32)), t);
      assertThat(launch.pes()).isEqualTo(places);
      assertThat(t.toDoubles()).containsExactly(0, 1, 2, 3);
      for (Pe pe : places) {
        Shard shard = t.shardOn(pe).orElseThrow();
        PhysicalAddress at = torch.simulator().translate(pe, (VirtualAddress) shard.address());
        assertThat(torch.machine().addresses().decode(at).nodeId())
            .isEqualTo(torch.machine().hbmNode(pe));
      }
    }
  }

  /**
   * Scalars equal to a dimension of a tensor were replaced by the local one: a head size of 64
   * became 8 because some tensor had 64 rows. What a kernel captures is what it gets.
   */
  @Test
  void scalarRewriting_scalarEqualToADimension_reachesTheKernelUnchanged() {
    int headSize = 64;
    try (Torch torch = open(Mode.FULL)) {
      Tensor t = torch.zeros(Shape.of(64, 2), DType.F32, DpPolicy.rowWise(), "t");
      torch.launch("scale", tl -> tl.store(t, tl.load(t).add(headSize)), t);
      assertThat(t.toDoubles()).containsOnly(64);
      assertThat(t.shards().getFirst().shape()).isEqualTo(Shape.of(8, 2));
    }
  }

  /**
   * Local shapes were computed from the number of cubes of the machine, not of the placement. One
   * function places tensors; kernels take the shape from their shard.
   */
  @Test
  void localShapeOfTheTopology_fewerCubesThanTheMachine_shapesOfThePlacement() {
    try (Torch torch = open(Mode.FULL)) {
      for (int cubes = 1; cubes <= 4; cubes++) {
        DpPolicy some = DpPolicy.rowWise().withCubes(cubes).withPes(1);
        Tensor t = torch.zeros(Shape.of(12, 2), DType.F32, some, "t");
        torch.launch(
            "rows",
            tl -> {
              Shape mine = tl.shard(t).shape();
              tl.store(t, tl.full(mine, mine.dim(0), DType.F32));
            },
            t);
        assertThat(t.toDoubles()).containsOnly(12.0 / cubes);
      }
    }
  }

  // ---- addresses ----

  /**
   * Shards smaller than a page went to the cube of whichever shard was mapped last, 170 ns away.
   * Here shards of 1 to 12 bytes share a page: each lies in its own PE's memory, loads take the
   * time of a local load, and nobody reads another's bytes.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 5, 8, 13, 24, 31})
  void subPageShards_manyShardsInAPage_eachInItsOwnMemory(int elements) {
    try (Torch torch = open(Mode.FULL)) {
      Tensor t = torch.from(upTo(elements), Shape.of(elements), DType.F32, DpPolicy.rowWise(), "t");
      assertThat(t.sizeBytes()).isLessThan(torch.machine().pe().mmu().pageBytes());
      for (ShardSpec spec : t.shardSpecs()) {
        if (spec.shape().elements() > 0) {
          VirtualAddress at = (VirtualAddress) t.shardOn(spec.place()).orElseThrow().address();
          PhysicalAddress place = torch.simulator().translate(spec.place(), at);
          assertThat(torch.machine().addresses().decode(place).nodeId())
              .isEqualTo(torch.machine().hbmNode(spec.place()));
        }
      }
      torch.launch("inc", tl -> tl.store(t, tl.load(t).add(100)), t);
      double[] expected = upTo(elements);
      for (int i = 0; i < elements; i++) {
        expected[i] += 100;
      }
      assertThat(t.toDoubles()).containsExactly(expected);
      assertThat(loadTimes(torch)).hasSizeLessThanOrEqualTo(2); // of two sizes, or one and none
    }
  }

  /** Different times that loads took, with their sizes. */
  private static TreeSet<String> loadTimes(Torch torch) {
    TreeSet<String> times = new TreeSet<>();
    OpLog log = torch.simulator().opLog();
    for (int id = 0; id < log.size(); id++) {
      if (log.kind(id) == OpKind.LOAD) {
        times.add(log.bytes(id) + " bytes " + (log.endPs(id) - log.startPs(id)) + " ps");
      }
    }
    return times;
  }

  /** Of a replicated tensor every PE reads its own copy: all loads are local, and equally long. */
  @Test
  void replicaOfAnother_replicatedTensor_everyPeReadsItsOwn() {
    try (Torch torch = open(Mode.FULL)) {
      Tensor w = torch.from(upTo(256), Shape.of(256), DType.F32, DpPolicy.replicate(), "w");
      Tensor y = torch.zeros(Shape.of(8 * 256), DType.F32, DpPolicy.rowWise(), "y");
      torch.launch("copy", tl -> tl.store(y, tl.load(w)), w, y);
      torch.synchronize();
      assertThat(loadTimes(torch)).hasSize(1);
      assertThat(y.get(7 * 256 + 3)).isEqualTo(3);
    }
  }

  /**
   * In one path a virtual address was decoded as a physical one, and the bits happened to fit. The
   * two are different types with values that never meet: no virtual address names a byte.
   */
  @ParameterizedTest
  @ValueSource(strings = {"kb-compat", "sip-2026", "tiny", "ring", "dgx-h100"})
  void virtualAddressReadAsPhysical_anyMachine_namesNoMemory(String preset) {
    Machine machine = Machines.load(preset, List.of());
    Random random = new Random(3);
    for (int i = 0; i < 1000; i++) {
      long offset = i == 0 ? 0 : random.nextLong(VirtualAddress.SPACE_BYTES);
      PhysicalAddress mistaken = new PhysicalAddress(VirtualAddress.BASE + offset);
      assertThatThrownBy(() -> machine.addresses().decode(mistaken))
          .isInstanceOf(MachineException.class);
    }
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME))) {
      Tensor t = torch.empty(Shape.of(8), DType.F32, "t");
      assertThat(t.shards().getFirst().address()).isInstanceOf(VirtualAddress.class);
    }
  }

  /** An address that could not be translated was taken for a physical one. Here it is an error. */
  @Test
  void pageFaultFallback_closedTensor_isAnErrorThatSaysWhere() {
    try (Torch torch = open(Mode.FULL)) {
      Tensor old = torch.zeros(Shape.of(16), DType.F32, "old");
      Tensor t = torch.zeros(Shape.of(16), DType.F32, "t");
      VirtualAddress at = old.address();
      old.close();
      torch.launch("late", tl -> tl.store(t, tl.load(at, Shape.of(16), DType.F32)), t);
      assertThatThrownBy(torch::synchronize)
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("sip0.cube0.pe0: page fault: nothing is mapped at " + at)
          .hasMessageContaining("above lies t [");
    }
  }

  /**
   * Slices had to coincide with shards. Here any PE loads and stores any part of the virtual range,
   * also across shards of several packages.
   */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"FULL", "VALUES"})
  void slicesOfOneShardOnly_anyPartOfTheRange_isReachedFromAnyPe(Mode mode) {
    try (Torch torch = open(mode)) {
      int n = 1000;
      Tensor x = torch.from(upTo(n), Shape.of(n), DType.I32, DpPolicy.rowWise(), "x");
      Tensor y = torch.zeros(Shape.of(n), DType.I32, DpPolicy.columnWise().withCubes(3), "y");
      Random random = new Random(9);
      double[] expected = new double[n];
      for (int i = 0; i < 30; i++) {
        int count = 1 + random.nextInt(n);
        int from = random.nextInt(n - count + 1);
        int to = random.nextInt(n - count + 1);
        Pe at = torch.machine().peAt(random.nextInt(8));
        torch.launch(
            "move",
            tl -> {
              Value v = tl.load(x.address().plus(4L * from), Shape.of(count), DType.I32);
              tl.store(y.address().plus(4L * to), v);
            },
            List.of(at));
        System.arraycopy(upTo(n), from, expected, to, count);
      }
      assertThat(y.toDoubles()).isEqualTo(expected);
    }
  }

  // ---- copies ----

  /**
   * A copy to a tensor drained everything that was pending, also collectives for which other ranks
   * had yet to call: a deadlock. Here only the source drains. Ranks write their tensors at
   * different times, before and after others have called, and none hangs.
   */
  @ParameterizedTest
  @ValueSource(ints = {2, 3, 5})
  void targetBarrierDeadlock_copiesBetweenCollectives_allRanksEnd(int ranks) {
    try (Torch torch = Runtimes.openRing(ranks, Mode.FULL)) {
      torch.distributed().initProcessGroup("ahbm");
      torch
          .multiprocessing()
          .spawn(
              worker -> {
                Torch mine = worker.torch();
                Tensor g = mine.zeros(Shape.of(8), DType.F32, "g");
                Tensor other = mine.full(Shape.of(8), DType.F32, worker.rank(), "other");
                for (int step = 0; step < 3; step++) {
                  mine.launch("inc", tl -> tl.store(other, tl.load(other).add(1)), other);
                  for (int i = 0; i < worker.rank(); i++) {
                    other.copyInPlace(new float[] {0, 0, 0, 0, 0, 0, 0, worker.rank()});
                  }
                  g.copyInPlace(other);
                  worker.distributed().allReduce(g);
                }
                assertThat(g.get(7)).isEqualTo(ranks * (ranks - 1) / 2 + 3);
              },
              ranks);
    }
  }

  /** The source of a copy drains its kernels; a write to the target leaves unrelated ones alone. */
  @Test
  void copyInPlace_unrelatedKernelUnderWay_isLeftAlone() {
    try (Torch torch = open(Mode.FULL)) {
      Tensor busy = torch.zeros(Shape.of(4), DType.F32, "busy");
      Tensor source = torch.full(Shape.of(4), DType.F32, 1, "source");
      Tensor target = torch.zeros(Shape.of(4), DType.F32, "target");
      Launch first = torch.launch("first", tl -> tl.store(source, tl.load(source).add(1)), source);
      Launch second = torch.launch("second", tl -> tl.store(busy, tl.load(busy).add(1)), busy);
      target.copyInPlace(source);
      assertThat(first.isDone()).isTrue();
      assertThat(second.isDone()).isFalse();
      assertThat(target.toDoubles()).containsOnly(2);
      assertThat(busy.toDoubles()).containsOnly(1);
    }
  }

  /** Between devices too: as {@code t.to("cuda:1")}, with the placement and type of the target. */
  @Test
  void copyInPlace_otherDevice_copiesValues() {
    try (Torch torch = open(Mode.FULL, "system.sips.count=2", "system.sips.topology=ring_1d")) {
      Tensor a = torch.from(upTo(15), Shape.of(3, 5), DType.F32, DpPolicy.columnWise(), "a");
      torch.ahbm().setDevice(1);
      Tensor b = torch.empty(Shape.of(3, 5), DType.F16, DpPolicy.tiledRowMajor(), "b");
      assertThat(b.copyInPlace(a).toDoubles()).containsExactly(upTo(15));
      assertThat(b.shardSpecs()).extracting(ShardSpec::sip).containsOnly(1);
    }
  }

  @Test
  void block_ofATensorSpreadByRows_isReadAcrossItsShards() {
    try (Torch torch = open(Mode.FULL)) {
      Tensor a = torch.from(upTo(6 * 8), Shape.of(2, 3, 8), DType.F32, DpPolicy.rowWise(), "a");
      Tensor b = torch.zeros(Shape.of(2, 3), DType.F32, "b");
      List<Pe> elsewhere = List.of(new Pe(0, 0, 0));
      Kernel copy = tl -> tl.store(tl.whole(b).all(), tl.load(tl.block(a, 2, 2, 5, 3)).reshape(6));
      torch.await(torch.launch("block", copy, elsewhere, List.of(a, b)));
      double first = a.get(0, 2, 5); // row 2 of 6
      assertThat(b.toDoubles())
          .containsExactly(first, first + 1, first + 2, first + 8, first + 9, first + 10);
      assertThat(Tl.cdiv(7, 2)).isEqualTo(4);
      assertThat(Tl.cdiv(8, 2)).isEqualTo(4);
    }
  }

  // ---- properties ----

  /**
   * Whatever the shape, type and placement: what goes in comes out, after a trip through every PE's
   * kernel, and it lies where the shards say.
   */
  @ParameterizedTest
  @EnumSource(DType.class)
  void randomPlacements_hostToDeviceToHost_exact(DType type) {
    Random random = new Random(type.ordinal());
    try (Torch torch = open(Mode.VALUES)) {
      for (int i = 0; i < 60; i++) {
        int[] dims = new int[1 + random.nextInt(4)];
        Arrays.setAll(dims, axis -> random.nextInt(random.nextInt(5) == 0 ? 30 : 7));
        Shape shape = Shape.of(dims);
        DpPolicy policy = randomPolicy(random, dims.length);
        byte[] bytes = randomBytes(random, type, (int) shape.elements());
        Tensor t = torch.empty(shape, type, policy, "t");
        t.writeAll(bytes);
        torch.launch("same", tl -> tl.store(t, tl.load(t)), t);
        assertThat(t.toBytes()).as("%s %s %s", type, shape, policy).isEqualTo(bytes);
        assertThat(virtualBytes(torch, t)).isEqualTo(inOrderOfParts(t, bytes));
        t.close();
      }
      long slice = torch.machine().hbm().sizeBytes();
      torch.empty(Shape.of((int) (slice / 8)), DType.I64, DpPolicy.replicate(), "all").close();
    }
  }

  private static DpPolicy randomPolicy(Random random, int rank) {
    List<Split> splits = new ArrayList<>(List.of(Split.values()));
    if (rank < 2) {
      splits.removeAll(List.of(Split.TILED_ROW_MAJOR, Split.TILED_COLUMN_MAJOR));
    }
    DpPolicy policy =
        DpPolicy.of(
            splits.get(random.nextInt(splits.size())), splits.get(random.nextInt(splits.size())));
    policy = random.nextBoolean() ? policy.withCubes(1 + random.nextInt(4)) : policy;
    return random.nextBoolean() ? policy.withPes(1 + random.nextInt(2)) : policy;
  }

  /** Any bits, except for bool, which has two values. */
  private static byte[] randomBytes(Random random, DType type, int elements) {
    byte[] bytes = new byte[elements * type.sizeBytes()];
    random.nextBytes(bytes);
    if (type == DType.BOOL) {
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] &= 1;
      }
    }
    return bytes;
  }

  private static boolean isRun(Tensor t, ShardSpec s) {
    int divided = 0;
    for (int axis = 0; axis < t.shape().rank(); axis++) {
      boolean isWhole = s.shape().dim(axis) == t.shape().dim(axis);
      // before the last axis that is cut, there is one row at most
      divided = isWhole ? divided : axis;
    }
    for (int axis = 0; axis < divided; axis++) {
      if (s.shape().dim(axis) > 1) {
        return s.shape().elements() < 2;
      }
    }
    return true;
  }

  private static byte[] virtualBytes(Torch torch, Tensor t) {
    byte[] bytes = new byte[(int) t.sizeBytes()];
    torch.simulator().read(t.address(), bytes, 0, bytes.length);
    return bytes;
  }

  /**
   * Element by element: the parts one after another, each row-major, copies once; in the order of
   * the elements if those of each part follow one another there.
   */
  private static byte[] inOrderOfParts(Tensor t, byte[] whole) {
    if (t.shardSpecs().stream().allMatch(s -> isRun(t, s))) {
      return whole;
    }
    int size = t.dtype().sizeBytes();
    byte[] bytes = new byte[whole.length];
    List<ShardSpec> seen = new ArrayList<>();
    int at = 0;
    for (ShardSpec s : t.shardSpecs()) {
      ShardSpec part = new ShardSpec(0, 0, 0, s.offset(), s.shape());
      if (seen.contains(part)) {
        continue;
      }
      seen.add(part);
      for (int e = 0; e < s.shape().elements(); e++) {
        int from = 0;
        int rest = e;
        int stride = 1;
        for (int axis = t.shape().rank() - 1; axis >= 0; axis--) {
          int index = rest % s.shape().dim(axis) + s.offset().get(axis);
          rest /= s.shape().dim(axis);
          from += index * stride;
          stride *= t.shape().dim(axis);
        }
        System.arraycopy(whole, from * size, bytes, at, size);
        at += size;
      }
    }
    return bytes;
  }
}
