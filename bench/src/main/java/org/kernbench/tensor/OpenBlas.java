package org.kernbench.tensor;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.List;

/**
 * {@code cblas_sgemm} of the OpenBLAS that is installed on this machine, on one thread: what our
 * products are measured against. Only benchmarks use it.
 */
final class OpenBlas {
  private static final List<String> NAMES =
      List.of("libopenblas.so.0", "libopenblas.so", "libopenblas.dylib", "libopenblas.dll");

  private static final int ROW_MAJOR = 101;
  private static final int NO_TRANSPOSE = 111;

  private final MethodHandle sgemm;
  private final String kernels;

  private OpenBlas(MethodHandle sgemm, String kernels) {
    this.sgemm = sgemm;
    this.kernels = kernels;
  }

  /**
   * Loads the library, once per process.
   *
   * @param kernels its name for the processor whose kernels it shall use, for example {@code
   *     SKYLAKEX} for AVX-512; empty for its own choice, which on processors newer than the library
   *     is an old one
   */
  static OpenBlas load(String kernels) throws Throwable {
    Linker linker = Linker.nativeLinker();
    if (!kernels.isEmpty()) {
      MethodHandle setenv =
          linker.downcallHandle(
              linker.defaultLookup().findOrThrow("setenv"),
              FunctionDescriptor.of(
                  ValueLayout.JAVA_INT,
                  ValueLayout.ADDRESS,
                  ValueLayout.ADDRESS,
                  ValueLayout.JAVA_INT));
      MemorySegment name = Arena.global().allocateFrom("OPENBLAS_CORETYPE");
      MemorySegment value = Arena.global().allocateFrom(kernels);
      if ((int) setenv.invokeExact(name, value, 1) != 0) {
        throw new IllegalStateException("setenv failed");
      }
    }
    SymbolLookup library = library();
    MethodHandle threads =
        linker.downcallHandle(
            library.findOrThrow("openblas_set_num_threads"),
            FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT));
    threads.invokeExact(1);
    MethodHandle core =
        linker.downcallHandle(
            library.findOrThrow("openblas_get_corename"),
            FunctionDescriptor.of(ValueLayout.ADDRESS));
    MemorySegment text = (MemorySegment) core.invokeExact();
    MethodHandle sgemm =
        linker.downcallHandle(
            library.findOrThrow("cblas_sgemm"),
            FunctionDescriptor.ofVoid(
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_FLOAT,
                ValueLayout.ADDRESS,
                ValueLayout.JAVA_INT,
                ValueLayout.ADDRESS,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_FLOAT,
                ValueLayout.ADDRESS,
                ValueLayout.JAVA_INT));
    return new OpenBlas(sgemm, text.reinterpret(64).getString(0));
  }

  private static SymbolLookup library() {
    String named = System.getProperty("kernbench.openblas", "");
    for (String name : named.isEmpty() ? NAMES : List.of(named)) {
      try {
        return SymbolLookup.libraryLookup(name, Arena.global());
      } catch (IllegalArgumentException e) {
        // try the next name
      }
    }
    throw new IllegalStateException(
        "OpenBLAS not found: looked for "
            + (named.isEmpty() ? String.join(", ", NAMES) : named)
            + ". Install it (Debian, Ubuntu: apt-get install libopenblas0; Fedora: dnf install"
            + " openblas; macOS: brew install openblas) or name the file:"
            + " scripts/bench Gemm -jvmArgsAppend -Dkernbench.openblas=/path/to/libopenblas.so");
  }

  /** The processor whose kernels it uses, as it calls it. */
  String kernels() {
    return kernels;
  }

  /** {@code C = A B}, dense and row-major, {@code [m, k]} by {@code [k, n]}. */
  void multiply(MemorySegment a, MemorySegment b, MemorySegment c, int m, int n, int k)
      throws Throwable {
    sgemm.invokeExact(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1f, a, k, b, n, 0f, c, n);
  }
}
