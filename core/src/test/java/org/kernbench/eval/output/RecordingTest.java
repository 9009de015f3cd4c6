package org.kernbench.eval.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.report.Explanation;
import org.kernbench.eval.report.ExplanationJson;
import org.kernbench.eval.report.Recording;
import org.kernbench.eval.report.ResultJson;
import org.kernbench.eval.report.RunDiff;
import org.kernbench.eval.report.RunFolder;

/** A run that was saved is explained as it was; a file that is none is refused with a message. */
final class RecordingTest {
  private static final BenchRegistry BENCHES = BenchRegistry.standard();
  private static final Runner RUNNER = Runner.of("test", Progress.SILENT);

  @TempDir private Path directory;

  private static RunOptions options(String machine, String... params) {
    return RunOptions.DEFAULT.withTopology(machine).withParams(List.of(params));
  }

  private RunResult save(String folder, String bench, RunOptions options) {
    RunResult result = RUNNER.run(BENCHES.find(bench), options);
    RunFolder.create(directory.resolve(folder)).write(result, bench, options);
    return result;
  }

  private Recording read(String folder) {
    return RunFolder.read(directory.resolve(folder).toString());
  }

  @ParameterizedTest
  @CsvSource({
    "hello-send, tiny, n_elem=50000",
    "ccl-allreduce, tiny, n_elem=1000",
    "ccl-allreduce, tiny, n_elem=500;algorithm=tree",
    "ring-scale, ring, ranks=4;bytes=4 KiB",
    "softmax, dgx-a100, rows=64;columns=64",
    "ccl-allreduce, dgx-h100, n_elem=1000;algorithm=ring;rank_level=sip",
    "ccl-allreduce, torus-4x4x4, n_elem=640;algorithm=by_dimension;rank_level=sip",
  })
  void savedRun_read_isExplainedAsItWas(String bench, String machine, String params) {
    RunResult result = save("run", bench, options(machine, params.split(";")));

    Recording saved = read("run");
    String before = ExplanationJson.write(Explanation.of(result));
    assertThat(ExplanationJson.write(Explanation.of(saved.result()))).isEqualTo(before);
    assertThat(ResultJson.write(saved.result())).isEqualTo(ResultJson.write(result));
  }

  @ParameterizedTest
  @CsvSource({"tiny, n_elem=500", "torus-4x4x4, n_elem=640;algorithm=by_dimension;rank_level=sip"})
  void savedRun_runAgain_hasTheSameOperations(String machine, String params) {
    RunResult result = save("run", "ccl-allreduce", options(machine, params.split(";")));

    Recording saved = read("run");
    RunResult again = RUNNER.run(BENCHES.find(saved.bench()), saved.options());
    assertThat(again.sim().opLogHash()).isEqualTo(result.sim().opLogHash());
    assertThat(again.machineHash()).isEqualTo(result.machineHash());
  }

  @Test
  void savedRun_intoTheFolderOfAnother_leavesNothingOfTheOther() throws IOException {
    save("run", "hello-send", options("tiny", "n_elem=64"));
    save("run", "hello-send", options("tiny", "n_elem=64").withMode(Mode.VALUES));

    assertThat(directory.resolve("run"))
        .isDirectoryNotContaining("glob:**/run.log")
        .isDirectoryNotContaining("glob:**/oplog.csv");
    assertThat(Files.readString(directory.resolve("run/result.json"))).contains("\"values\"");
  }

  @Test
  void savedRun_thatCannotBeWritten_leavesTheOtherWhole() throws IOException {
    RunResult before = save("run", "hello-send", options("tiny", "n_elem=64"));
    Path folder = directory.resolve("run");
    String json = Files.readString(folder.resolve("result.json"));
    // the last of the files cannot be made: as if the disk were full by then
    Files.createDirectory(WholeFile.temporary(folder.resolve("run.log")));
    Files.createFile(WholeFile.temporary(folder.resolve("run.log")).resolve("in the way"));

    assertThatThrownBy(() -> save("run", "hello-send", options("tiny", "n_elem=128")))
        .isInstanceOf(OutputException.class)
        .hasMessageContaining("run.log")
        .hasMessageContaining("what was there before is unchanged");

    assertThat(Files.readString(folder.resolve("result.json"))).isEqualTo(json);
    assertThat(read("run").result().sim().opLogHash()).isEqualTo(before.sim().opLogHash());
  }

