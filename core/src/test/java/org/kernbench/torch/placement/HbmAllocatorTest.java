package org.kernbench.torch.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.kernbench.machine.Pe;

final class HbmAllocatorTest {
  private static final Pe PE = new Pe(0, 3, 1);

  @Test
  void allocate_afterFree_reusesTheMemory() {
    HbmAllocator hbm = new HbmAllocator(1024);
    long a = hbm.allocate(PE, 512, "a");
    long b = hbm.allocate(PE, 512, "b");
    assertThat(List.of(a, b)).containsExactly(0L, 512L);
    hbm.free(PE, a, 512);
    assertThat(hbm.allocate(PE, 100, "c")).isEqualTo(0);
    assertThat(hbm.freeBytes(PE)).isEqualTo(1024 - 512 - 128);
  }

  @Test
  void allocate_noBytes_takesNothing() {
    HbmAllocator hbm = new HbmAllocator(64);
    hbm.free(PE, hbm.allocate(PE, 0, "empty"), 0);
    assertThat(hbm.freeBytes(PE)).isEqualTo(64);
  }

  @Test
  void allocate_tooMuch_namesWhatFillsTheMemory() {
    HbmAllocator hbm = new HbmAllocator(4L << 30);
    hbm.allocate(PE, 2L << 30, "kvCache");
    hbm.allocate(PE, 1L << 30, "weights");
    assertThatThrownBy(() -> hbm.allocate(PE, 3L << 29, "activations"))
        .isInstanceOf(OutOfHbmException.class)
        .hasMessage(
            "sip0.cube3.pe1: out of HBM for tensor activations: requested 1.5 GiB, free 1 GiB of"
                + " 4 GiB; largest: kvCache 2 GiB, weights 1 GiB; close tensors that are done with,"
                + " divide this one over more PEs (DpPolicy), or give the machine more HBM");
  }

  @Test
  void allocate_inPieces_namesTheLargestPiece() {
    HbmAllocator hbm = new HbmAllocator(256);
    long a = hbm.allocate(PE, 64, "a");
    hbm.allocate(PE, 128, "b");
    hbm.free(PE, a, 64);
    assertThatThrownBy(() -> hbm.allocate(PE, 128, "c"))
        .hasMessageContaining("free 128 B of 256 B in 2 pieces, the largest 64 B");
  }

  /** The predecessor's allocators took back anything. */
  @Test
  void free_whatIsNotAllocated_isRefused() {
    HbmAllocator hbm = new HbmAllocator(1024);
    long a = hbm.allocate(PE, 128, "a");
    assertThatThrownBy(() -> hbm.free(PE, a + 64, 64)).hasMessageContaining("nothing is allocated");
    hbm.free(PE, a, 128);
    assertThatThrownBy(() -> hbm.free(PE, a, 128)).hasMessageContaining("nothing is allocated");
    assertThatThrownBy(() -> hbm.free(new Pe(0, 0, 0), 0, 64))
        .hasMessageContaining("nothing is allocated");
    assertThat(hbm.freeBytes(PE)).isEqualTo(1024);
  }

  /** Against the slow twin: a byte map in which live blocks may never meet. */
  @Test
  void allocate_randomSequence_blocksNeverOverlapAndAllComesBack() {
    int size = 1 << 14;
    HbmAllocator hbm = new HbmAllocator(size);
    boolean[] taken = new boolean[size];
    record Block(long offset, int bytes) {}
    List<Block> live = new ArrayList<>();
    Random random = new Random(7);
    for (int i = 0; i < 5000; i++) {
      if (random.nextBoolean() || live.isEmpty()) {
        int bytes = 1 + random.nextInt(900);
        if (hbm.freeBytes(PE) < size / 4) {
          continue;
        }
        long offset;
        try {
          offset = hbm.allocate(PE, bytes, "t");
        } catch (OutOfHbmException e) {
          continue;
        }
        for (long b = offset; b < offset + bytes; b++) {
          assertThat(taken[(int) b]).isFalse();
          taken[(int) b] = true;
        }
        live.add(new Block(offset, bytes));
      } else {
        Block b = live.remove(random.nextInt(live.size()));
        hbm.free(PE, b.offset, b.bytes);
        for (long at = b.offset; at < b.offset + b.bytes; at++) {
          taken[(int) at] = false;
        }
      }
    }
    live.forEach(b -> hbm.free(PE, b.offset, b.bytes));
    assertThat(hbm.allocate(PE, size, "everything")).isEqualTo(0);
  }
}
