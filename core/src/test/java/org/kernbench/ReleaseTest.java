package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What {@code scripts/release} makes, and that it makes the same again. */
@Tag("slow")
@Timeout(value = 30, unit = TimeUnit.MINUTES)
final class ReleaseTest {
  @TempDir private Path folder;

  private String run(Map<String, String> environment, String... command) throws Exception {
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    builder.redirectErrorStream(true);
    if (!environment.isEmpty()) {
      builder.environment().clear();
      builder.environment().putAll(environment);
    }
    Process process = builder.start();
    process.getOutputStream().close();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(said).isZero();
    return said;
  }

  private Path release(String name) throws Exception {
    Path out = folder.resolve(name);
    run(Map.of(), House.ROOT.resolve("scripts/release").toAbsolutePath() + "", out.toString());
    return out;
  }

  private static Map<String, byte[]> files(Path folder) throws IOException {
    Map<String, byte[]> files = new TreeMap<>();
    try (Stream<Path> all = Files.list(folder)) {
      for (Path file : all.toList()) {
        files.put(file.getFileName().toString(), Files.readAllBytes(file));
      }
    }
    return files;
  }

  @Test
  void release_twice_hasTheSameBytesAndRunsWithoutJava() throws Exception {
    Path first = release("first");
    Map<String, byte[]> made = files(first);
    Map<String, byte[]> again = files(release("second"));

    assertThat(again.keySet()).isEqualTo(made.keySet());
    made.forEach((name, bytes) -> assertThat(again.get(name)).as(name).isEqualTo(bytes));
    assertThat(made.keySet())
        .anyMatch(n -> n.endsWith("-sources.jar"))
        .anyMatch(n -> n.endsWith("-javadoc.jar"))
        .anyMatch(n -> n.endsWith(".whl"))
        .anyMatch(n -> n.endsWith("-site.zip"))
        .anyMatch(n -> n.endsWith(".tar.gz"))
        .contains("CHANGELOG.md", "Containerfile", "SHA256SUMS");
    run(Map.of(), "sh", "-c", "cd first && sha256sum --check SHA256SUMS");
    run(Map.of(), "sh", "-c", "tar xzf first/*.tar.gz && mv kernbench-* image");

    String said =
        run(Map.of("PATH", ""), folder + "/image/bin/kernbench", "run", "--bench", "ccl-allreduce");
    assertThat(said).contains("3,003.352 ns", "op log 9d921913b7259cb1");
    checkProjectOfMaven();
  }

  /** The project of examples/library with the release, as the page says, in a repository here. */
  private void checkProjectOfMaven() throws Exception {
    String page = Files.readString(House.ROOT.resolve("docs/releases.md"));
    String maven = "mvn -q -B -ntp -Dmaven.repo.local=" + folder.resolve("repository");
    run(Map.of(), "sh", "-c", "cp -Rl ~/.m2/repository . 2>/dev/null || mkdir -p repository");
    for (String line :
        page.lines().filter(l -> l.startsWith("mvn install:install-file")).toList()) {
      run(Map.of(), "sh", "-c", "cd first && " + line.replaceFirst("^mvn", maven));
    }
    run(Map.of(), "cp", "-R", House.ROOT.toAbsolutePath().resolve("examples/library") + "", ".");

    String said = run(Map.of(), "sh", "-c", "cd library && " + maven + " compile exec:exec");

    String expected = page.split("(?s)```text library\\R", 2)[1].split("```", 2)[0];
    assertThat(said).contains(expected.lines().toList()).doesNotContain("ERROR");
  }

  /** Commands of the container file, in order; its folders are folders here. */
  @Test
  void containerFile_commandsOneByOneInAnEmptyFolder_makeTheImage() throws Exception {
    List<String> lines = Files.readAllLines(House.ROOT.resolve("Containerfile"));
    run(
        Map.of(),
        "sh",
        "-c",
        "mkdir src && cd '%s' && git ls-files -z | xargs -0 cp --parents -t '%s'"
            .formatted(House.ROOT.toAbsolutePath(), folder.resolve("src")));
    for (String line : lines) {
      if (line.startsWith("RUN ")) {
        String command = line.substring("RUN ".length());
        run(Map.of(), "sh", "-c", command.replaceAll("(?<= )/(src|out|image)", folder + "/$1"));
      }
    }
    assertThat(run(Map.of("PATH", ""), folder + "/image/bin/kernbench", "--version"))
        .startsWith("kernbench ");
  }
}
