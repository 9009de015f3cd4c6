package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.kernbench.device.ReusableProgram;
import org.kernbench.device.ReusableProgram.Key;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.PureKernel;
import org.kernbench.torch.placement.Device;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.ShardSpec;

/** Kernels are the same for reuse if and only if all that they capture is. */
final class KernelStateTest {
  private static final Machine MACHINE =
      Machines.load("tiny", List.of("system.sips.count=2", "system.sips.topology=ring_1d"));

  private final KernelState.Classes classes = new KernelState.Classes();

  /** A kernel that captures one thing. */
  private static PureKernel capturing(Object captured) {
    return tl -> Objects.requireNonNull(captured);
  }

  private Key key(Object captured) {
    return KernelState.of(capturing(captured), classes).orElseThrow();
  }

  private record Pair(@Nullable Object left, @Nullable Object right) {}

  private enum Colour {
    RED,
    BLUE
  }

  /** Each is built anew for every comparison, so none is equal because it is the same object. */
  private static final List<IntFunction<Object>> KINDS =
      List.of(
          n -> 1000 + n,
          n -> 1000L + n,
          n -> 0.5 + n,
          n -> n == 0,
          n -> (char) ('a' + n),
          n -> "text" + n,
          n -> Colour.values()[n],
          n -> n == 0 ? String.class : Integer.class,
          n -> Shape.of(2, 3 + n),
          n -> new Pe(0, 1, n),
          n -> Device.of(MACHINE, RankLevel.CUBE, n),
          n -> new ShardSpec(0, 0, n, List.of(0), Shape.of(4)),
          n -> new ShardSpec(0, 0, 0, List.of(n), Shape.of(4)),
          n -> new ShardSpec(0, 0, 0, List.of(0), Shape.of(4 + n)),
          n -> n == 0 ? Optional.empty() : Optional.of("x"),
          n -> Optional.of(7 + n),
          n -> new ArrayList<>(List.of(1, 2 + n)),
          n -> n == 0 ? new ArrayList<>(List.of(1)) : new ArrayList<>(List.of(1, 2)),
          n -> new LinkedHashMap<>(Map.of("k", n)),
          n -> new LinkedHashMap<>(Map.of("k" + n, 0)),
          n -> new int[] {5, n},
          n -> new Pair(n, "same"),
          n -> new Pair("same", n),
          n -> new Pair(new Pair(1, n), 2),
          n -> capturing("inner" + n),
          n -> (Dependent) () -> List.of("depends", n));

  @Test
  void kernels_thatCaptureTheSame_areTheSame_othersAreNot() {
    for (int kind = 0; kind < KINDS.size(); kind++) {
      IntFunction<Object> of = KINDS.get(kind);

      assertThat(key(of.apply(0))).as("kind %s", kind).isEqualTo(key(of.apply(0)));
      assertThat(key(of.apply(1))).as("kind %s", kind).isEqualTo(key(of.apply(1)));
      assertThat(key(of.apply(0))).as("kind %s", kind).isNotEqualTo(key(of.apply(1)));
    }
  }

  /** Packages of one machine are alike: what tells them apart is said by addresses and PEs. */
  @Test
  void devices_countByWhatTheyHave() {
    assertThat(key(Device.of(MACHINE, RankLevel.SIP, 0)))
        .isNotEqualTo(key(Device.of(MACHINE, RankLevel.CUBE, 0)));
  }

  /** An object that is met twice is not the same as two that are equal. */
  @Test
  void sameObjectTwice_isSaid() {
    int[] one = {1};
    int[] other = {1};

    assertThat(key(new Pair(one, one))).isEqualTo(key(new Pair(other, other)));
    assertThat(key(new Pair(one, one))).isNotEqualTo(key(new Pair(one, other)));
  }

  /** What is changed later does not change the key. */
  @Test
  void arrays_areCopied() {
    int[] numbers = {1, 2};
    Key before = key(numbers);
    numbers[1] = 3;

    assertThat(before).isEqualTo(key(new int[] {1, 2})).isNotEqualTo(key(numbers));
  }

  @Test
  void memories_areListedApart() {
    ReusableProgram.Memory memory =
        new ReusableProgram.Memory(new VirtualAddress(VirtualAddress.BASE), 64);

    Key key = key(new Pair(memory, "x"));

    assertThat(key.memories()).containsExactly(memory);
    assertThat(key.what()).doesNotContain(memory).isEqualTo(key(new Pair(memory, "x")).what());
  }

  /** Whatever is no value, function or collection makes a kernel run each time. */
  @Test
  void objectThatNothingIsKnownOf_hasNoKey() {
    assertThat(KernelState.of(capturing(new StringBuilder("x")), classes)).isEmpty();
    assertThat(KernelState.of(capturing(new Pair(1, new Object())), classes)).isEmpty();
    assertThat(KernelState.of(capturing(List.of(new Object())), classes)).isEmpty();
    assertThat(KernelState.of(capturing(new Pair(1, null)), classes)).isPresent();
  }
}
