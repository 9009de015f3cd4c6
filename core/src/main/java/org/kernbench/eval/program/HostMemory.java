package org.kernbench.eval.program;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Memory of this process outside the heap, for arrays. {@link Arena#allocate} writes zeros to it,
 * page by page; on Linux large memory comes from the system instead, which clears it when it is
 * touched, 2 MiB at a time where it may (transparent huge pages): a GiB then takes 512 page faults
 * and not 262,144.
 */
final class HostMemory {
  private static final long LARGE_BYTES = 32 << 20;

  private HostMemory() {}

  /** Memory with any contents, given back when the arena is closed. */
  static MemorySegment take(long bytes, Arena arena) {
    boolean isOfSystem =
        bytes >= LARGE_BYTES
            && System.getProperty("os.name").equals("Linux")
            && HostMemory.class.getModule().isNativeAccessEnabled();
    MemorySegment memory = isOfSystem ? Linux.map(bytes) : MemorySegment.NULL;
    return memory.equals(MemorySegment.NULL)
        ? arena.allocate(bytes)
        : memory.reinterpret(bytes, arena, own -> Linux.unmap(own, bytes));
  }

  /** Calls of the system; loaded when they are first needed. */
  private static final class Linux {
    private static final int PROT_READ_WRITE = 0x3;
    private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
    private static final int MADV_HUGEPAGE = 14;

    private static final MethodHandle MMAP =
        call(
            "mmap",
            FunctionDescriptor.of(
                ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));

    /** Its result does not matter: whether pages are large is the system's to decide. */
    private static final MethodHandle MADVISE =
        call("madvise", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG, JAVA_INT));

    private static final MethodHandle MUNMAP =
        call("munmap", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));

    private static MethodHandle call(String name, FunctionDescriptor descriptor) {
      Linker linker = Linker.nativeLinker();
      return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), descriptor);
    }

    /** Null if there is none. */
    static MemorySegment map(long bytes) {
      try {
        MemorySegment memory =
            (MemorySegment)
                MMAP.invokeExact(
                    MemorySegment.NULL, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0L);
        if (memory.address() == -1) {
          return MemorySegment.NULL;
        }
        MADVISE.invokeExact(memory, bytes, MADV_HUGEPAGE);
        return memory;
      } catch (Throwable e) {
        throw new IllegalStateException("mmap", e);
      }
    }

    static void unmap(MemorySegment memory, long bytes) {
      try {
        int failed = (int) MUNMAP.invokeExact(memory, bytes);
        if (failed != 0) {
          throw new IllegalStateException("munmap of " + bytes + " bytes failed");
        }
      } catch (Throwable e) {
        throw new IllegalStateException("munmap", e);
      }
    }
  }
}