  /** A changed bit is refused, or changes nothing: some codes of the compression are never used. */
  @Test
  void savedRun_anyByteChangedOrLost_isRefusedOrReadAlike() throws IOException {
    save("run", "hello-send", options("tiny", "n_elem=64"));
    Path file = directory.resolve("run/run.log");
    byte[] whole = Files.readAllBytes(file);
    String intact = ResultJson.write(read("run").result());
    Random random = new Random(1);
    int refused = 0;
    for (int i = 0; i < 120; i++) {
      byte[] damaged = whole.clone();
      int at = random.nextInt(whole.length);
      damaged[at] ^= (byte) (1 << random.nextInt(8));
      if (i % 3 == 0) {
        damaged = java.util.Arrays.copyOf(whole, at);
      }
      Files.write(file, damaged);
      try {
        Recording read = read("run");
        assertThat(ResultJson.write(read.result()))
            .as("byte %d of %d", at, whole.length)
            .isEqualTo(intact);
      } catch (UsageException e) {
        assertThat(e).hasMessageContaining("run.log");
        refused++;
      }
    }
    assertThat(refused).isGreaterThan(110);
  }

  @Test
  void otherFormat_isRefusedWithBothVersions() throws IOException {
    save("run", "hello-send", options("tiny"));
    Path file = directory.resolve("run/run.log");
    byte[] bytes = Files.readAllBytes(file);
    bytes[11] = 9;
    Files.write(file, bytes);

    assertThatThrownBy(() -> read("run"))
        .isInstanceOf(UsageException.class)
        .hasMessageEndingWith(
            "run.log: is a recording of format 9; this kernbench reads format 8; run the bench"
                + " again with --out");
  }

  // ---- differences ----

  @Test
  void diff_slowerLink_blamesThatLinkForAllOfIt() {
    RunOptions fast = options("ring", "to=sip1.cube0.pe0", "n_elem=8192");
    RunOptions slow = fast.withOverrides(List.of("system.links.sip_to_sip.bandwidth=100 GB/s"));
    RunDiff diff = RunDiff.of(save("a", "hello-send", fast), save("b", "hello-send", slow));

    // 16 KiB at 100 instead of 200 GB/s
    assertThat(diff.differencePs()).isEqualTo(81_920);
    assertThat(diff.conditions())
        .containsExactly(
            new RunDiff.Condition("system.links.sip_to_sip.bandwidth", "200 GB/s", "100 GB/s"));
    assertThat(diff.resources().getFirst().what()).isEqualTo("sip_to_sip");
    assertThat(diff.resources().getFirst().cause()).isEqualTo("serialisation");
    assertThat(diff.resources().getFirst().differencePs()).isEqualTo(81_920);
    assertThat(diff.places().getFirst().what()).isEqualTo("sip0.ioE->sip1.ioW");
  }

  @ParameterizedTest
  @CsvSource({
    "ccl-allreduce, n_elem=1000, n_elem=3000",
    "ccl-allreduce, n_elem=1000, n_elem=1000;algorithm=tree",
    "ccl-allreduce, n_elem=3000, n_elem=3000;slots=1",
  })
  void diff_parts_sumToTheDifference(String bench, String a, String b) {
    RunDiff diff =
        RunDiff.of(
            save("a", bench, options("tiny", a.split(";"))),
            save("b", bench, options("tiny", b.split(";"))));

    for (List<RunDiff.Part> parts : List.of(diff.resources(), diff.places())) {
      assertThat(parts.stream().mapToLong(RunDiff.Part::differencePs).sum())
          .isEqualTo(diff.differencePs());
    }
    assertThat(diff.conditions()).isNotEmpty();
  }
}
