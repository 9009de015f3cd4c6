package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.kernbench.device.Launch;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/** The closed set of methods with which the host looks at contents. */
final class HostReadTest {
  private static final List<String> REGISTRY =
      List.of(
          "Tensor.copyInPlace(Tensor)",
          "Tensor.get",
          "Tensor.save",
          "Tensor.toBytes",
          "Tensor.toDoubles",
          "Tensor.toFloats",
          "Tensor.toMemory",
          "Tensor.toRuns",
          "Tensor.toString",
          "Torch.saveAll");

  /** The types that host programs hold. */
  private static final List<Class<?>> API =
      List.of(
          Tensor.class,
          Torch.class,
          Ahbm.class,
          Distributed.class,
          Multiprocessing.class,
          Worker.class);

  private static String entry(Method m) {
    String name = m.getDeclaringClass().getSimpleName() + "." + m.getName();
    return m.getName().equals("copyInPlace")
        ? name + "(" + m.getParameterTypes()[0].getSimpleName() + ")"
        : name;
  }

  @Test
  void registry_listsExactlyTheMarkedMethods() {
    assertThat(
            API.stream()
                .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
                .filter(m -> m.isAnnotationPresent(HostRead.class))
                .map(HostReadTest::entry)
                .sorted())
        .isEqualTo(REGISTRY);
  }

  /** A public method that gives numbers, bytes or text of the contents must be marked. */
  @Test
  void tensor_publicMethodWithContents_isMarked() {
    List<String> describing =
        List.of("name", "sizeBytes", "isClosed", "version", "changes", "isOfHost", "isInRuns");
    for (Method m : Tensor.class.getDeclaredMethods()) {
      Class<?> type = m.getReturnType();
      boolean gives =
          type.isPrimitive() && type != void.class || type.isArray() || type == String.class;
      if (Modifier.isPublic(m.getModifiers()) && gives && !describing.contains(m.getName())) {
        assertThat(m.isAnnotationPresent(HostRead.class)).as(m.toString()).isTrue();
      }
    }
  }

  /** Every reader of the registry waits for the kernel that changes the tensor. */
  @TestFactory
  List<DynamicTest> reader_kernelUnderWay_waits() {
    return REGISTRY.stream().map(r -> DynamicTest.dynamicTest(r, () -> waits(r))).toList();
  }

  private static void waits(String reader) throws Exception {
    try (Torch torch = Runtimes.open(Runtimes.tiny())) {
      Tensor t = torch.zeros(Shape.of(1), DType.F32, "t");
      Tensor other = torch.zeros(Shape.of(1), DType.F32, "other");
      Launch launch = torch.launch("one", tl -> tl.store(t, tl.load(t).add(1)), t);
      switch (reader) {
        case "Tensor.copyInPlace(Tensor)" -> assertThat(other.copyInPlace(t).get(0)).isEqualTo(1);
        case "Tensor.get" -> assertThat(t.get(0)).isEqualTo(1);
        case "Tensor.save" -> {
          var file = java.nio.file.Files.createTempFile("t", ".npy");
          t.save(file);
          java.nio.file.Files.delete(file);
        }
        case "Torch.saveAll" -> {
          var file = java.nio.file.Files.createTempFile("t", ".npz");
          torch.saveAll(file, List.of(t));
          java.nio.file.Files.delete(file);
        }
        case "Tensor.toBytes" -> assertThat(t.toBytes()).containsExactly(0, 0, (byte) 0x80, 0x3F);
        case "Tensor.toDoubles" -> assertThat(t.toDoubles()).containsExactly(1);
        case "Tensor.toFloats" -> assertThat(t.toFloats()).containsExactly(1);
        case "Tensor.toMemory" -> {
          byte[] bytes = new byte[4];
          t.toMemory(MemorySegment.ofArray(bytes));
          assertThat(bytes).containsExactly(0, 0, (byte) 0x80, 0x3F);
        }
        case "Tensor.toRuns" -> {
          List<byte[]> runs = new ArrayList<>();
          t.toRuns((position, bytes, count) -> runs.add(Arrays.copyOf(bytes, count)));
          assertThat(runs).containsExactly(new byte[] {0, 0, (byte) 0x80, 0x3F});
        }
        case "Tensor.toString" -> assertThat(t.toString()).contains("1.0");
        default -> throw new AssertionError("no test of " + reader);
      }
      assertThat(launch.isDone()).isTrue();
    }
  }
}
