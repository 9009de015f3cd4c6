package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What {@code docs/limits.md} says of errors is what the pages of the comparisons have. */
final class LimitsPageTest {
  private static final Map<String, String> TEXTS = new House().texts();
  private static final String HARDWARE = TEXTS.get("docs/validation/hardware.md");
  private static final Pattern TABLE =
      Pattern.compile(
          "(?m)^## (\\w+) on .*\\R\\R(\\d+) rows .*: mean error \\*\\*([\\d.]+) %\\*\\*");
  private static final Pattern HELD_OUT =
      Pattern.compile("(?m)^held out +(\\d+) rows: .* before, ([\\d.]+) % after");

  /**
   * One row of the first table of the page.
   *
   * @param off the column that says by how much
   * @param rows how many comparisons
   */
  private record Row(String off, String rows) {}

  private static Row row(String what) {
    String line =
        TEXTS
            .get("docs/limits.md")
            .lines()
            .filter(l -> l.startsWith("| " + what + " |"))
            .findFirst()
            .orElseThrow(() -> new AssertionError("no row " + what));
    String[] cells = line.split(" \\| ?");
    return new Row(cells[2], cells[3].strip());
  }

  private static Row measured(Pattern rows, int count, int error, String names) {
    List<Double> errors = new ArrayList<>();
    int sum = 0;
    Matcher row = rows.matcher(HARDWARE);
    while (row.find()) {
      if (row.group(1).matches(names)) {
        errors.add(Double.parseDouble(row.group(error)));
        sum += Integer.parseInt(row.group(count));
      }
    }
    double least = errors.stream().mapToDouble(e -> e).min().orElseThrow();
    double most = errors.stream().mapToDouble(e -> e).max().orElseThrow();
    return new Row(
        "mean error " + (least == most ? least + " %" : least + " to " + most + " %"), "" + sum);
  }

  @Test
  void measuredMachines_errorsAndRows_areThoseOfTheirPage() {
    assertThat(row("products, softmax, layer norm, GELU on an A100"))
        .isEqualTo(measured(TABLE, 2, 3, "a100_(matmul|softmax|layernorm|gelu)"));
    assertThat(row("all-reduce on four to eight A100"))
        .isEqualTo(measured(TABLE, 2, 3, "a100\\w*_allreduce"));
    assertThat(row("all-reduce on eight H100"))
        .isEqualTo(measured(TABLE, 2, 3, "h100_dgx_allreduce"));
    assertThat(row("training steps of GPTs on a node of A100"))
        .isEqualTo(measured(TABLE, 2, 3, "vtrain_steps_single"));
    assertThat(row("rows that a fit has not seen")).isEqualTo(measured(HELD_OUT, 1, 2, "\\d+"));
  }

  /** No table of measured runs goes unmentioned. */
  @Test
  void measuredMachines_areAllInTheTable() {
    assertThat(TABLE.matcher(HARDWARE).results().map(r -> r.group(1)))
        .containsExactlyInAnyOrder(
            "a100_matmul",
            "a100_softmax",
            "a100_layernorm",
            "a100_gelu",
            "a100x4_allreduce",
            "a100_vtrain_allreduce",
            "h100_dgx_allreduce",
            "vtrain_steps_single");
  }

  @Test
  void predecessor_rangeAndCount_areThoseOfItsPage() {
    String page = TEXTS.get("docs/validation/predecessor.md");
    List<Double> off =
        Pattern.compile("(?m)^\\| .* \\| .* \\| .* \\| [\\d,.]+ \\| ([-+][\\d.]+) % \\|")
            .matcher(page)
            .results()
            .map(r -> Double.parseDouble(r.group(1)))
            .toList();

    assertThat(row("products, queues and DMAs of the predecessor"))
        .isEqualTo(
            new Row(
                "%s to +%s %%"
                    .formatted(
                        off.stream().min(Double::compare).orElseThrow(),
                        off.stream().max(Double::compare).orElseThrow()),
                "" + off.size()));
    assertThat(page).contains("All are met within 0.001 ns");
    assertThat(row("all-reduce of the predecessor")).isEqualTo(new Row("below 0.001 ns", "24"));
  }

  @Test
  void models_figures_standOnTheirPages() {
    Row mesh = row("mean latency of a loaded mesh");
    assertThat(TEXTS.get("docs/validation/fabric.md"))
        .contains("over " + mesh.rows() + " points")
        .contains("latency is **" + mesh.off().replace(" at most", "") + "**");
    assertThat(TEXTS.get("docs/validation/memory.md"))
        .contains("**every burst is done at the same picosecond**");
    assertThat(row("HBM with banks").off()).isEqualTo("0");
    long most =
        Pattern.compile("within (\\d+) %")
            .matcher(TEXTS.get("docs/validation/collectives.md").split("## Bounds")[0])
            .results()
            .mapToLong(r -> Long.parseLong(r.group(1)))
            .max()
            .orElseThrow();
    assertThat(row("collectives").off()).isEqualTo("0 to " + most + " %");
  }

  /** The test reads rows: one that says something else is another. */
  @Test
  void row_thatIsNotThere_isAnError() {
    assertThat(Stream.of("collectives", "HBM with banks").map(LimitsPageTest::row)).hasSize(2);
    assertThat(row("collectives")).isNotEqualTo(new Row("0 %", row("collectives").rows()));
  }
}
