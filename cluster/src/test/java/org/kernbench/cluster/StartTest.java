package org.kernbench.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the command of the jar says to those who start it in another way than meant. */
final class StartTest {
  private static int execute(int java, ByteArrayOutputStream said, String... args) {
    PrintStream err = new PrintStream(said, true, StandardCharsets.UTF_8);
    return SweepOnSpark.execute(args, java, err);
  }

  private static String said(int java, String... args) {
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    assertThat(execute(java, said, args)).isEqualTo(2);
    return said.toString(StandardCharsets.UTF_8);
  }

  /** The class path of this test without Spark's jars, as {@code java -jar} has it. */
  @Test
  void startedWithoutSpark_saysHowToStartIt() throws Exception {
    String withoutSpark =
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(entry -> !entry.contains("spark"))
            .collect(Collectors.joining(File.pathSeparator));
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                withoutSpark,
                SweepOnSpark.class.getName(),
                "sweep.yaml")
            .redirectErrorStream(true)
            .start();
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(process.waitFor()).isEqualTo(2);
    assertThat(text)
        .isEqualTo(
            """
            kernbench: no Spark here: this jar is started by spark-submit, of Spark 4 for Scala 2.13
              spark-submit --master spark://HOST:7077 --class org.kernbench.cluster.SweepOnSpark kernbench-cluster.jar FILE.yaml [--out DIR] [--resume]
              Without --master it uses the cores of this machine, as does, without Spark:
              kernbench sweep FILE.yaml --out DIR
            """);
  }

  @Test
  void startedByAnOlderJava_saysWhichOneIsNeeded() throws Exception {
    assertThat(said(17, "sweep.yaml"))
        .startsWith("kernbench: this is Java 17, kernbench needs a JDK 25 or later")
        .contains("spark.executorEnv.JAVA_HOME");
    try (DataInputStream classFile =
        new DataInputStream(SweepOnSpark.class.getResourceAsStream("SweepOnSpark.class"))) {
      classFile.readInt();
      classFile.readUnsignedShort();
      assertThat(classFile.readUnsignedShort())
          .as("class file version, 61 is Java 17")
          .isEqualTo(61);
    }
  }

  @Test
  void commandLine_thatIsNone_isRefusedWithTheUsage() {
    for (List<String> args :
        List.of(
            List.<String>of(),
            List.of("--out", "x"),
            List.of("a.yaml", "--out"),
            List.of("a.yaml", "b.yaml"),
            List.of("--resum", "a.yaml"))) {
      assertThat(said(25, args.toArray(String[]::new)))
          .as("%s", args)
          .startsWith("kernbench: ")
          .contains("spark-submit --master");
    }
    assertThat(said(25, "--resum", "a.yaml")).contains("unexpected --resum");
  }
}
