package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.ConfigException;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectivePlan;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.collective.Message;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.collective.Splits;
import org.kernbench.torch.placement.RankLevel;

/**
 * Every operation but all-reduce, over groups of every small size, with ragged and empty parts,
 * every root, and slots so few and small that a wrong order of messages would deadlock. Values are
 * small integers, so that sums are exact in every order and the expected ones follow from the
 * definition of the operation alone.
 */
final class OperationsTest {
  private static final int LARGEST = 11; // beyond 9 ranks, blocks of an all-to-all are handed on
  private static final String[] RING = {"ring_1d"};
  private static final DType[] DTYPES = {DType.F32, DType.I32, DType.F16, DType.I64, DType.F64};

  private final SplittableRandom random = new SplittableRandom(42);

  private static Machine ring(int n) {
    return Machines.load("ring", List.of("system.sips.count=" + n));
  }

  private static CollectiveLibrary library(Machine machine, String... settings) {
    List<String> all = new ArrayList<>(List.of(settings));
    all.add("defaults.algorithm=ring");
    return CollectiveLibrary.open(machine, CclConfig.load(Optional.empty(), all));
  }

  @ParameterizedTest
  @EnumSource(
      value = CollectiveOp.class,
      names = {"ALL_TO_ALL", "POINT_TO_POINT", "BARRIER"},
      mode = EnumSource.Mode.EXCLUDE)
  void operation_raggedPartsAndEveryRoot_givesWhatItsDefinitionSays(CollectiveOp op) {
    for (int n = 2; n <= LARGEST; n++) {
      Machine machine = ring(n);
      List<Pe> leads = Bed.leads(machine, RankLevel.SIP, n);
      for (int slots = 1; slots <= 3; slots += 2) {
        Communicator communicator =
            library(machine, "defaults.slots=" + slots, "defaults.slot_size=32 B").connect(leads);
        for (int root = 0; root < (op.hasRoot() ? n : 1); root++) {
          List<Part> parts = parts(op, n, slots == 1 ? 20 : 3 * n + 1);
          DType dtype = DTYPES[(n + root + slots) % DTYPES.length];
          check(machine, leads, communicator, op, op.hasRoot() ? root : -1, dtype, parts);
        }
      }
    }
  }

  /**
   * Each algorithm that can do it, on rings, tori and where nothing is in order; what goes through
   * a switch that adds up is in {@code InSwitchTest}.
   */
  @ParameterizedTest
  @EnumSource(
      value = CollectiveOp.class,
      names = {"ALL_REDUCE", "POINT_TO_POINT", "BARRIER"},
      mode = EnumSource.Mode.EXCLUDE)
  void operation_everyAlgorithm_givesWhatItsDefinitionSays(CollectiveOp op) {
    List<String> onLinks = new ArrayList<>(CollectiveLibrary.builtIn(op));
    onLinks.remove("in_switch");
    for (String algorithm : onLinks) {
      for (int n : new int[] {2, 6, 7}) {
        for (String topology : n == 6 ? new String[] {"ring_1d", "torus_2d"} : RING) {
          Machine machine =
              Machines.load(
                  "ring", List.of("system.sips.count=" + n, "system.sips.topology=" + topology));
          List<Pe> leads = new ArrayList<>(Bed.leads(machine, RankLevel.SIP, n));
          if (n % 3 == 1) {
            Collections.shuffle(leads, new java.util.Random(n));
          }
          Communicator communicator =
              library(
                      machine,
                      "defaults.slots=" + (n == 9 ? 4 : 8),
                      "defaults.slot_size=64 B",
                      "defaults.operations." + op.word() + "=" + algorithm)
                  .connect(leads);
          DType dtype = DTYPES[n % DTYPES.length];
          if (op == CollectiveOp.ALL_TO_ALL) {
            exchange(machine, leads, communicator, Splits.even(n, 41));
            List<long[]> sends = new ArrayList<>();
            for (int src = 0; src < n; src++) {
              sends.add(random.longs(n, 0, 40).toArray());
            }
            exchange(machine, leads, communicator, Splits.of(sends));
          } else {
            int root = op.hasRoot() ? random.nextInt(n) : -1;
            check(machine, leads, communicator, op, root, dtype, parts(op, n, 20));
            check(machine, leads, communicator, op, root, dtype, parts(op, n, 200 * n + 1));
          }
        }
      }
    }
  }

  private List<Part> parts(CollectiveOp op, int n, int elements) {
    List<Part> parts = new ArrayList<>();
    long at = 0;
    for (int rank = 0; rank < n; rank++) {
      long count = rank == n - 1 ? elements - at : random.nextLong(0, (elements - at) + 1);
      parts.add(op.hasParts() ? new Part(at, count) : new Part(0, elements));
      at += count;
    }
    return parts;
  }

