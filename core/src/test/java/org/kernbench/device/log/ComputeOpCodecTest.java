package org.kernbench.device.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.StreamCorruptedException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.tensor.DType;

/** Every kind of computation that a command can have is read as it was written. */
final class ComputeOpCodecTest {
  private final Random random = new Random(20261124);

  static Stream<Class<?>> kinds() {
    return Arrays.stream(ComputeOp.class.getPermittedSubclasses())
        .filter(c -> c != ComputeOp.Strided.class);
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void everyKind_anyContents_isReadAsWritten(Class<?> kind)
      throws IOException, ReflectiveOperationException {
    for (int i = 0; i < 50; i++) {
      ComputeOp work = (ComputeOp) some(kind);
      assertThat(copy(work)).isEqualTo(work);
    }
  }

  @Test
  void strided_isReadAsWhatItDoes() throws IOException {
    ComputeOp.Copy what = new ComputeOp.Copy(DType.F16, 12);
    assertThat(copy(new ComputeOp.Strided(what, List.of()))).isEqualTo(what);
  }

  @Test
  void unknownKind_isABrokenFile() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    new DataOutputStream(bytes).writeUTF("Sort");
    assertThatThrownBy(() -> read(bytes.toByteArray()))
        .isInstanceOf(StreamCorruptedException.class)
        .hasMessageContaining("Sort");
  }

  private static ComputeOp copy(ComputeOp work) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    ComputeOpCodec.write(new DataOutputStream(bytes), work);
    return read(bytes.toByteArray());
  }

  private static ComputeOp read(byte[] bytes) throws IOException {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
      ComputeOp read = ComputeOpCodec.read(in);
      assertThat(in.read()).as("what is left").isEqualTo(-1);
      return read;
    }
  }

  private Object some(Type type) throws ReflectiveOperationException {
    if (type instanceof ParameterizedType optional) {
      return random.nextBoolean()
          ? Optional.of(some(optional.getActualTypeArguments()[0]))
          : Optional.empty();
    }
    Class<?> plain = (Class<?>) type;
    if (plain == int.class) {
      return 1 + random.nextInt(1 << 20);
    }
    if (plain == long.class) {
      return 1 + random.nextLong(1L << 50);
    }
    if (plain == double.class) {
      return random.nextGaussian();
    }
    if (plain == boolean.class) {
      return random.nextBoolean();
    }
    if (plain.isEnum()) {
      Object[] constants = plain.getEnumConstants();
      return constants[random.nextInt(constants.length)];
    }
    RecordComponent[] components = plain.getRecordComponents();
    Object[] values = new Object[components.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = some(components[i].getGenericType());
    }
    Class<?>[] types =
        Arrays.stream(components).map(RecordComponent::getType).toArray(Class[]::new);
    return plain.getDeclaredConstructor(types).newInstance(values);
  }
}
