package org.kernbench.device.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;

/** Rows that are kept by kind come out as they went in, later, elsewhere in the log. */
final class OpRowsTest {
  private static final Machine MACHINE = Machines.load("tiny", List.of());
  private static final int PES = 2;
  private static final int ROWS = 200;
  private static final int FIRST_ORDINAL = 17;

  /** A row as it ends; of each PE the ids grow with the numbers of commands. */
  private record Row(int slot, int row, int kinds, long longest) {
    int id() {
      return 1000 + row * PES + slot;
    }

    Random own() {
      return new Random(31L * id());
    }

    int kindOf() {
      return new Random(7L * id()).nextInt(kinds);
    }

    int causeRow() {
      return row == 0 || row % 3 == 0 ? -1 : new Random(id()).nextInt(row);
    }

    long time(int which, long startPs) {
      return startPs + Math.floorMod(own().nextLong() * (which + 1), longest) - longest / 8;
    }

    long contentionPs() {
      return row % 5 == 0 ? Math.floorMod(own().nextLong(), longest) : 0;
    }

    void addTo(OpRows rows, long startPs) {
      int kind = kindOf();
      int cause = causeRow();
      rows.add(
          id(),
          FIRST_ORDINAL + slot + row,
          slot,
          kind % 3,
          OpKind.values()[kind % OpKind.values().length],
          Cause.values()[kind % Cause.values().length],
          cause < 0 ? -1 : 1000 + cause * PES + slot,
          kind * 64,
          kind % 4 - 1,
          0,
          0,
          time(0, startPs),
          time(1, startPs),
          time(2, startPs),
          contentionPs(),
          kind * 3L,
          (long) kind << 33);
    }

    /** Against what the log has; written at {@code firstId} of its PE, for other launches. */
    void check(OpLog log, int firstId, long startPs, int[] launches) {
      int id = firstId + row;
      int kind = kindOf();
      assertThat(log.has(id)).isTrue();
      assertThat(log.kind(id)).isEqualTo(OpKind.values()[kind % OpKind.values().length]);
      assertThat(log.cause(id)).isEqualTo(Cause.values()[kind % Cause.values().length]);
      assertThat(log.causeOp(id)).isEqualTo(causeRow() < 0 ? -1 : firstId + causeRow());
      assertThat(log.bytes(id)).isEqualTo(kind * 64);
      assertThat(log.link(id)).isEqualTo(kind % 4 - 1);
      assertThat(log.launch(id)).isEqualTo(launches[kind % 3]);
      assertThat(log.issuePs(id)).isEqualTo(time(0, startPs));
      assertThat(log.startPs(id)).isEqualTo(time(1, startPs));
      assertThat(log.endPs(id)).isEqualTo(time(2, startPs));
      assertThat(log.contentionPs(id)).isEqualTo(contentionPs());
      assertThat(log.serialisationPs(id)).isEqualTo(kind * 3L);
      assertThat(log.translationPs(id)).isEqualTo((long) kind << 33);
      assertThat(MACHINE.peIndex(log.pe(id))).isEqualTo(slot);
    }
  }

  private static List<Row> rows(int kinds, long longest, long seed) {
    Random random = new Random(seed);
    List<Row> rows = new ArrayList<>();
    for (int slot = 0; slot < PES; slot++) {
      for (int row = 0; row < ROWS; row++) {
        rows.add(new Row(slot, row, kinds, longest));
      }
    }
    Collections.shuffle(rows, random);
    return rows;
  }

  @ParameterizedTest
  @ValueSource(longs = {1_000_000, 1L << 30, 1L << 45})
  void rows_areWrittenAgainAsTheyWere_atAnotherTimeAndPlace(long longest) {
    for (int kinds : new int[] {1, 5, 150}) {
      List<Row> rows = rows(kinds, longest, kinds);
      OpRows kept = new OpRows();
      rows.forEach(row -> row.addTo(kept, 5_000));
      OpLog log = new OpLog(MACHINE, 10_000);
      assertThat(kept.finish(new int[] {FIRST_ORDINAL, FIRST_ORDINAL + 1}, 5_000, log, 0)).isTrue();
      assertThat(kept.size()).isEqualTo(PES * ROWS);
      assertThat(kept.indexIn(1, 1000 + 7 * PES + 1)).isEqualTo(7);
      assertThat(kept.indexIn(0, 1000 + 7 * PES + 1)).isEqualTo(-1);
      kept.forgetIds();
      int[] launches = {4, 2, 9};
      RowIds ids = new RowIds();
      for (int slot = 0; slot < PES; slot++) {
        ids.reserve(log, slot, ROWS);
      }
      int[] firstIds = {ids.id(0, 0), ids.id(1, 0)};
      for (int slot = 0; slot < PES; slot++) {
        kept.write(log, log.tally(), slot, ids, 300, slot, launches, 0, 77_000_000_000L);
      }
      rows.forEach(row -> row.check(log, firstIds[row.slot()], 77_000_000_000L, launches));
    }
  }

  /** A receive waits for a send of another PE, which has an id of its own when written again. */
  @Test
  void write_causeOnAnotherPe_isItsRowThere() {
    OpRows rows = new OpRows();
    add(rows, 1, 0, 0, -1);
    add(rows, 3, 1, 0, 2);
    add(rows, 2, 0, 1, 1);
    assertThat(rows.finish(new int[] {0, 0}, 0, new OpLog(MACHINE, 10), 0)).isTrue();
    assertThat(List.of(rows.indexOf(1), rows.indexOf(3), rows.indexOf(2), rows.indexOf(4)))
        .containsExactly(0, 1, 2, -1);
    rows.forgetIds();

    OpLog log = new OpLog(MACHINE, 10);
    log.reserve(4);
    RowIds ids = new RowIds();
    ids.reserve(log, 1, 1); // 4
    ids.reserve(log, 0, 2); // 5 and 6
    for (int slot = 0; slot < 2; slot++) {
      rows.write(log, log.tally(), slot, ids, 0, slot, new int[] {0}, 0, 0);
    }
    assertThat(log.causeOp(5)).isEqualTo(-1);
    assertThat(log.causeOp(6)).as("of PE 0, of PE 1").isEqualTo(4);
    assertThat(log.causeOp(4)).as("of PE 1, of PE 0").isEqualTo(5);
  }

  @Test
  void finish_causeOfNobody_isRefused() {
    OpRows rows = new OpRows();
    add(rows, 1, 0, 0, -1);
    add(rows, 2, 0, 1, 7);
    assertThat(rows.finish(new int[] {0, 0}, 0, new OpLog(MACHINE, 10), 0)).isFalse();
  }

  @Test
  void finish_causeBefore_isRefused() {
    OpRows rows = new OpRows();
    add(rows, 2, 0, 0, 1);
    assertThat(rows.finish(new int[] {0}, 0, new OpLog(MACHINE, 10), 0)).isFalse();
  }

  private static void add(OpRows rows, int id, int ordinal, int slot, int causeOp) {
    rows.add(
        id, ordinal, slot, 0, OpKind.MATH, Cause.OPERAND, causeOp, 1, -1, 0, 0, 1, 2, 3, 0, 0, 0);
  }
}
