package org.kernbench.eval.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringWriter;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machine;

/** Tables for spreadsheets and programs: what stands in which column. */
final class ResultCsvTest {
  private static RunResult run(String bench, RunOptions options) {
    return Runner.of("test", Progress.SILENT)
        .run(BenchRegistry.standard().find(bench), options.withTopology("tiny"));
  }

  /** A text that a spreadsheet would compute stands behind an apostrophe; numbers are numbers. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "=1+1|'=1+1",
        "+x|'+x",
        "-x|'-x",
        "@sum|'@sum",
        "-5|-5",
        "+5.25|+5.25",
        "-.5|-.5",
        "-1e-3|-1e-3",
        "-Infinity|-Infinity",
        "+Infinity|'+Infinity",
        "-5 ns|'-5 ns",
        "-1.|'-1.",
        "a=1|a=1",
        "x-y|x-y",
      })
  void text_thatASpreadsheetWouldCompute_isAText(String text, String written) {
    assertThat(ResultCsv.table(List.of(Map.of("a", text)))).isEqualTo("a\n" + written + "\n");
  }

  @Test
  void cells_thatHaveCommasQuotesOrLines_areQuoted() {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("plain", 12L);
    row.put("comma, quoted", "a,b");
    row.put("quote", "say \"x\"");
    row.put("decimal", new BigDecimal("1E+3"));
    row.put("tab", "\tx");
    row.put("-minus", -2.5);
    row.put("none", "");
    assertThat(ResultCsv.table(List.of(row, row)))
        .isEqualTo(
            """
            plain,"comma, quoted",quote,decimal,tab,'-minus,none
            12,"a,b","say ""x""\",1000,'\tx,-2.5,
            12,"a,b","say ""x""\",1000,'\tx,-2.5,
            """);
    assertThat(ResultCsv.table(List.of())).isEmpty();
  }

  @Test
  void run_isOneLine_withParametersStatusAndMetrics() {
    RunResult result = run("hello-send", RunOptions.DEFAULT.withParams(List.of("n_elem=8")));
    List<String> lines = ResultCsv.write(result).lines().toList();

    assertThat(lines).hasSize(2);
    assertThat(lines.get(0))
        .startsWith("bench,machine,machine_hash,mode,from,n_elem,dtype,to,bytes,")
        .contains(",status,correct,max_abs_err,crit_ns,observed_ns,bound_ns,bound_kind,efficiency")
        .endsWith(",op_log_hash");
    assertThat(lines.get(1))
        .startsWith("hello-send,tiny," + result.machineHash() + ",full,sip0.cube0.pe0,")
        .contains(",8,", ",ok,true,0.0," + result.metrics().get("crit_ns") + ",")
        .endsWith("," + result.sim().opLogHash());
    assertThat(lines.get(0).split(",")).hasSameSizeAs(lines.get(1).split(",", -1));

    String time = ResultCsv.write(run("hello-send", RunOptions.DEFAULT.withMode(Mode.TIME)));
    assertThat(time).contains(",time,").contains(",ok,,,");
  }

  /** Of a bench of many points a line for each, with its own columns beside the run's. */
  @Test
  void points_areALineEach() {
    RunResult result = run("pe-dma", RunOptions.DEFAULT.withMode(Mode.TIME));
    List<String> lines = ResultCsv.write(result).lines().toList();

    assertThat(result.rows()).hasSizeGreaterThan(2);
    assertThat(lines).hasSize(1 + result.rows().size());
    assertThat(lines.getFirst())
        .startsWith("bench,machine,machine_hash,mode,run_bytes,status,")
        .endsWith(",op_log_hash," + String.join(",", result.rows().getFirst().keySet()));
    assertThat(lines.subList(1, lines.size()))
        .allMatch(line -> line.startsWith("pe-dma,tiny," + result.machineHash() + ",time,"));
  }

  /** A line for each operation, in the order of issue, with what the log knows of it. */
  @Test
  void opLog_hasALineForEachOperation() throws Exception {
    RunResult result = run("hello-send", RunOptions.DEFAULT.withParams(List.of("n_elem=8")));
    OpLog log = result.log().orElseThrow();
    Machine machine = result.machine().orElseThrow();
    StringWriter text = new StringWriter();
    ResultCsv.writeOpLog(log, machine, text);
    List<String> lines = text.toString().lines().toList();

    assertThat(lines.getFirst())
        .isEqualTo(
            "op,pe,kind,issue_ps,start_ps,end_ps,bytes,link,serialisation_ps,contention_ps,"
                + "translation_ps,cause,cause_op,line");
    assertThat(lines).hasSize(1 + log.size());
    boolean linked = false;
    boolean caused = false;
    for (int id = 0; id < log.size(); id++) {
      String[] cells = lines.get(1 + id).split(",", -1);
      assertThat(cells).hasSize(14);
      assertThat(cells[0]).isEqualTo("" + id);
      assertThat(cells[1]).isEqualTo(log.pe(id).toString());
      assertThat(cells[2]).matches("[a-z_]+");
      assertThat(List.of(cells).subList(3, 7))
          .containsExactly(
              "" + log.issuePs(id), "" + log.startPs(id), "" + log.endPs(id), "" + log.bytes(id));
      assertThat(cells[7].isEmpty()).isEqualTo(log.link(id) < 0);
      assertThat(cells[12]).isEqualTo(log.causeOp(id) < 0 ? "" : "" + log.causeOp(id));
      assertThat(cells[13]).isEqualTo(log.line(id));
      linked |= !cells[7].isEmpty();
      caused |= !cells[12].isEmpty();
    }
    assertThat(linked).isTrue();
    assertThat(caused).isTrue();
  }
}
