package org.kernbench.ccl.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Drawings: what cannot be drawn, when messages go, and which drawings are the same. */
final class DataflowTest {
  private final Dataflow flow = new Dataflow(3);

  DataflowTest() {
    flow.addUnits(4, 1);
  }

  private static void refused(ThrowingCallable call, String why) {
    assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class).hasMessage(why);
  }

  @Test
  void parts_thatCannotBe_areRefused() {
    Dataflow.Part whole = flow.own(0, 0, 4);
    Dataflow.Part middle = flow.slice(flow.move(whole, 1), 1, 2);
    refused(() -> flow.own(0, 3, 2), "units 3 to 4 of 4");
    refused(() -> flow.own(0, -1, 2), "units -1 to 0 of 4");
    refused(() -> flow.own(0, 2, 0), "units 2 to 1 of 4");
    refused(() -> flow.slice(middle, 0, 1), "no units 0 +1 in VIEW 2 of units 1..2 at rank 1");
    refused(() -> flow.slice(middle, 2, 2), "no units 2 +2 in VIEW 2 of units 1..2 at rank 1");
    refused(() -> flow.move(whole, 0), "OWN 0 of units 0..3 at rank 0 is sent to its own rank");
    Dataflow.Part own = flow.own(1, 1, 2);
    for (Dataflow.Part other : List.of(flow.own(2, 1, 2), flow.own(1, 2, 2), flow.own(1, 1, 1))) {
      refused(() -> flow.combine(own, other), own + " cannot be combined with " + other);
    }
    refused(() -> flow.finish(own), own + " is finished; expected one that was combined");
    Dataflow.Part first = flow.store(flow.own(2, 0, 1));
    Dataflow.Part third = flow.store(flow.own(2, 2, 1));
    Dataflow.Part others = flow.store(flow.own(1, 1, 1));
    for (Dataflow.Part wrong : List.of(third, others, flow.own(2, 1, 1))) {
      refused(() -> flow.join(List.of(first, wrong)), wrong + " does not adjoin what comes before");
    }
  }

  @Test
  void limits_areTakenExactly() {
    assertThat(flow.own(0, 0, 4).end()).isEqualTo(4);
    Dataflow.Part got = flow.move(flow.own(0, 0, 4), 1);
    assertThat(flow.slice(got, 0, 4)).isSameAs(got);
    assertThat(flow.slice(got, 0, 3).root()).isSameAs(got);
    assertThat(flow.slice(flow.slice(got, 0, 3), 1, 2).source()).isSameAs(got);
    Dataflow.Part own = flow.slice(flow.own(2, 0, 4), 3, 1);
    assertThat(own.kind).isEqualTo(Dataflow.Kind.OWN);
    assertThat(own.first).isEqualTo(3);
    Dataflow.Part joined =
        flow.join(List.of(flow.store(flow.slice(got, 0, 1)), flow.store(flow.slice(got, 1, 3))));
    assertThat(List.of(joined.first, joined.count, joined.step)).containsExactly(0, 4, 1);
  }

  /** A part is there after as many messages as it took; what is combined, when the later is. */
  @Test
  void steps_countMessagesOneAfterTheOther() {
    Dataflow.Part there = flow.move(flow.move(flow.own(0, 0, 1), 1), 2);
    assertThat(there.step).isEqualTo(2);
    Dataflow.Part late = flow.move(flow.own(1, 0, 1), 2, 4);
    assertThat(List.of(late.sentStep, late.step)).containsExactly(4, 5);
    assertThat(flow.move(there, 0, 1).sentStep).isEqualTo(2);
    Dataflow.Part sum = flow.combine(there, late);
    assertThat(sum.step).isEqualTo(5);
    assertThat(flow.combine(late, there).step).isEqualTo(5);
    assertThat(flow.store(flow.finish(sum)).step).isEqualTo(5);
    assertThat(List.of(flow.partsAt(0), flow.partsAt(1), flow.partsAt(2))).containsExactly(2, 2, 6);
  }

  private static Dataflow drawn(int ranks, int weight, Consumer<Dataflow> more) {
    Dataflow drawn = new Dataflow(ranks);
    drawn.addUnits(3, weight);
    Dataflow.Part there = drawn.move(drawn.own(0, 0, 2), 1);
    drawn.store(drawn.finish(drawn.combine(there, drawn.own(1, 0, 2))));
    more.accept(drawn);
    return drawn;
  }

  @Test
  void isLike_theSameAgain_andNothingElse() {
    Consumer<Dataflow> last = d -> d.move(d.own(0, 0, 1), 1);
    assertThat(drawn(2, 1, last).isLike(drawn(2, 1, last))).isTrue();
    List<Dataflow> others =
        List.of(
            drawn(3, 1, last),
            drawn(2, 2, last),
            drawn(2, 1, d -> {}),
            drawn(2, 1, d -> d.move(d.own(0, 1, 1), 1)),
            drawn(2, 1, d -> d.move(d.own(0, 0, 2), 1)),
            drawn(2, 1, d -> d.move(d.own(0, 0, 1), 1, 1)),
            drawn(2, 1, d -> d.move(d.own(1, 0, 1), 0)),
            drawn(2, 1, d -> d.store(d.own(0, 0, 1))));
    for (Dataflow other : others) {
      assertThat(drawn(2, 1, last).isLike(other)).isFalse();
      assertThat(other.isLike(drawn(2, 1, last))).isFalse();
    }
    Dataflow sent = drawn(2, 1, d -> d.move(sent(d).get(0), 1));
    Dataflow other = drawn(2, 1, d -> d.move(sent(d).get(1), 1));
    assertThat(sent.isLike(other)).as("another of two parts alike").isFalse();
  }

  private static List<Dataflow.Part> sent(Dataflow drawn) {
    return List.of(drawn.own(0, 0, 1), drawn.own(0, 0, 1));
  }

  @Test
  void proof_resultTwice_isFound() {
    flow.store(flow.own(0, 0, 2));
    flow.store(flow.own(0, 1, 1));
    assertThatThrownBy(() -> FlowProof.results(flow))
        .hasMessageContaining("unit 1 is stored twice at rank 0");
  }
}
