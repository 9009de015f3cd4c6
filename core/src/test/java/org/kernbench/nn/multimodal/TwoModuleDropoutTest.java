package org.kernbench.nn.multimodal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.TwoModules;
import org.kernbench.nn.autograd.Dropout;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.compare.LayoutVerdict;
import org.kernbench.nn.multimodal.Microbatches.Masks;
import org.kernbench.nn.multimodal.TwoModuleTraining.Settings;

/** Masks of dropout in training of two modules do not depend on either module's layout. */
final class TwoModuleDropoutTest {
  private static final Settings DROPPING =
      TwoModules.SGD.withDropout(new Dropout(0.3, 0.2, 0.1, 11, 0));

  private static List<Microbatch> data(int samples, int microbatches) {
    return Microbatches.random(TwoModules.SMALL, samples, 8, microbatches, Masks.UNEVEN, 5);
  }

  private static LayoutVerdict check(String encoder, String language, boolean sp, Fault fault) {
    TwoModuleLayout layout = TwoModules.layout(encoder, language, sp);
    return TwoModules.check(layout, TwoModules.SMALL, DROPPING.withFault(fault), data(4, 2), 3);
  }

  /** Three steps of two microbatches. */
  @ParameterizedTest
  @CsvSource({
    "'tp=2,dp=2','tp=4,dp=1',true",
    "'tp=4,dp=1','tp=2,dp=2',false",
    "'tp=1,cp=2,dp=2','tp=1,cp=2,dp=2',false",
    "'tp=1,dp=4','tp=2,cp=2,dp=1',true",
  })
  void layout_threeSteps_equalOneRank(String encoder, String language, boolean sp) {
    LayoutVerdict verdict = check(encoder, language, sp, Fault.NONE);
    assertThat(verdict.first()).isEmpty();
    assertThat(verdict.worstError()).isLessThan(1e-10);
    assertThat(verdict.unequal()).isEmpty();
    assertThat(verdict.stepsError().orElseThrow()).isLessThan(1e-13);
  }

  /** Ranks that count rows from 0, and ranks with masks of their own, compute something else. */
  @ParameterizedTest
  @CsvSource({"REPEAT_MASKS,true", "SPLIT_MASKS,false"})
  void mistakeWithMasks_isSeen(Fault fault, boolean sp) {
    assertThat(check("tp=2,dp=2", "tp=2,dp=2", sp, fault).first()).isPresent();
  }

  private static Map<String, double[]> gradients(Settings s, List<Microbatch> data) {
    Map<String, double[]> all = new TreeMap<>();
    onOneRank(
        s,
        t -> {
          t.finish(t.backward(data, (i, trace) -> {}));
          for (Parameter p : t.parameters()) {
            all.put(p.name(), p.grad().orElseThrow().toDoubles());
          }
        });
    return all;
  }

  private interface Body {
    void with(TwoModuleTraining training);
  }

  private static void onOneRank(Settings s, Body body) {
    Ranks.run(
        Ranks.Devices.ONE_PE,
        1,
        Mode.VALUES,
        w -> {
          try (TwoModuleTraining t =
              TwoModuleTraining.create(w, TwoModules.SMALL, TwoModuleLayout.ONE_RANK, s)
                  .orElseThrow()) {
            body.with(t);
          }
        });
  }

  private static Microbatch joined(Microbatch a, Microbatch b) {
    int n = a.samples();
    int m = b.samples();
    return new Microbatch(
        n + m,
        a.sequence(),
        IntStream.concat(Arrays.stream(a.ids(0, n)), Arrays.stream(b.ids(0, m))).toArray(),
        IntStream.concat(Arrays.stream(a.targets(0, n)), Arrays.stream(b.targets(0, m))).toArray(),
        DoubleStream.concat(Arrays.stream(a.mask(0, n)), Arrays.stream(b.mask(0, m))).toArray(),
        DoubleStream.concat(Arrays.stream(a.patches(0, n)), Arrays.stream(b.patches(0, m)))
            .toArray());
  }

  /** A sample's masks are those of its number in the step, whichever microbatch it is in. */
  @Test
  void microbatches_haveTheMasksOfOneThatHoldsAll() {
    List<Microbatch> two = data(2, 2);
    Map<String, double[]> expected =
        gradients(DROPPING, List.of(joined(two.getFirst(), two.getLast())));
    gradients(DROPPING, two)
        .forEach((name, values) ->
            assertThat(values).as(name).containsExactly(expected.get(name), within(1e-12)));
  }

  /** Every step has masks of its own, and evaluation none. */
  @Test
  void stepsDiffer_andEvaluationDropsNothing() {
    Settings still = DROPPING.withMethod(TwoModuleTraining.Method.SGD, 0);
    List<Microbatch> data = data(4, 1);
    List<Double> losses = new ArrayList<>();
    onOneRank(
        still,
        t -> {
          losses.add(t.train(data).orElseThrow());
          losses.add(t.train(data).orElseThrow());
          losses.add(t.evaluate(data).sum().orElseThrow());
        });
    onOneRank(still.withDropout(Dropout.NONE), t -> losses.add(t.train(data).orElseThrow()));
    assertThat(losses.get(0)).isNotEqualTo(losses.get(1));
    assertThat(losses.get(2)).isEqualTo(losses.get(3)).isNotEqualTo(losses.get(0));
  }
}
