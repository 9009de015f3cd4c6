package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** No kernel takes less than its bound, whatever binds it on a machine. */
final class RowBoundsTest {
  @ParameterizedTest
  @CsvSource({
    "sip-2026, sip, compute",
    "sip-2026-compute, sip, operands",
    "kb-compat, sip, compute and operands in turn",
    "../examples/machines/cubes-3x2.yaml, sip, links",
    "dgx-a100, pe, memory",
  })
  void rows_ofABlock_areNotBelowTheirBounds(String machine, String level, String kind) {
    Session run =
        Session.of(
            ("run transformer-block --mode time --quiet --param model=gpt2-small --param tokens=512"
                    + " --param batch=1 --param tp=1 --param sp=off --param spread=all --param"
                    + " rows=operations --set fabric.chunk=32KiB --param rank_level="
                    + level
                    + " --topology "
                    + machine)
                .split(" "));
    assertThat(run.exitCode()).as(run.err()).isZero();
    String table = run.out().substring(run.out().indexOf("\noperation ") + 1);
    List<String> lines = table.lines().toList();
    Set<String> kinds = new HashSet<>();
    int bounded = 0;
    for (String line : lines.subList(1, lines.size())) {
      if (line.isBlank()) {
        break;
      }
      String[] cells = line.split(" {2,}");
      if (cells.length == 9) { // others have no bound
        bounded++;
        kinds.add(cells[5]);
        assertThat(Double.parseDouble(cells[4]))
            .as(line)
            .isLessThanOrEqualTo(Double.parseDouble(cells[2]));
      }
    }
    assertThat(bounded).isGreaterThan(20);
    assertThat(kinds).contains(kind);
  }
}
