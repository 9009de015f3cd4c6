package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every function says which of its arrays is too short before it touches any: with one byte less
 * than it needs, and before byte 0.
 */
final class NumericsRoomTest {
  private static final int ROOM = 64;

  static Stream<Method> functions() {
    return Arrays.stream(Numerics.class.getDeclaredMethods())
        .filter(m -> Modifier.isPublic(m.getModifiers()) && !m.isSynthetic())
        .filter(m -> !m.getName().equals("copyStrided")) // says what it reaches in other words
        .filter(m -> Arrays.asList(m.getParameterTypes()).contains(byte[].class))
        .sorted(java.util.Comparator.comparing(Method::toString));
  }

  /** Four elements of f32, 2 x 2 x 1 where there are axes and 2 x 2 by 2 x 2 where there is K. */
  private static Object[] arguments(Method function) {
    Class<?>[] types = function.getParameterTypes();
    Object[] arguments = new Object[types.length];
    int extents = 0;
    for (int i = 0; i < types.length; i++) {
      boolean offset = i > 0 && types[i - 1] == byte[].class;
      if (types[i] == int.class && !offset) {
        extents++;
      }
    }
    int extent = 0;
    for (int i = 0; i < types.length; i++) {
      if (types[i] != int.class) {
        arguments[i] = argument(types[i]);
      } else if (types[i - 1] == byte[].class) {
        arguments[i] = 0; // where its bytes begin
      } else if (extents == 1) {
        arguments[i] = 4;
      } else {
        boolean last = ++extent == extents;
        arguments[i] = last && !function.getName().equals("gemm") ? 1 : 2;
      }
    }
    return arguments;
  }

  private static Object argument(Class<?> type) {
    if (type == byte[].class) {
      return new byte[ROOM];
    }
    if (type == double[].class) {
      return new double[4];
    }
    if (type == DType.class) {
      return DType.F32;
    }
    return type == double.class ? (Object) 1.0 : type.getEnumConstants()[0];
  }

  private static void call(Method function, Object[] arguments) throws Throwable {
    try {
      function.invoke(null, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private static int needed(Method function, int array) {
    for (int bytes = 0; bytes < ROOM; bytes++) {
      Object[] arguments = arguments(function);
      arguments[array] = new byte[bytes];
      try {
        call(function, arguments);
        return bytes;
      } catch (Throwable e) {
        assertThat(e).isInstanceOf(IndexOutOfBoundsException.class);
      }
    }
    return ROOM;
  }

  @ParameterizedTest
  @MethodSource("functions")
  void arrays_aByteTooShort_areNamedBeforeAnythingIsWritten(Method function) {
    Class<?>[] types = function.getParameterTypes();
    Collection<Integer> sizes = new ArrayList<>();
    for (int i = 0; i < types.length; i++) {
      if (types[i] != byte[].class) {
        continue;
      }
      int needed = needed(function, i);
      sizes.add(needed);
      Object[] tooShort = arguments(function);
      tooShort[i] = new byte[needed - 1];
      isRefused(function, tooShort);
      Object[] before = arguments(function);
      before[i + 1] = -1; // its offset
      isRefused(function, before);
    }
    assertThat(sizes).isNotEmpty().isSubsetOf(List.of(4, 8, 16)); // bool, reduced, whole
  }

  private static void isRefused(Method function, Object[] arguments) {
    for (Object a : arguments) {
      if (a instanceof byte[] bytes) {
        Arrays.fill(bytes, (byte) 1);
      }
    }
    assertThatThrownBy(() -> call(function, arguments))
        .as("%s", function)
        .isExactlyInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageMatching("operand [a-z]+: [0-9]+ x [a-z0-9]+ at byte -?[0-9]+; .*");
    for (Object a : arguments) {
      if (a instanceof byte[] bytes) {
        assertThat(bytes).containsOnly(1);
      }
    }
  }
}
