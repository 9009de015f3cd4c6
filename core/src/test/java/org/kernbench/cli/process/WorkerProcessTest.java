package org.kernbench.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.sweep.Sweep;
import org.kernbench.eval.sweep.SweepRow;
import org.kernbench.eval.sweep.SweepRunner;

/** Both ends of the pipe between a sweep and its workers. */
final class WorkerProcessTest {
  private final Sweep sweep =
      Sweep.of(
          BenchRegistry.standard().find("hello-send"),
          RunOptions.DEFAULT.withTopology("tiny"),
          List.of(Sweep.Axis.parse("n_elem=1,2,1000")),
          "test",
          "");

  private static byte[] request(int index, String key) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeInt(index);
    out.writeUTF(key);
    return bytes.toByteArray();
  }

  private static List<SweepRow> rows(byte[] bytes) throws IOException {
    List<SweepRow> rows = new ArrayList<>();
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
    while (in.available() > 0) {
      List<String> texts = new ArrayList<>();
      for (int left = in.readInt(); left > 0; left--) {
        texts.add(new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8));
      }
      rows.add(SweepRow.fromTexts(texts));
    }
    return rows;
  }

  @Test
  void serve_pointsInAnyOrder_writesTheirRowsAndEndsAtAKeyOfAnotherSweep() throws Exception {
    ByteArrayOutputStream asked = new ByteArrayOutputStream();
    List<Sweep.Point> points = sweep.points();
    asked.writeBytes(request(2, points.get(2).key()));
    asked.writeBytes(request(0, points.get(0).key()));
    asked.writeBytes(request(1, "another"));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    CountDownLatch ended = new CountDownLatch(1);
    InputStream in = new ByteArrayInputStream(asked.toByteArray());

    assertThat(WorkerProcess.serve(sweep, in, out, ended::countDown)).isEqualTo(1);

    assertThat(ended.await(10, TimeUnit.SECONDS)).as("told of the end of its input").isTrue();
    List<SweepRow> rows = rows(out.toByteArray());
    assertThat(rows).hasSize(2);
    SweepRunner.Worker here = SweepRunner.inPlace(sweep);
    assertSame(rows.get(0), here.run(points.get(2)));
    assertSame(rows.get(1), here.run(points.get(0)));
  }

  /** A sweep that is gone reads no rows: its worker ends as one that failed. */
  @Test
  void serve_whereNobodyReads_endsWithItsExitCode() throws Exception {
    InputStream in = new ByteArrayInputStream(request(0, sweep.points().getFirst().key()));
    OutputStream closed =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            throw new IOException("closed");
          }
        };

    assertThat(WorkerProcess.serve(sweep, in, closed, () -> {})).isEqualTo(1);
  }

  /** All but the time that the host took. */
  private static void assertSame(SweepRow row, SweepRow expected) {
    assertThat(row).usingRecursiveComparison().ignoringFields("wallMs").isEqualTo(expected);
  }

  @Test
  void growing_processThatEndsAtOnce_saysWhatItComplainedOf() {
    try (SweepRunner.Worker worker = WorkerProcess.growing(List.of("sweep", "--no-such-option"))) {
      assertThatThrownBy(() -> worker.run(sweep.points().getFirst()))
          .isInstanceOf(SweepRunner.WorkerLostException.class)
          .hasMessageContaining("its process was killed or crashed (exit code 2): ");
    }
  }

  @Test
  void growing_sweepOfAnotherVersion_isLostWithItsExitCode() {
    List<String> command =
        List.of(
            "sweep", "hello-send", "--topology", "tiny", "--vary", "n_elem=1,2,1000", "--worker");
    Sweep.Point point = sweep.points().get(1);
    try (SweepRunner.Worker worker = WorkerProcess.growing(command)) {
      assertThatThrownBy(() -> worker.run(point)) // the version is part of the key
          .isInstanceOf(SweepRunner.WorkerLostException.class)
          .hasMessageContaining("(exit code 1)");
    }
  }

  /** A worker that waits for a point, as one does whose sweep has none left, is ended with it. */
  @Test
  void growing_closed_leavesNoProcess() throws Exception {
    String mark = "n_elem=1,2,4321"; // by which it is told from what other tests start
    SweepRunner.Worker worker =
        WorkerProcess.growing(
            List.of("sweep", "hello-send", "--topology", "tiny", "--vary", mark, "--worker"));
    ProcessHandle process =
        ProcessHandle.current()
            .children()
            .filter(child ->
                Arrays.asList(child.info().arguments().orElse(new String[0])).contains(mark))
            .findFirst()
            .orElseThrow();
    assertThat(process.isAlive()).isTrue();

    worker.close();

    assertThat(process.onExit().get(10, TimeUnit.SECONDS).isAlive()).isFalse();
  }
}
