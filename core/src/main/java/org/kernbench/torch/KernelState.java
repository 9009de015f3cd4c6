package org.kernbench.torch;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.ReusableProgram;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.PureKernel;
import org.kernbench.torch.placement.Device;
import org.kernbench.torch.placement.ShardSpec;

/**
 * What a kernel captures, written down as a list of values that compare: classes of functions and
 * records with their fields, tensors by shape and place, objects that come again by their number.
 */
final class KernelState {
  /** By class, the fields that are looked at; shared by the kernels of a session. */
  static final class Classes {
    private final Map<Class<?>, List<Field>> fields = new HashMap<>();

    private List<Field> fieldsOf(Class<?> type) {
      return fields.computeIfAbsent(type, Classes::find);
    }

    private static List<Field> find(Class<?> type) {
      List<Field> found = new ArrayList<>();
      for (Field field : type.getDeclaredFields()) {
        if (!Modifier.isStatic(field.getModifiers())) {
          field.setAccessible(true);
          found.add(field);
        }
      }
      return List.copyOf(found);
    }
  }

  private final Classes classes;
  private final List<Object> what = new ArrayList<>();
  private final List<ReusableProgram.Memory> memories = new ArrayList<>();
  private final Map<Object, Integer> seen = new IdentityHashMap<>();
  private boolean unknown;

  private KernelState(Classes classes) {
    this.classes = classes;
  }

  /** What the commands of a kernel depend on; empty if it captures what nothing is known of. */
  static Optional<ReusableProgram.Key> of(PureKernel kernel, Classes classes) {
    KernelState state = new KernelState(classes);
    state.add(kernel);
    return state.unknown
        ? Optional.empty()
        : Optional.of(new ReusableProgram.Key(state.what, state.memories));
  }

  private void add(@Nullable Object o) {
    switch (o) {
      case null -> what.add("null");
      case Number n -> what.add(n);
      case Boolean b -> what.add(b);
      case Character c -> what.add(c);
      case String s -> what.add(s);
      case Enum<?> e -> what.add(e);
      case Class<?> c -> what.add(c);
      case Shape s -> what.add(s);
      case Pe pe -> what.add(pe);
      case Device device -> { // its number is not said: devices of alike packages are alike
        what.add(device.level());
        what.add(device.lead());
        what.add(device.cubes());
        what.add(device.pes());
      }
      case ShardSpec spec -> {
        what.add(spec.place());
        what.add(spec.offset());
        what.add(spec.shape());
      }
      case ReusableProgram.Memory memory -> memories.add(memory);
      case Optional<?> optional -> {
        what.add(Optional.class);
        add(optional.orElse(null));
      }
      default -> reference(o);
    }
  }

  private void reference(Object o) {
    Integer before = seen.putIfAbsent(o, seen.size());
    if (before != null) {
      what.add(KernelState.class);
      what.add(before);
      return;
    }
    what.add(o.getClass());
    switch (o) {
      case Dependent d -> all(d.dependsOn());
      case Map<?, ?> map -> {
        what.add(map.size());
        map.forEach((key, value) -> {
          add(key);
          add(value);
        });
      }
      case Collection<?> c -> all(c);
      case int[] numbers -> what.add(IntBuffer.wrap(numbers.clone()));
      default -> fields(o);
    }
  }

  private void all(Collection<?> elements) {
    what.add(elements.size());
    elements.forEach(this::add);
  }

  /** A function, by its class and what it captures, or a record. */
  private void fields(Object o) {
    Class<?> type = o.getClass();
    if (!type.isHidden() && !type.isRecord()) {
      unknown = true;
      return;
    }
    for (Field field : classes.fieldsOf(type)) {
      try {
        add(field.get(o));
      } catch (IllegalAccessException e) {
        throw new IllegalStateException("bug: " + field, e);
      }
    }
  }
}
