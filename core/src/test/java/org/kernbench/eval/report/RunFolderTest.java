package org.kernbench.eval.report;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** A folder without a recording says why its run has none. */
final class RunFolderTest {
  @TempDir private Path directory;

  private void save(String bench, RunOptions options) {
    RunFolder.create(directory)
        .write(
            Runner.of("test", Progress.SILENT).run(BenchRegistry.standard().find(bench), options),
            bench,
            options);
  }

  private void assertRefused(String why) {
    assertThatThrownBy(() -> RunFolder.read(directory.toString()))
        .isInstanceOf(UsageException.class)
        .hasMessage(directory + ": " + why);
  }

  @Test
  void read_ofModeValues_saysThatNothingWasSimulated() {
    save("hello-send", RunOptions.DEFAULT.withTopology("tiny").withMode(Mode.VALUES));
    assertRefused(
        """
        the run was in mode values, which simulates no operations and no time to explain; run it \
        again with --mode full or time\
        """);
  }

  @Test
  void read_ofManyPoints_saysHowToRunOne() {
    save(
        "pe-dma",
        RunOptions.DEFAULT.withTopology("tiny").withParams(List.of()).withMode(Mode.TIME));
    assertRefused(
        """
        the run has no critical path to explain: the rows are runs of their own; --point N shows \
        where the time of one of them goes\
        """);
  }

  @Test
  void read_ofNoRun_saysWhatIsMissing() throws IOException {
    Files.writeString(directory.resolve("result.json"), "[]");
    assertRefused(
        "has no run.log; expected the folder of a run that kept its operations (kernbench run --out)");
  }
}
