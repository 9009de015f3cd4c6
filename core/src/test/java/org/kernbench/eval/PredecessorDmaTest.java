package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The page on the predecessor says what single DMAs take on its machine, near or not. */
final class PredecessorDmaTest {
  private static final Path PAGE =
      Path.of(System.getProperty("basedir", "."), "../docs/validation/predecessor.md");
  private static final Pattern ROW = Pattern.compile("\\| ([^|]+) \\| (\\d+) \\| ([0-9.,]+) \\|\n");
  private static final int PUBLISHED_TIMES = 8;

  @Test
  void page_everyTimeOfADma_isWhatIsSimulated() throws IOException {
    RunResult run =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("pe-dma"),
                RunOptions.DEFAULT.withTopology("kb-compat"));
    Map<String, String> times = new HashMap<>();
    for (Map<String, Object> row : run.rows()) {
      times.put(
          String.valueOf(row.get("case")), String.format(Locale.ROOT, "%,.3f", row.get("time_ns")));
    }

    Matcher row = ROW.matcher(Files.readString(PAGE));
    int rows = 0;
    while (row.find()) {
      assertThat(times).containsEntry(row.group(1), row.group(3));
      rows++;
    }
    assertThat(rows).isEqualTo(PUBLISHED_TIMES);
  }
}
