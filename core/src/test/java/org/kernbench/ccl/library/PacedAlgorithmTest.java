package org.kernbench.ccl.library;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/** A paced algorithm says of itself what the algorithm inside says, but for its times. */
class PacedAlgorithmTest {
  /** Answers of their own for every method that has one of these types. */
  private static Object answer(Method m) {
    Class<?> type = m.getReturnType();
    if (type == String.class) {
      return m.getName();
    } else if (type == boolean.class) {
      return true;
    } else if (type == OptionalInt.class) {
      return OptionalInt.of(m.getName().hashCode());
    } else if (type == OptionalLong.class) {
      return OptionalLong.of(m.getName().hashCode());
    } else if (type == Optional.class) {
      return Optional.of(m.getName());
    } else if (type == Set.class) {
      return Set.of(CollectiveOp.BARRIER, CollectiveOp.GATHER);
    } else if (type == RankLevel.class) {
      return RankLevel.CUBE;
    } else if (type == List.class) {
      return new ArrayList<>(); // a list that is the same as no other
    }
    return null;
  }

  @SuppressWarnings("unchecked")
  private static <T> T answering(Class<T> type, Map<String, Object> answers) {
    return (T)
        Proxy.newProxyInstance(
            PacedAlgorithmTest.class.getClassLoader(),
            new Class<?>[] {type},
            (proxy, m, args) -> answers.computeIfAbsent(m.toString(), k -> answer(m)));
  }

  @Test
  void names_levelsAndOperations_areThoseOfTheAlgorithmInside() {
    Map<String, Object> answers = new HashMap<>();
    CollectiveAlgorithm inner = answering(CollectiveAlgorithm.class, answers);
    CollectiveAlgorithm paced = new PacedAlgorithm(inner);

    assertThat(paced.name()).isEqualTo("name");
    assertThat(paced.description()).isEqualTo("description");
    assertThat(paced.operations()).isEqualTo(Set.of(CollectiveOp.BARRIER, CollectiveOp.GATHER));
    assertThat(paced.defaultRankLevel()).isEqualTo(RankLevel.CUBE);
    assertThat(paced.defaultWorldSize()).isEqualTo(OptionalInt.of("defaultWorldSize".hashCode()));
    assertThat(paced.isFor(Machines.load("tiny", List.of()))).isTrue();
  }

  @Test
  void schedule_saysWhatTheOneInsideSays_butForItsTimes() {
    Schedule inside = answering(Schedule.class, new HashMap<>());
    Map<String, Object> answers = new HashMap<>();
    CollectiveAlgorithm inner =
        (CollectiveAlgorithm)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {CollectiveAlgorithm.class},
                (proxy, m, args) ->
                    m.getName().equals("plan")
                        ? inside
                        : answers.computeIfAbsent(m.toString(), k -> answer(m)));
    Machine machine = Machines.load("dgx-h100", List.of());
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    Group group = Group.ofPackages(machine);
    Schedule paced = new PacedAlgorithm(inner).plan(group, machine.ipcq(), config.of("ring"));
    CollectiveCall call = CollectiveCall.barrier(machine.sips());

    assertThat(paced).isNotSameAs(inside);
    assertThat(paced.connections()).isSameAs(inside.connections());
    assertThat(paced.connections(call)).isSameAs(inside.connections(call));
    assertThat(paced.choices()).isSameAs(inside.choices());
    assertThat(paced.chosen(call)).contains("chosen");
    assertThat(paced.wireBytes(call)).isEqualTo(OptionalLong.of("wireBytes".hashCode()));
    assertThat(paced.leastSlots(call)).isEqualTo(OptionalInt.of("leastSlots".hashCode()));
    assertThat(paced.formulaPs(call)).isEqualTo(OptionalLong.of("formulaPs".hashCode()));

    Machine plain = Machines.load("tiny", List.of());
    assertThat(
            new PacedAlgorithm(inner)
                .plan(Group.ofPackages(plain), plain.ipcq(), config.of("ring")))
        .isSameAs(inside);
  }
}
