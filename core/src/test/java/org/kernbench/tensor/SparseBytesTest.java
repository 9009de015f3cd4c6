package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SparseBytesTest {
  /** Random writes, fills and reads against a plain array and one flag per byte. */
  @Test
  void memory_randomAccesses_matchesPlainArray() {
    int size = 40_000;
    SparseBytes memory = new SparseBytes(size);
    byte[] model = new byte[size];
    boolean[] written = new boolean[size];
    SplittableRandom random = new SplittableRandom(3);
    for (int step = 0; step < 2000; step++) {
      int n = random.nextInt(random.nextInt(10) == 0 ? 9000 : 40);
      int at = random.nextInt(size - n + 1);
      if (step % 3 == 0) {
        byte[] data = new byte[n + 5];
        random.nextBytes(data);
        memory.write(at, data, 5, n);
        System.arraycopy(data, 5, model, at, n);
        Arrays.fill(written, at, at + n, true);
      } else if (step % 30 == 4) {
        memory.erase(at, n);
        Arrays.fill(model, at, at + n, (byte) 0);
        Arrays.fill(written, at, at + n, false);
      } else if (step % 30 == 1) {
        byte[] pattern = new byte[1 + random.nextInt(7)];
        random.nextBytes(pattern);
        memory.fill(at, n, pattern);
        for (int i = 0; i < n; i++) {
          model[at + i] = pattern[i % pattern.length];
          written[at + i] = true;
        }
      } else {
        byte[] read = new byte[n + 2];
        memory.read(at, read, 2, n);
        assertThat(Arrays.copyOfRange(read, 2, n + 2))
            .isEqualTo(Arrays.copyOfRange(model, at, at + n));
        long first = -1;
        for (int i = at + n - 1; i >= at; i--) {
          first = written[i] ? first : i;
        }
        assertThat(memory.firstUnwritten(at, n)).isEqualTo(first);
        assertThat(memory.isWritten(at, n)).isEqualTo(first < 0);
      }
    }
  }

  @Test
  void erase_manyPages_givesMemoryBackAndKeepsTheOthers() {
    SparseBytes memory = new SparseBytes(1L << 40);
    SplittableRandom random = new SplittableRandom(11);
    long[] pages = random.longs(3000, 0, 1L << 28).distinct().toArray();
    byte[] one = {1};
    for (long page : pages) {
      memory.write(page << 12, one, 0, 1);
    }
    for (int i = 0; i < pages.length; i += 2) {
      memory.erase(pages[i] << 12, 4096);
    }
    for (int i = 0; i < pages.length; i++) {
      assertThat(memory.isWritten(pages[i] << 12, 1)).isEqualTo(i % 2 == 1);
    }
    memory.erase(0, 1L << 40);
    assertThat(memory.residentBytes()).isZero();
  }

  @Test
  void memory_hugeAndSparse_holdsOnlyWhatWasTouched() {
    SparseBytes memory = new SparseBytes(1L << 48);
    assertThat(memory.residentBytes()).isZero();
    byte[] one = {42};
    for (int i = 0; i < 1000; i++) {
      memory.write((long) i * 257 << 30, one, 0, 1);
    }
    byte[] read = new byte[2];
    for (int i = 0; i < 1000; i++) {
      memory.read((long) i * 257 << 30, read, 0, 2);
      assertThat(read).containsExactly(42, 0);
    }
    assertThat(memory.residentBytes()).isEqualTo(1000L * (4096 + 512));
    memory.fill(0, 4096, one);
    assertThat(memory.residentBytes()).isEqualTo(1000L * (4096 + 512) - 512);
  }

  @Test
  void memory_outOfBounds_isAnErrorWithPlace() {
    SparseBytes memory = new SparseBytes(100);
    byte[] data = new byte[10];
    memory.write(90, data, 0, 10);
    assertThatThrownBy(() -> memory.write(91, data, 0, 10))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessage("10 bytes at address 91: the memory has 100 bytes");
    assertThatThrownBy(() -> memory.read(-1, data, 0, 1))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> memory.isWritten(Long.MAX_VALUE, 2))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> memory.fill(0, 1, new byte[0]))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
