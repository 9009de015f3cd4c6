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
import org.kernbench.config.UsageException;
import org.kernbench.eval.Progress;
import org.kernbench.eval.sweep.ResultStore;
import org.kernbench.eval.sweep.Sweep;
import org.kernbench.eval.sweep.SweepFolder;
import org.kernbench.eval.sweep.SweepRunner;

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
    Sweep sweep = PointTask.sweep(file, ClusterSweep.version());
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
        ClusterSweep.run(
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
            ClusterSweep.run(
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
    assertThatThrownBy(() -> ClusterSweep.run(spark, file, out, false, point -> {}))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--resume");
    ClusterSweep.run(spark, file, out, true, point -> {});

    assertSameAs(local(file), out);
  }

  /** A bench of the user's own is compiled where it runs, and the code belongs to the keys. */
  @Test
  void sweep_ofAJavaFile_isTheLocalOneByteForByte() throws Exception {
    Path source = directory.resolve("Own.java");
    Files.writeString(source, OWN);
    Path file = directory.resolve("own.yaml");
    Files.writeString(file, "bench: " + source + "\ntopology: tiny\nvary:\n  n: [1, 100, 1000]\n");
    Path out = directory.resolve("spark");

    assertThat(ClusterSweep.run(spark, file.toString(), out, false, point -> {})).isZero();

    assertSameAs(local(file.toString()), out);
    assertThat(Files.readAllLines(out.resolve("results.csv"))).hasSize(1 + 3);
    Sweep before = PointTask.sweep(file.toString(), "v");
    Files.writeString(source, OWN.replace("add(1.0)", "add(2.0)"));
    assertThat(PointTask.sweep(file.toString(), "v").points().getFirst().key())
        .isNotEqualTo(before.points().getFirst().key());
  }

  private static final String OWN =
      """
      import java.util.List;
      import org.kernbench.device.Launch;
      import org.kernbench.eval.Bench;
      import org.kernbench.eval.BenchContext;
      import org.kernbench.eval.Outcome;
      import org.kernbench.eval.Param;
      import org.kernbench.tensor.DType;
      import org.kernbench.tensor.Shape;
      import org.kernbench.torch.Tensor;
      import org.kernbench.torch.Torch;
      import org.kernbench.torch.TorchOptions;

      public final class Own implements Bench {
        private static final Param<Integer> N = Param.integer("n", 1, 1, 1 << 20, "elements");

        @Override
        public String name() {
          return "own";
        }

        @Override
        public String description() {
          return "adds one";
        }

        @Override
        public List<Param<?>> params() {
          return List.of(N);
        }

        @Override
        public Outcome run(BenchContext context) {
          int n = context.param(N);
          try (Torch torch =
              Torch.open(context.machine(), TorchOptions.DEFAULT.withMode(context.mode()))) {
            Tensor x = torch.full(Shape.of(n), DType.F32, 3, "x");
            Launch launch = torch.launch("one", tl -> tl.store(x, tl.load(x).add(1.0)), x);
            torch.await(launch);
            double[] expected = new double[n];
            java.util.Arrays.fill(expected, 4);
            return Outcome.on(context.machine())
                .time(launch.criticalPs(), 0, "none")
                .simulated(torch.simulator().eventCount(), torch.simulator().opLog().hash())
                .values(x.toDoubles(), expected, 0);
          }
        }
      }
      """;
}
