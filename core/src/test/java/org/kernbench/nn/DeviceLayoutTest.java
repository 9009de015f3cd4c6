package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.nn.Ranks.Devices;
import org.kernbench.nn.autograd.Layouts;
import org.kernbench.nn.autograd.Layouts.Layout;
import org.kernbench.nn.autograd.TrainingRun;
import org.kernbench.nn.autograd.TrainingRun.Result;
import org.kernbench.nn.autograd.TrainingRun.Setup;
import org.kernbench.nn.autograd.TrainingRun.Training;
import org.kernbench.tensor.DType;

/**
 * What a transformer computes depends neither on its layout nor on what a rank is: a PE, a cube or
 * a package, all PEs of which compute. In f64 each is compared with one PE. Where groups have at
 * most two ranks, f32 and bf16 have the bits of ranks of one PE in the same layout.
 */
final class DeviceLayoutTest {
  /** Layouts and devices of the run without slow tests are drawn by it. */
  private static final long SEED = 18;

  private static final int DRAWN = 3;

  /** Ranks of those at most. */
  private static final int FEW = 6;

  private static final List<Devices> LEVELS =
      List.of(Devices.PES, Devices.CUBES, Devices.PACKAGES, Devices.UNEVEN_PACKAGES);
  private static final Map<List<Object>, Result> KNOWN = new ConcurrentHashMap<>();

  /** A layout of ranks, and what each is. */
  record Case(Layout layout, Devices devices) {
    @Override
    public String toString() {
      return layout + " of " + devices.level() + "s of " + devices.preset();
    }

    /** Sums over ranks have one order only: of two numbers, on any number of PEs. */
    boolean isExact() {
      return layout.tp() <= 2 && layout.cp() * layout.dp() <= 2;
    }
  }

  static Stream<Case> all() {
    List<Case> all = new ArrayList<>();
    Layouts.all().forEach(l -> LEVELS.forEach(d -> all.add(new Case(l, d))));
    return all.stream();
  }

  static Stream<Case> exact() {
    return all().filter(Case::isExact);
  }

  private static Stream<Case> drawn(Stream<Case> of) {
    Random random = new Random(SEED);
    List<Case> all = of.filter(c -> c.layout.tp() * c.layout.cp() * c.layout.dp() <= FEW).toList();
    return random.ints(0, all.size()).distinct().limit(DRAWN).mapToObj(all::get);
  }

  /**
   * Drawn ones, and one whose replicas are summed by two groups that are not shifts of each other.
   */
  static Stream<Case> some() {
    Case replicas = new Case(new Layout(2, 1, 3, true), Devices.UNEVEN_PACKAGES);
    return Stream.concat(Stream.of(replicas), drawn(all()));
  }

  static Stream<Case> someExact() {
    return drawn(exact());
  }

  @ParameterizedTest
  @MethodSource("some")
  void layout_onDevices_equalsOnePe(Case drawn) {
    check(drawn, Training.SGD, 1);
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("all")
  void layoutGrid_onDevices_equalsOnePe(Case one) {
    for (Training training : Training.values()) {
      check(one, training, 2);
    }
  }

  private static void check(Case one, Training training, int layers) {
    Setup setup = Layouts.setup(one.layout, layers).with(training);
    Result expected = known(setup.onOneRank(), Devices.ONE_PE, DType.F64);
    Result got = TrainingRun.of(setup, one.devices, DType.F64);
    assertThat(got.unequal()).as("replicas").isEmpty();
    assertThat(TrainingRun.lossError(got, expected)).isLessThan(1e-10);
    assertThat(TrainingRun.worst(got.grads(), expected.grads())).as("gradients").isLessThan(1e-10);
    if (training == Training.SGD) { // AdamW divides the rounding of key biases by epsilon
      assertThat(TrainingRun.worst(got.parameters(), expected.parameters()))
          .as("after steps")
          .isLessThan(1e-10);
    }
  }

  @ParameterizedTest
  @MethodSource("someExact")
  void exactLayout_onDevices_hasBitsOfRanksOfOnePe(Case drawn) {
    checkBits(drawn, 1);
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("exact")
  void exactLayoutGrid_onDevices_hasBitsOfRanksOfOnePe(Case one) {
    checkBits(one, 2);
  }

  private static void checkBits(Case one, int layers) {
    for (DType dtype : List.of(DType.F32, DType.BF16)) {
      Setup setup = Layouts.setup(one.layout, layers).with(Training.ADAM);
      Result expected = known(setup, Devices.ONE_PE, dtype);
      Result got = TrainingRun.of(setup, one.devices, dtype);
      assertThat(got.losses()).as("losses in %s", dtype).isEqualTo(expected.losses());
      assertSame(got.grads(), expected.grads(), "gradients in " + dtype);
      assertSame(got.parameters(), expected.parameters(), "parameters in " + dtype);
    }
  }

  private static void assertSame(
      Map<String, double[]> got, Map<String, double[]> expected, String what) {
    assertThat(got.keySet()).as(what).isEqualTo(expected.keySet());
    expected.forEach((name, values) ->
        assertThat(Arrays.equals(got.get(name), values)).as("%s: %s", what, name).isTrue());
  }

  private static Result known(Setup setup, Devices devices, DType dtype) {
    return KNOWN.computeIfAbsent(
        List.of(setup, devices, dtype), key -> TrainingRun.of(setup, devices, dtype));
  }
}
