package org.kernbench.eval.measured;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.ConfigException;
import org.kernbench.config.UsageException;
import org.kernbench.machine.Machines;

/** Tables of measured runs: what they say, and what is said of those that say nothing. */
final class MeasuredFileTest {
  @TempDir Path folder;

  private String file(String name, String text) throws IOException {
    Path file = folder.resolve(name);
    Files.writeString(file, text);
    return file.toString();
  }

  private MeasuredFile read(String text) throws IOException {
    return MeasuredFile.read(file("t.csv", text), Optional.empty());
  }

  @Test
  void read_plainColumns_areRuns() throws IOException {
    MeasuredFile f =
        read(
            """
            bench,params,metric,value,unit,weight,source
            gelu,elements=64 dtype=f16,kernel,2.5,us,1,"a, b"
            softmax,rows=2;columns=3,observed,4,ms,0.5,x
            """);

    assertThat(f.rows())
        .extracting(MeasuredRow::bench, MeasuredRow::params, MeasuredRow::ps, MeasuredRow::weight)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple(
                "gelu", List.of("elements=64", "dtype=f16"), 2.5e6, 1.0),
            org.assertj.core.groups.Tuple.tuple(
                "softmax", List.of("rows=2", "columns=3"), 4e9, 0.5));
    assertThat(f.rows().get(0).source()).isEqualTo("a, b");
    assertThat(f.rows().get(1).metric()).isEqualTo(MeasuredRow.Metric.OBSERVED);
  }

  @Test
  void read_mappingBeside_fillsItsTemplates() throws IOException {
    file(
        "own.yaml",
        """
        bench: collective
        params: {ranks: "{n}", min_size: "{bytes} B"}
        set: {"system.sips.count": "{n}"}
        metric: kernel
        value: "{t}"
        unit: ns
        size: "{bytes}"
        where: {kind: "yes"}
        """);
    MeasuredFile f =
        MeasuredFile.read(
            file("own.csv", "# n,bytes,t,kind\n4,64,12,yes\n8,64,13,no\n"), Optional.empty());

    MeasuredRow row = f.rows().getFirst();
    assertThat(f.rows()).hasSize(1);
    assertThat(row.params()).containsExactly("ranks=4", "min_size=64 B");
    assertThat(row.overrides()).containsExactly("system.sips.count=4");
    assertThat(row.ps()).isEqualTo(12e3);
    assertThat(row.where()).endsWith("own.csv:2");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "gelu,n=1,kernel,-1,us | t.csv:2: value: got \"-1\"; expected a number above 0",
        "gelu,n=1,kernel,x,us | t.csv:2: value: got \"x\"; expected a number above 0",
        "gelu,n=1,wall,1,us | t.csv:2: metric: got \"wall\"; expected kernel, observed or repeated",
        "gelu,n=1,kernel,1,min | t.csv:2: unit: got \"min\"; expected ns, us, ms or s",
        "gelu,n=1,kernel,1 | t.csv:2: got 4 values for 5 headings",
        "gelu,\"n=1,kernel,1,us | t.csv:2: a quote is not closed"
      })
  void read_badRow_saysWhereAndWhat(String row, String message) {
    assertThatThrownBy(() -> read("bench,params,metric,value,unit\n" + row + "\n"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(message);
  }

  @Test
  void read_noMapping_asksForOne() {
    assertThatThrownBy(() -> read("a,b\n1,2\n"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("t.csv:1: got columns a, b; expected bench, params")
        .hasMessageContaining("t.yaml beside the table, or --mapping FILE");
  }

  @Test
  void read_mappingOfAColumnThatIsNotThere_namesTheNearest() throws IOException {
    file("c.yaml", "bench: gelu\nparams: {elements: \"{element}\"}\nvalue: \"{t}\"\nunit: us\n");

    assertThatThrownBy(
            () -> MeasuredFile.read(file("c.csv", "elements,t\n1,2\n"), Optional.empty()))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("column \"element\"")
        .hasMessageContaining("did you mean elements");
  }

  @Test
  void read_mappingWithAnUnknownKey_isRefusedWithItsPlace() throws IOException {
    file("d.yaml", "bench: gelu\nvalue: \"{t}\"\nunit: us\nmetrik: kernel\n");

    assertThatThrownBy(() -> MeasuredFile.read(file("d.csv", "t\n1\n"), Optional.empty()))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("d.yaml:4")
        .hasMessageContaining("metric");
  }

  private static String benchOf(MeasuredFile file) {
    return file.rows().getFirst().bench();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "mi210_matmul.csv | m,k,n,dtype,time_us | 1,2,3,f16,4 | matmul-composite",
        "any.csv | n,m,k,dtype,time_us | 1,2,3,f16,4 | matmul-composite",
        "new_gpu_layernorm.csv | rows,columns,dtype,time_us | 1,2,f16,4 | layernorm",
        "new_gpu_softmax.csv | rows,columns,dtype,time_us | 1,2,f16,4 | softmax",
        "x.csv | ranks,bytes,dtype,time_us | 2,8,f16,4 | collective"
      })
  void read_tableOfAnotherMachine_goesByTheEndOfItsNameOrItsColumns(
      String name, String headings, String row, String bench) throws IOException {
    String table = file(name, headings + "\n" + row + "\n");

    assertThat(benchOf(MeasuredFile.read(table, Optional.empty()))).isEqualTo(bench);
  }

  /** The longer end of a name counts: host and library are those of that program's runs. */
  @Test
  void read_allReducesOfADgx_bringTheirLibrary() throws IOException {
    String row = "ranks,bytes,dtype,time_us\n2,8,f16,4\n";
    String dgx = file("a100_dgx_allreduce.csv", row);
    String other = file("a100_allreduce.csv", row);

    assertThat(MeasuredFile.read(dgx, Optional.empty()).rows().getFirst().overrides())
        .contains("software.collective.launch=12 us");
    assertThat(MeasuredFile.read(other, Optional.empty()).rows().getFirst().overrides()).isEmpty();
  }

  /** The preset is of the same box and library as the table. */
  @Test
  void dgxAllReduce_setsWhatThePresetHas() throws IOException {
    String dgx = file("a100_dgx_allreduce.csv", "ranks,bytes,dtype,time_us\n2,8,f16,4\n");
    List<String> set = MeasuredFile.read(dgx, Optional.empty()).rows().getFirst().overrides();

    assertThat(Machines.load("dgx-h100", set).software())
        .usingRecursiveComparison()
        .isEqualTo(Machines.load("dgx-h100", List.of()).software());
  }

  @Test
  void read_columnsOfTwoKinds_asksWhich() throws IOException {
    String table = file("t.csv", "rows,columns,dtype,time_us\n1,2,f16,4\n");

    assertThatThrownBy(() -> MeasuredFile.read(table, Optional.empty()))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("they may be of softmax or layernorm; say which with --mapping NAME");
    assertThat(benchOf(MeasuredFile.read(table, Optional.of(Path.of("softmax")))))
        .isEqualTo("softmax");
  }

  @Test
  void read_columnsNearlyKnown_saysWhatIsMissingAndTooMuch() {
    assertThatThrownBy(() -> read("m,k,n,time_ms\n1,2,3,4\n"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("or the columns of matmul")
        .hasMessageContaining("missing: dtype, time_us")
        .hasMessageContaining("do not have time_ms");
  }

  @Test
  void read_cases_goByTheFirstThatFits() throws IOException {
    file(
        "k.yaml",
        """
        value: "{t}"
        unit: ms
        params: {dtype: f16}
        cases:
          - where: {op: gelu}
            bench: gelu
            params: {elements: "{n}"}
          - where: {op: softmax, long: "yes"}
            bench: softmax
            params: {rows: "1", columns: "{n}", dtype: f32}
        """);
    MeasuredFile f =
        MeasuredFile.read(
            file("k.csv", "op,n,long,t\ngelu,4,no,1\nsoftmax,8,yes,2\n"), Optional.empty());

    assertThat(f.rows())
        .extracting(MeasuredRow::bench, MeasuredRow::params, MeasuredRow::ps)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple("gelu", List.of("dtype=f16", "elements=4"), 1e9),
            org.assertj.core.groups.Tuple.tuple(
                "softmax", List.of("dtype=f32", "rows=1", "columns=8"), 2e9));
    assertThatThrownBy(() ->
            MeasuredFile.read(file("k.csv", "op,n,long,t\nsoftmax,8,no,2\n"), Optional.empty()))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(
            "k.csv:2: no case of the mapping fits long \"no\" and op \"softmax\"; expected one of"
                + " op \"gelu\", long \"yes\" and op \"softmax\"");
  }

  @Test
  void read_caseWithAnUnknownKey_isRefusedWithItsPlace() throws IOException {
    file("e.yaml", "value: \"{t}\"\nunit: us\ncases:\n  - bench: gelu\n    parms: {elements: 4}\n");

    assertThatThrownBy(() -> MeasuredFile.read(file("e.csv", "t\n1\n"), Optional.empty()))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("e.yaml:5")
        .hasMessageContaining("params");
  }
}
