package org.kernbench.torch.placement;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.kernbench.tensor.Shape;

/** Parts of tensors, copied whole and in pieces, beside a copy element by element. */
final class ShardCopyTest {
  private static final int ELEMENT = 2;

  private final Random random = new Random(11);

  private Shape shape(int rank) {
    int[] dims = new int[rank];
    for (int i = 0; i < rank; i++) {
      dims[i] = 1 + random.nextInt(5);
    }
    return Shape.of(dims);
  }

  private ShardSpec part(Shape whole) {
    int[] dims = new int[whole.rank()];
    List<Integer> offset = new ArrayList<>();
    for (int i = 0; i < dims.length; i++) {
      dims[i] = random.nextInt(3) == 0 ? whole.dim(i) : 1 + random.nextInt(whole.dim(i));
      offset.add(random.nextInt(whole.dim(i) - dims[i] + 1));
    }
    return new ShardSpec(0, 0, 0, offset, Shape.of(dims));
  }

  /** By element of the part, which element of the whole it is. */
  private static int[] places(Shape whole, ShardSpec part) {
    int[] places = new int[(int) part.shape().elements()];
    for (int i = 0; i < places.length; i++) {
      int rest = i;
      int stride = 1;
      for (int axis = whole.rank() - 1; axis >= 0; axis--) {
        int index = part.offset().get(axis) + rest % part.shape().dim(axis);
        rest /= part.shape().dim(axis);
        places[i] += index * stride;
        stride *= whole.dim(axis);
      }
    }
    return places;
  }

  private static byte[] numbered(int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) (i + 1);
    }
    return bytes;
  }

  @Test
  void copies_ofRandomParts_moveEachElement() {
    for (int trial = 0; trial < 300; trial++) {
      Shape whole = shape(trial % 5);
      ShardSpec part = part(whole);
      int[] places = places(whole, part);
      byte[] all = numbered((int) whole.elements() * ELEMENT);
      byte[] own = new byte[places.length * ELEMENT];
      byte[] back = new byte[all.length];
      for (int i = 0; i < own.length; i++) {
        own[i] = all[places[i / ELEMENT] * ELEMENT + i % ELEMENT];
        back[places[i / ELEMENT] * ELEMENT + i % ELEMENT] = own[i];
      }
      ShardCopy copy = new ShardCopy(whole, part, ELEMENT);

      byte[] gathered = new byte[own.length];
      copy.gather(all, gathered);
      assertThat(gathered).as("%s of %s", part, whole).isEqualTo(own);
      byte[] scattered = new byte[all.length];
      copy.scatter(own, scattered);
      assertThat(scattered).isEqualTo(back);
      for (int piece : new int[] {1, 3, 8, own.length, own.length + 1}) {
        inPieces(copy, piece, all, own, back);
      }
      assertThat(copy.isWhole()).isEqualTo(own.length == all.length);
    }
  }

  /** Pieces come in order, each full but the last, and each once. */
  private static void inPieces(ShardCopy copy, int size, byte[] all, byte[] own, byte[] back) {
    byte[] piece = new byte[size];
    byte[] gathered = new byte[own.length];
    List<Long> starts = new ArrayList<>();
    List<Long> expected = new ArrayList<>();
    for (long at = 0; at < own.length; at += size) {
      expected.add(at);
    }
    copy.gather(
        MemorySegment.ofArray(all),
        piece,
        (at, bytes) -> {
          starts.add(at);
          assertThat(bytes).isEqualTo((int) Math.min(size, own.length - at));
          System.arraycopy(piece, 0, gathered, (int) at, bytes);
        });
    assertThat(gathered).isEqualTo(own);
    assertThat(starts).isEqualTo(expected);

    starts.clear();
    byte[] scattered = new byte[all.length];
    copy.scatter(
        piece,
        (at, bytes) -> {
          starts.add(at);
          assertThat(bytes).isEqualTo((int) Math.min(size, own.length - at));
          Arrays.fill(piece, (byte) 0);
          System.arraycopy(own, (int) at, piece, 0, bytes);
        },
        MemorySegment.ofArray(scattered));
    assertThat(scattered).isEqualTo(back);
    assertThat(starts).isEqualTo(expected);
  }

  @Test
  void partWithoutElements_copiesNothing() {
    ShardCopy copy =
        new ShardCopy(Shape.of(3, 4), new ShardSpec(0, 0, 0, List.of(0, 0), Shape.of(0, 4)), 1);
    byte[] all = numbered(12);

    copy.gather(all, new byte[0]);
    copy.scatter(new byte[0], all);

    assertThat(all).isEqualTo(numbered(12));
  }

  @Test
  void position_isCountedInThePart() {
    ShardSpec part = new ShardSpec(0, 0, 0, List.of(1, 2), Shape.of(2, 3));
    ShardCopy copy = new ShardCopy(Shape.of(4, 6), part, 1);
    int next = 0;
    for (int row = 0; row < 4; row++) {
      for (int column = 0; column < 6; column++) {
        boolean inside = row >= 1 && row < 3 && column >= 2 && column < 5;
        assertThat(copy.position(new int[] {row, column})).isEqualTo(inside ? next++ : -1);
      }
    }
    assertThat(next).isEqualTo(6);
  }
}
