package org.kernbench.device.log;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.io.StreamCorruptedException;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;

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
    for (RecordComponent c : work.getClass().getRecordComponents()) {
      write(out, valueOf(c, work));
    }
  }

  private static Object valueOf(RecordComponent c, ComputeOp work) {
    try {
      return c.getAccessor().invoke(work);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("bug: cannot read " + c + " of " + work, e);
    }
  }

  private static void write(DataOutput out, Object value) throws IOException {
    switch (value) {
      case Integer i -> Varint.write(out, i);
      case Long l -> Varint.write(out, l);
      case Double d -> out.writeDouble(d);
      case Boolean b -> out.writeBoolean(b);
      case Enum<?> e -> out.writeUTF(e.name());
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
    RecordComponent[] components = type.getRecordComponents();
    Class<?>[] types =
        Arrays.stream(components).map(RecordComponent::getType).toArray(Class[]::new);
    Object[] values = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      values[i] = read(in, types[i]);
    }
    try {
      return (ComputeOp) type.getDeclaredConstructor(types).newInstance(values);
    } catch (ReflectiveOperationException e) {
      throw new StreamCorruptedException("cannot make a " + name + ": " + e.getMessage());
    }
  }

  private static Object read(DataInput in, Class<?> type) throws IOException {
    if (type == int.class) {
      return (int) Varint.read(in);
    }
    if (type == long.class) {
      return Varint.read(in);
    }
    if (type == double.class) {
      return in.readDouble();
    }
    if (type == boolean.class) {
      return in.readBoolean();
    }
    String name = in.readUTF();
    Object[] constants = type.isEnum() ? type.getEnumConstants() : new Object[0];
    return Arrays.stream(constants)
        .filter(c -> ((Enum<?>) c).name().equals(name))
        .findFirst()
        .orElseThrow(() ->
            new StreamCorruptedException("no " + type.getSimpleName() + " is called " + name));
  }
}
