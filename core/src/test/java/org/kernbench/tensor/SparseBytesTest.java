package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
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
    int[] loans = {0}; // that have not been given back
    for (int step = 0; step < 4000; step++) {
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
      } else if (step % 30 == 7) {
        int many = random.nextInt(20_000);
        int to = random.nextInt(size - many + 1);
        byte[] data = new byte[many + 3];
        random.nextBytes(data);
        loans[0]++;
        Loan loan = new Loan(MemorySegment.ofArray(data), () -> loans[0]--);
        memory.lend(to, loan, 3, many);
        loan.release();
        System.arraycopy(data, 3, model, to, many);
        Arrays.fill(written, to, to + many, true);
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
    assertThat(loans[0]).isBetween(1, 10);
    memory.erase(0, size);
    assertThat(loans[0]).isZero();
  }

  /** Each page is either a copy or lent, and a loan ends with the last page that needs it. */
  @Test
  void lend_ofWholePages_holdsNoCopy_andEndsWithTheLastPage() {
    SparseBytes memory = new SparseBytes(1 << 20);
    SparseBytes other = new SparseBytes(1 << 20);
    int[] returned = {0};
    byte[] lent = new byte[3 * 4096 + 100];
    Arrays.fill(lent, (byte) 7);
    Loan loan = new Loan(MemorySegment.ofArray(lent), () -> returned[0]++);
    memory.lend(8192, loan, 0, 3 * 4096);
    other.lend(8192 + 10, loan, 100, 3 * 4096);
    loan.release();
    byte[] read = new byte[1];
    lent[5000] = 9; // seen: nothing was copied
    memory.read(8192 + 5000, read, 0, 1);
    assertThat(read[0]).isEqualTo((byte) 9);
    memory.write(8192 + 5000, new byte[] {1}, 0, 1);
    assertThat(lent[5000]).as("the lender's bytes are never written").isEqualTo((byte) 9);
    memory.erase(8192 + 4096, 4096);
    memory.erase(8192, 4096);
    other.erase(0, 1 << 20);
    assertThat(returned[0]).isZero();
    memory.erase(8192 + 8192 + 5, 10);
    assertThat(returned[0]).as("the last page was cut, so it is a copy").isEqualTo(1);
    memory.read(8192 + 8192, read, 0, 1);
    assertThat(read[0]).isEqualTo((byte) 7);
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