  private void check(
      Machine machine,
      List<Pe> leads,
      Communicator communicator,
      CollectiveOp op,
      int root,
      DType dtype,
      List<Part> parts) {
    int n = leads.size();
    long all = parts.getLast().end();
    boolean givesPart = op == CollectiveOp.ALL_GATHER || op == CollectiveOp.GATHER;
    boolean getsPart = op == CollectiveOp.REDUCE_SCATTER || op == CollectiveOp.SCATTER;
    double[][] whole = new double[n][(int) all]; // what each rank would give of each element
    for (double[] row : whole) {
      for (int i = 0; i < row.length; i++) {
        row[i] = random.nextInt(-9, 10);
      }
    }
    try (Bed bed = Bed.open(machine, Mode.FULL)) {
      List<Optional<Shard>> inputs = new ArrayList<>();
      List<Optional<Shard>> outputs = new ArrayList<>();
      for (int rank = 0; rank < n; rank++) {
        Part part = parts.get(rank);
        boolean gives = !op.hasRoot() || op.reduces() || op == CollectiveOp.GATHER || rank == root;
        boolean gets = op != CollectiveOp.REDUCE && op != CollectiveOp.GATHER || rank == root;
        Part in = givesPart ? part : new Part(0, all);
        inputs.add(gives ? Optional.of(bed.vector(leads.get(rank), dtype, in.count())) : empty());
        if (gives) {
          bed.write(inputs.getLast().orElseThrow(), bytes(dtype, whole[rank], in));
        }
        long out = getsPart ? part.count() : all;
        outputs.add(gets ? Optional.of(bed.vector(leads.get(rank), dtype, out)) : empty());
      }
      CollectiveCall call =
          new CollectiveCall(
              op, ReduceKind.SUM, dtype, root, all, parts, Splits.NONE, List.of(), inputs, outputs);
      CollectivePlan plan = communicator.plan(call);
      bed.run(plan.queues(), leads, plan.kernel());
      for (int rank = 0; rank < n; rank++) {
        if (call.outputs().get(rank).isEmpty()) {
          continue;
        }
        Part out = getsPart ? parts.get(rank) : new Part(0, all);
        byte[] expected = bytes(dtype, expected(op, root, parts, whole), out);
        assertThat(bed.read(call.output(rank)))
            .as(
                "%s of %s over %d ranks, root %d, rank %d, parts %s",
                op, dtype, n, root, rank, parts)
            .isEqualTo(expected);
      }
    }
  }

  private static Optional<Shard> empty() {
    return Optional.empty();
  }

  private static double[] expected(CollectiveOp op, int root, List<Part> parts, double[][] whole) {
    double[] result = new double[whole[0].length];
    for (int i = 0; i < result.length; i++) {
      for (int rank = 0; rank < whole.length; rank++) {
        Part part = parts.get(rank);
        boolean counts =
            switch (op) {
              case ALL_REDUCE, REDUCE_SCATTER, REDUCE -> true;
              case ALL_GATHER, GATHER -> i >= part.start() && i < part.end();
              default -> rank == root;
            };
        result[i] += counts ? whole[rank][i] : 0;
      }
    }
    return result;
  }

  private static byte[] bytes(DType dtype, double[] values, Part part) {
    byte[] bytes = new byte[(int) part.count() * dtype.sizeBytes()];
    for (int i = 0; i < part.count(); i++) {
      dtype.putDouble(bytes, i * dtype.sizeBytes(), values[(int) part.start() + i]);
    }
    return bytes;
  }

  @Test
  void allToAll_raggedSplits_eachBlockArrivesWhereItBelongs() {
    for (int n = 2; n <= LARGEST; n++) {
      Machine machine = ring(n);
      List<Pe> leads = Bed.leads(machine, RankLevel.SIP, n);
      for (int slots = 1; slots <= 3; slots += 2) {
        Communicator communicator =
            library(machine, "defaults.slots=" + slots, "defaults.slot_size=32 B").connect(leads);
        List<long[]> sends = new ArrayList<>();
        for (int src = 0; src < n; src++) {
          sends.add(random.longs(n, 0, slots == 1 ? 20 : 9).toArray());
        }
        exchange(machine, leads, communicator, Splits.of(sends));
        exchange(machine, leads, communicator, Splits.even(n, 9));
      }
    }
  }

  private static void exchange(
      Machine machine, List<Pe> leads, Communicator communicator, Splits splits) {
    int n = leads.size();
    try (Bed bed = Bed.open(machine, Mode.FULL)) {
      List<Optional<Shard>> inputs = new ArrayList<>();
      List<Optional<Shard>> outputs = new ArrayList<>();
      long moved = 0;
      for (int rank = 0; rank < n; rank++) {
        moved += splits.sent(rank);
        Shard in = bed.vector(leads.get(rank), DType.I32, splits.sent(rank));
        double[] values = new double[(int) splits.sent(rank)];
        for (int dst = 0; dst < n; dst++) {
          for (int i = 0; i < splits.count(rank, dst); i++) {
            values[(int) splits.sendStart(rank, dst) + i] = element(rank, dst, i);
          }
        }
        bed.write(in, bytes(DType.I32, values, new Part(0, values.length)));
        inputs.add(Optional.of(in));
        outputs.add(Optional.of(bed.vector(leads.get(rank), DType.I32, splits.received(rank))));
      }
      List<Part> whole = Collections.nCopies(n, new Part(0, moved));
      CollectiveCall call =
          new CollectiveCall(
              CollectiveOp.ALL_TO_ALL,
              ReduceKind.SUM,
              DType.I32,
              -1,
              moved,
              whole,
              splits,
              List.of(),
              inputs,
              outputs);
      CollectivePlan plan = communicator.plan(call);
      bed.run(plan.queues(), leads, plan.kernel());
      for (int dst = 0; dst < n; dst++) {
        byte[] got = bed.read(call.output(dst));
        int at = 0;
        for (int src = 0; src < n; src++) {
          for (int i = 0; i < splits.count(src, dst); i++, at++) {
            assertThat(DType.I32.getDouble(got, at * 4))
                .as("element %d of the block from %d to %d of %d, %s", i, src, dst, n, splits)
                .isEqualTo(element(src, dst, i));
          }
        }
      }
    }
  }

