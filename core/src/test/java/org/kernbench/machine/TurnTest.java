package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Names of bytes, beside those found byte by byte. */
final class TurnTest {
  private static final int START = 100;
  private static final int BYTES = 40;
  private static final int STEP = 10;
  private static final int ROUNDS = 2;
  private static final Turn TURN = new Turn(START, BYTES, STEP, ROUNDS);

  /** What package 0 calls a byte that package {@code sip} has at an offset. */
  private static int ofByte(int sip, int offset) {
    if (offset < START || offset >= START + BYTES * ROUNDS) {
      return offset;
    }
    int round = START + (offset - START) / BYTES * BYTES;
    int in = offset - round;
    for (int back = 0; back < sip * STEP; back++) {
      in = in == 0 ? BYTES - 1 : in - 1;
    }
    return round + in;
  }

  @Test
  void name_isThatOfTheFirstByte_whereTheOthersFollowItInItsRound() {
    for (int sip = 0; sip < 6; sip++) {
      for (int offset = START; offset < START + BYTES * ROUNDS; offset++) {
        for (int extent : new int[] {1, 5, 10, 40}) {
          boolean follow = (offset - START) % BYTES + extent <= BYTES;
          for (int i = 0; follow && i < extent; i++) {
            follow = ofByte(sip, offset + i) == ofByte(sip, offset) + i;
          }
          assertThat(TURN.name(sip, offset, extent))
              .as("package %s, %s bytes from %s on", sip, extent, offset)
              .isEqualTo(follow ? ofByte(sip, offset) : -1);
        }
      }
    }
  }

  @Test
  void bytesThatAreNotTurned_haveTheirOwnNames() {
    assertThat(TURN.name(3, START - 1, 4)).isEqualTo(START - 1);
    assertThat(TURN.name(3, START + BYTES * ROUNDS, 4)).isEqualTo(START + BYTES * ROUNDS);
    assertThat(Turn.NONE.name(3, 0, 4)).isZero();
    assertThat(TURN.at(1000).name(1, 1010, 10)).isEqualTo(1000);
  }
}
