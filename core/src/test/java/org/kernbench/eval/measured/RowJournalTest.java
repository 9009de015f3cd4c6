package org.kernbench.eval.measured;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** Rows go on where they were stopped, and in parallel they are the same. */
final class RowJournalTest {
  @TempDir private Path folder;

  private static RowSimulator.Simulated row(int i) {
    return new RowSimulator.Simulated(i / 3.0, i / 7.0, "why " + i);
  }

  private RowSimulator.Simulated asked(RowJournal journal, int i, AtomicInteger simulated) {
    return journal.row(
        "row " + i,
        () -> {
          simulated.incrementAndGet();
          return row(i);
        });
  }

  @Test
  void stopped_goesOn_withoutTheLineThatWasCutOff() throws IOException {
    Path file = folder.resolve("t.rows");
    AtomicInteger simulated = new AtomicInteger();
    RowJournal first = RowJournal.open(file, false, "machine");
    for (int i = 0; i < 5; i++) {
      asked(first, i, simulated);
    }
    String text = Files.readString(file);
    Files.writeString(file, text.substring(0, text.length() - 3));

    RowJournal second = RowJournal.open(file, true, "machine");
    assertThat(second.size()).isEqualTo(4);
    for (int i = 0; i < 6; i++) {
      assertThat(asked(second, i, simulated)).isEqualTo(row(i));
    }
    assertThat(simulated).hasValue(5 + 2);
    assertThat(RowJournal.open(file, true, "machine").size()).isEqualTo(6);
  }

  @Test
  void otherMachine_beginsAnew() {
    Path file = folder.resolve("t.rows");
    asked(RowJournal.open(file, false, "machine"), 1, new AtomicInteger());

    assertThat(RowJournal.open(file, true, "other").size()).isZero();
    assertThat(RowJournal.open(file, true, "machine").size()).isZero();
  }

  @Test
  void notResumed_beginsAnew() {
    Path file = folder.resolve("t.rows");
    asked(RowJournal.open(file, false, "machine"), 1, new AtomicInteger());

    assertThat(RowJournal.open(file, false, "machine").size()).isZero();
  }

  @Test
  void inParallel_orderAndFirstErrorAreThoseOfTheList() {
    List<Integer> all = IntStream.range(0, 100).boxed().toList();

    assertThat(InParallel.map(all, 3, i -> i * i)).isEqualTo(all.stream().map(i -> i * i).toList());
    assertThatThrownBy(() ->
            InParallel.map(
                all,
                3,
                i -> {
                  if (i > 40) {
                    throw new IllegalArgumentException("" + i);
                  }
                  return i;
                }))
        .hasMessage("41");
  }

  @Test
  void tables_inParallel_areTheSameToTheByte() {
    MeasuredRow steps =
        new MeasuredRow(
            "x", "gpt-step", List.of("tp=2"), List.of(), MeasuredRow.Metric.OBSERVED, 1, 1, 0, "");
    List<MeasuredRow> rows =
        IntStream.range(0, 6)
            .mapToObj(i ->
                new MeasuredRow(
                    "x",
                    i % 2 == 0 ? "gelu" : "gpt-step",
                    List.of(i % 2 == 0 ? "elements=" + (100 << i) : "batch=" + (i + 1)),
                    List.of(),
                    steps.metric(),
                    1e6,
                    1,
                    0,
                    ""))
            .toList();
    MeasuredFile file = new MeasuredFile("t.csv", "hash", rows);

    assertThat(ValidationReport.json(validated(file, 4)))
        .isEqualTo(ValidationReport.json(validated(file, 1)));
  }

  private static Validation validated(MeasuredFile file, int jobs) {
    RowSimulator simulator =
        new RowSimulator(
            Runner.of("test", Progress.SILENT),
            BenchRegistry.standard()::find,
            RunOptions.DEFAULT.withTopology("dgx-a100"),
            jobs,
            Optional.empty());
    return Validation.of(file, "dgx-a100", simulator, List.of());
  }
}