  private static double element(int src, int dst, int i) {
    return src * 10_000 + dst * 100 + i;
  }

  @Test
  void messages_allPairsBothWaysAndTwice_allArriveWithOneSlot() {
    int n = 5;
    Machine machine = ring(n);
    List<Pe> leads = Bed.leads(machine, RankLevel.SIP, n);
    Communicator communicator =
        library(machine, "defaults.slots=1", "defaults.slot_size=32 B").connect(leads);
    try (Bed bed = Bed.open(machine, Mode.FULL)) {
      List<Message> messages = new ArrayList<>();
      for (int i = 0; i < 2 * n * n; i++) {
        int src = random.nextInt(n);
        int dst = (src + random.nextInt(1, n)) % n;
        int count = random.nextInt(1, 60);
        Shard from = bed.vector(leads.get(src), DType.I32, count);
        double[] values = new double[count];
        for (int e = 0; e < count; e++) {
          values[e] = i * 1000 + e;
        }
        bed.write(from, bytes(DType.I32, values, new Part(0, count)));
        messages.add(new Message(src, dst, from, bed.vector(leads.get(dst), DType.I32, count)));
      }
      CollectiveCall call = CollectiveCall.messages(n, messages);
      CollectivePlan plan = communicator.plan(call);
      bed.run(plan.queues(), leads, plan.kernel());
      for (Message m : messages) {
        assertThat(bed.read(m.to())).isEqualTo(bed.read(m.from()));
      }
    }
  }

  @Test
  void barrier_oneRankIsLate_nobodyLeavesBeforeItCame() {
    for (int n = 2; n <= LARGEST; n++) {
      Machine machine = ring(n);
      List<Pe> leads = Bed.leads(machine, RankLevel.SIP, n);
      String algorithm = n % 2 == 0 ? "tree_barrier" : "dissemination";
      Communicator communicator =
          library(machine, "defaults.operations.barrier=" + algorithm).connect(leads);
      for (int late = 0; late < n; late++) {
        Pe lateOne = leads.get(late);
        double[] left = new double[n];
        double[] came = new double[1];
        CollectivePlan plan = communicator.plan(CollectiveCall.barrier(n));
        try (Bed bed = Bed.open(machine, Mode.TIME)) {
          Shard data = bed.vector(lateOne, DType.F32, 4096);
          bed.run(
              plan.queues(),
              leads,
              tl -> {
                if (tl.pe().equals(lateOne)) {
                  tl.await(tl.load(data.all()));
                  came[0] = tl.clock();
                }
                plan.kernel().run(tl);
                left[leads.indexOf(tl.pe())] = tl.clock();
              });
        }
        for (int rank = 0; rank < n; rank++) {
          assertThat(left[rank]).as("rank %d of %d leaves", rank, n).isGreaterThan(came[0]);
        }
      }
    }
  }

  @Test
  void config_algorithmForAnOperationItHasNot_isRefusedWithThoseThatHave() {
    assertThatThrownBy(() -> library(ring(3), "defaults.operations.broadcast=ring"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("got \"ring\"; expected one of line");
    assertThatThrownBy(() -> library(ring(3), "defaults.operations.gather=lin"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("did you mean line");
    assertThatThrownBy(() -> library(ring(3), "defaults.subgroups=line"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("defaults.subgroups: got \"line\"; expected one of root_center");
  }

  @Test
  void subgroup_noRectangle_takesTheAlgorithmForSubgroups() {
    Machine machine = Machines.load("tiny", List.of("sip.cube_mesh.w=3", "sip.cube_mesh.h=3"));
    CollectiveLibrary library =
        CollectiveLibrary.open(machine, CclConfig.load(Optional.empty(), List.of()));
    List<Pe> all = Bed.leads(machine, RankLevel.CUBE, 9);
    List<Pe> corner = List.of(all.get(0), all.get(1), all.get(4));
    List<Pe> row = all.subList(3, 6);
    assertThat(algorithm(library, machine, row)).isEqualTo("root_center");
    assertThat(algorithm(library, machine, corner)).isEqualTo("ring");
  }

  private static String algorithm(CollectiveLibrary library, Machine machine, List<Pe> leads) {
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      List<Shard> x = bed.vectors(leads, DType.F32, 8);
      return library.connect(leads).plan(Bed.allReduce(ReduceKind.SUM, x)).algorithm();
    }
  }
}
