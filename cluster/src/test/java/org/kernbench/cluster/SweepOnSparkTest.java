package org.kernbench.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.eval.Progress;
import org.kernbench.eval.ResultStore;
import org.kernbench.eval.Sweep;
import org.kernbench.eval.SweepFolder;
import org.kernbench.eval.SweepRunner;
import org.kernbench.eval.UsageException;

/** The sweep on Spark, in local mode, against the sweep on this machine. */
final class SweepOnSparkTest {
  private static JavaSparkContext spark;

  @TempDir private Path directory;

  @BeforeAll
  static void start() {
    SparkConf conf =
        new SparkConf()
            .setMaster("local[2,3]") // two tasks at once, each may fail twice
            .setAppName("test")
            .set("spark.ui.enabled", "false")
            .set("spark.driver.host", "localhost")
            .set("spark.driver.bindAddress", "127.0.0.1");
    spark = new JavaSparkContext(conf);
    spark.setLogLevel("OFF");
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  private String file(String values) throws Exception {
    Path file = directory.resolve("sweep.yaml");
    Files.writeString(
        file,
        """
        bench: hello-send
        topology: tiny
        vary:
          n_elem: [VALUES]
          dtype: [f16, f32]
        """
            .replace("VALUES", values));
    return file.toString();
  }

  private Path local(String file) {
    Sweep sweep = PointTask.sweep(file, SweepOnSpark.version());
    SweepFolder folder = SweepFolder.create(directory.resolve("local"));
    try (ResultStore store = folder.open()) {
      SweepRunner.of(sweep, store, Progress.SILENT).run(false, 1, () -> SweepRunner.inPlace(sweep));
      folder.write(sweep, store);
    }
    return directory.resolve("local");
  }

  private void assertSameAs(Path local, Path remote) {
    for (String name : List.of("results.csv", "results.json")) {
      assertThat(remote.resolve(name)).hasSameBinaryContentAs(local.resolve(name));
    }
  }

  @Test
  void sweep_onSpark_isTheLocalOneByteForByte_alsoWhenTasksFail() throws Exception {
    String file = file("1, 10, 100, 1000");
    Path out = directory.resolve("spark");

    int failed =
        SweepOnSpark.run(
            spark,
            file,
            out,
            false,
            point -> {
              if (point.index() % 3 == 0 && TaskContext.get().attemptNumber() == 0) {
                throw new IllegalStateException("the executor is lost");
              }
            });

    assertThat(failed).isZero();
    assertSameAs(local(file), out);
  }

  @Test
  void sweep_thatFailedOnSpark_keepsItsRowsAndIsResumed() throws Exception {
    String file = file("1, 2, 3");
    Path out = directory.resolve("spark");

    assertThatThrownBy(() ->
            SweepOnSpark.run(
                spark,
                file,
                out,
                false,
                point -> {
                  if (point.index() == 5) {
                    throw new IllegalStateException("lost for good");
                  }
                }))
        .hasMessageContaining("lost for good");
    assertThatThrownBy(() -> SweepOnSpark.run(spark, file, out, false, point -> {}))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--resume");
    SweepOnSpark.run(spark, file, out, true, point -> {});

    assertSameAs(local(file), out);
  }
}
