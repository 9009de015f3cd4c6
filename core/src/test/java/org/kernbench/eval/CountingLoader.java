package org.kernbench.eval;

import static java.lang.constant.ConstantDescs.CD_String;
import static java.lang.constant.ConstantDescs.CD_void;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.MethodModel;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.ArrayLoadInstruction;
import java.lang.classfile.instruction.ArrayStoreInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.NewPrimitiveArrayInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.Set;

/**
 * Loads the product once more, with a count at each place where a value is computed on the host or
 * in a kernel: calls of the numeric kernels, draws of random reals, arrays of reals made, filled or
 * read. The product itself has no counters, so no bench can leave one out.
 */
final class CountingLoader extends ClassLoader {
  private static final String PRODUCT = "org.kernbench.";
  private static final ClassDesc COUNTER = ClassDesc.of(HostNumerics.class.getName());
  private static final MethodTypeDesc COUNT = MethodTypeDesc.of(CD_void, CD_String);

  /** Rooms that hold or compute the values of a program; ccl and sim have arrays for planning. */
  private static final Set<String> ROOMS = Set.of("eval", "nn", "torch", "tl", "device", "tensor");

  /** Computes with times, whatever the mode: it plans. */
  private static final Set<String> PLANNERS = Set.of(PRODUCT + "tl.TileForecast");

  private static final Set<String> KERNELS =
      Set.of("org/kernbench/tensor/Numerics", "org/kernbench/tensor/ScalarNumerics");

  private static final Set<String> DRAWS = Set.of("nextDouble", "nextFloat", "nextGaussian");

  private final ClassLoader product;

  CountingLoader(ClassLoader product) {
    super(product);
    this.product = product;
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (!name.startsWith(PRODUCT) || name.equals(HostNumerics.class.getName())) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      Class<?> loaded = findLoadedClass(name);
      return loaded != null ? loaded : defined(name);
    }
  }

  private Class<?> defined(String name) throws ClassNotFoundException {
    String file = name.replace('.', '/') + ".class";
    try (InputStream in = product.getResourceAsStream(file)) {
      if (in == null) {
        throw new ClassNotFoundException(name);
      }
      byte[] bytes = in.readAllBytes();
      byte[] counting = counts(name) ? counting(bytes) : bytes;
      return defineClass(name, counting, 0, counting.length);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean counts(String name) {
    return ROOMS.contains(room(name)) && !PLANNERS.contains(name);
  }

  private static String room(String name) {
    String rest = name.substring(PRODUCT.length());
    return rest.substring(0, Math.max(0, rest.indexOf('.')));
  }

  private static byte[] counting(byte[] bytes) {
    ClassFile files = ClassFile.of();
    ClassModel model = files.parse(bytes);
    String owner = model.thisClass().asInternalName();
    ClassTransform all =
        (builder, element) -> {
          if (element instanceof MethodModel method && method.code().isPresent()) {
            String place = owner.substring(PRODUCT.length()) + "." + method.methodName();
            builder.transformMethod(
                method, java.lang.classfile.MethodTransform.transformingCode(counts(owner, place)));
          } else {
            builder.with(element);
          }
        };
    return files.transformClass(model, all);
  }

  private static CodeTransform counts(String owner, String place) {
    return (code, element) -> {
      if (computes(owner, element)) {
        count(code, place);
      }
      code.with(element);
    };
  }

  private static void count(CodeBuilder code, String place) {
    code.ldc(place).invokestatic(COUNTER, "count", COUNT);
  }

  private static boolean isReal(TypeKind kind) {
    return kind == TypeKind.DOUBLE || kind == TypeKind.FLOAT;
  }

  private static boolean isArrayOfReals(ClassDesc type) {
    return type.isArray() && isReal(TypeKind.from(type.componentType()));
  }

  private static boolean computes(String owner, CodeElement element) {
    return switch (element) {
      case ArrayStoreInstruction store -> isReal(store.typeKind());
      case ArrayLoadInstruction load -> isReal(load.typeKind());
      case NewPrimitiveArrayInstruction array -> isReal(array.typeKind());
      case InvokeInstruction call -> {
        String callee = call.owner().asInternalName();
        String name = call.name().stringValue();
        yield isArrayOfReals(call.typeSymbol().returnType())
            || (KERNELS.contains(callee) && !KERNELS.contains(owner) && !name.equals("backEnd"))
            || (callee.startsWith("java/util/") && DRAWS.contains(name));
      }
      default -> false;
    };
  }
}
