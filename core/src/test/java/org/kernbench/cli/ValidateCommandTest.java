package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code kernbench validate} and {@code calibrate}: from a table to a report and a machine. */
final class ValidateCommandTest {
  @TempDir private Path folder;

  private String table;

  @BeforeEach
  void writeTable() throws IOException {
    Path file = folder.resolve("runs.csv");
    Files.writeString(
        file,
        """
        bench,params,metric,value,unit,source
        gelu,elements=1024,observed,48,us,a
        gelu,elements=2097152,kernel,6,us,a
        gelu,elements=8388608,kernel,20,us,a
        gelu,elements=16777216,observed,80,us,a
        """);
    table = file.toString();
  }

  @Test
  void validate_rows_areShownWithErrorAndCause() {
    Session text = Session.of("validate", table, "--topology", "dgx-a100");

    assertThat(text.exitCode()).isZero();
    assertThat(text.out())
        .contains("runs.csv (4 rows, sha256 ", "machine     dgx-a100", "elements=16777216", "host ")
        .contains("error       mean ", "worst");
  }

  @Test
  void validate_json_hasEveryRow_andFilesAreWritten() {
    Path out = folder.resolve("out");
    Session json =
        Session.of(
            "validate", table, "--topology", "dgx-a100", "--format", "json", "--out", out + "");

    assertThat(json.out())
        .contains("\"mean_error\": ", "\"metric\": \"kernel\"", "\"source\": \"a\"");
    assertThat(out).isDirectoryContaining("glob:**runs-scatter.svg");
    assertThat(out).isDirectoryContaining("glob:**runs-ratio.svg");
    assertThat(out.resolve("runs.json")).hasContent(json.out());
  }

  @ParameterizedTest
  @CsvSource({"0.1, 1", "99, 0"})
  void validate_meanErrorAboveTheLimit_fails(String limit, int exitCode) {
    Session session = Session.of("validate", table, "--topology", "dgx-a100", "--max-error", limit);

    assertThat(session.exitCode()).isEqualTo(exitCode);
  }

  @Test
  void calibrate_writesAMachineThatValidates_andTheSameBytesTwice() throws IOException {
    Path first = folder.resolve("first.yaml");
    Path second = folder.resolve("second.yaml");
    for (Path out : new Path[] {first, second}) {
      Session fit =
          Session.of(
              "calibrate",
              table,
              "--topology",
              "dgx-a100",
              "--fit",
              "software.elementwise.launch=20..60 us",
              "--out",
              out.toString());
      assertThat(fit.exitCode()).as(fit.out() + fit.err()).isZero();
      assertThat(fit.out()).contains("fitted      4 rows", "value       software.elementwise");
    }
    assertThat(Files.readString(first)).isEqualTo(Files.readString(second));
    assertThat(Files.readString(first))
        .contains("extends: dgx-a100", "launch: ", " us  # calibrated");
    assertThat(Session.of("validate", table, "--topology", first.toString()).exitCode()).isZero();
  }

  @Test
  void calibrate_whatTheRowsCannotTell_isRefusedAndNotWritten() {
    Path out = folder.resolve("no.yaml");
    Session fit =
        Session.of(
            "calibrate",
            table,
            "--topology",
            "dgx-a100",
            "--fit",
            "software.elementwise.launch=20..60 us",
            "--fit",
            "software.synchronise=1..20 us",
            "--out",
            out.toString());

    assertThat(fit.exitCode()).isEqualTo(1);
    assertThat(fit.out()).contains("refused     the rows cannot tell");
    assertThat(out).doesNotExist();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "validate | expected a CSV file",
        "validate TABLE | which machine? expected --topology",
        "validate nothing.csv --topology dgx-a100 | nothing.csv",
        "validate nothing.csv | nothing.csv: no such file",
        "calibrate nothing.csv --fit a=1..2 | nothing.csv: no such file",
        "calibrate TABLE --topology dgx-a100 | nothing to fit; expected --fit",
        "calibrate TABLE --topology dgx-a100 --fit a=1 | expected key=from..to",
        "calibrate TABLE --topology dgx-a100 --fit pe.gemm.eff=0.5..1 | pe.gemm.eff",
        "calibrate TABLE --topology dgx-a100 --fit pe.gemm.efficiency=0.5..1 --holdout 2 | every:N"
      })
  void badInput_endsWith2_andSaysWhatIsExpected(String command, String message) {
    Session session = Session.of(command.replace("TABLE", table).split(" "));

    assertThat(session.exitCode()).isEqualTo(2);
    assertThat(session.out()).isEmpty();
    assertThat(session.err()).contains(message);
  }

  @Test
  void validate_aRowThatCannotBeRun_saysWhichAndWhy() throws IOException {
    Files.writeString(
        folder.resolve("bad.csv"),
        "bench,params,metric,value,unit\ngelu,elements=8,kernel,1,us\ngelu,element=8,kernel,1,us\n");
    Session session =
        Session.of("validate", folder.resolve("bad.csv").toString(), "--topology", "dgx-a100");

    assertThat(session.exitCode()).isEqualTo(2);
    assertThat(session.err()).contains("bad.csv:3: ", "element");
    assertThat(session.err().lines()).hasSize(1);
  }
}
