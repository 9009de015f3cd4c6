package org.kernbench.device.log;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.io.StreamCorruptedException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.Optional;

/**
 * Computations as bytes: the name of the record and its components. Only records that {@link
 * ComputeOp} permits are made. Of a strided computation the layouts are left out, which decide
 * values but no cost.
 */
final class ComputeOpCodec {
  private ComputeOpCodec() {}

  static void write(DataOutput out, ComputeOp work) throws IOException {
    if (work instanceof ComputeOp.Strided strided) {
      write(out, strided.what());
      return;
    }
    out.writeUTF(work.getClass().getSimpleName());
    writeComponents(out, (Record) work);
  }

  private static void writeComponents(DataOutput out, Record record) throws IOException {
    for (RecordComponent c : record.getClass().getRecordComponents()) {
      write(out, valueOf(c, record));
    }
  }

  private static Object valueOf(RecordComponent c, Record record) {
    try {
      return c.getAccessor().invoke(record);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("bug: cannot read " + c + " of " + record, e);
    }
  }

  private static void write(DataOutput out, Object value) throws IOException {
    switch (value) {
      case Integer i -> Varint.write(out, i);
      case Long l -> Varint.write(out, l);
      case Double d -> out.writeDouble(d);
      case Boolean b -> out.writeBoolean(b);
      case Enum<?> e -> out.writeUTF(e.name());
      case Record part -> writeComponents(out, part);
      case Optional<?> maybe -> {
        out.writeBoolean(maybe.isPresent());
        if (maybe.isPresent()) {
          write(out, maybe.orElseThrow());
        }
      }
      default -> throw new IllegalStateException("bug: cannot write " + value.getClass());
    }
  }

  static ComputeOp read(DataInput in) throws IOException {
    String name = in.readUTF();
    Class<?> type =
        Arrays.stream(ComputeOp.class.getPermittedSubclasses())
            .filter(c -> c.getSimpleName().equals(name))
            .findFirst()
            .orElseThrow(() -> new StreamCorruptedException("no computation is called " + name));
    return (ComputeOp) readComponents(in, type);
  }

  private static Object readComponents(DataInput in, Class<?> type) throws IOException {
    RecordComponent[] components = type.getRecordComponents();
    Class<?>[] types =
        Arrays.stream(components).map(RecordComponent::getType).toArray(Class[]::new);
    Object[] values = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      values[i] = read(in, components[i].getGenericType());
    }
    try {
      return type.getDeclaredConstructor(types).newInstance(values);
    } catch (ReflectiveOperationException e) {
      throw new StreamCorruptedException(
          "cannot make a " + type.getSimpleName() + ": " + e.getMessage());
    }
  }

  private static Object read(DataInput in, Type type) throws IOException {
    if (type instanceof ParameterizedType optional) {
      return in.readBoolean()
          ? Optional.of(read(in, optional.getActualTypeArguments()[0]))
          : Optional.empty();
    }
    Class<?> plain = (Class<?>) type;
    if (plain == int.class) {
      return (int) Varint.read(in);
    }
    if (plain == long.class) {
      return Varint.read(in);
    }
    if (plain == double.class) {
      return in.readDouble();
    }
    if (plain == boolean.class) {
      return in.readBoolean();
    }
    if (plain.isRecord()) {
      return readComponents(in, plain);
    }
    String name = in.readUTF();
    Object[] constants = plain.isEnum() ? plain.getEnumConstants() : new Object[0];
    return Arrays.stream(constants)
        .filter(c -> ((Enum<?>) c).name().equals(name))
        .findFirst()
        .orElseThrow(() ->
            new StreamCorruptedException("no " + plain.getSimpleName() + " is called " + name));
  }
}
