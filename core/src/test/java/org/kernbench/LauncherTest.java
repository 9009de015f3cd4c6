package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * The launcher script in a house of its own: a copy of the two shell files, with JDKs and a Maven
 * that only write down how they were called.
 */
@DisabledOnOs(OS.WINDOWS)
final class LauncherTest {
  private static final Instant LONG_AGO = Instant.parse("2026-01-01T00:00:00Z");

  /** What Maven is to be asked: the program alone, in the launcher's own folder. */
  private static final String BUILDS =
      """
      case " $* " in *" -Dquick "*" package "*) ;; *) exit 1 ;; esac
      mkdir -p core/target/launcher/build
      echo new > core/target/launcher/build/kernbench.jar\
      """;

  @TempDir Path temp;
  private Path home;
  private Path tools;
  private final Map<String, String> environment = new TreeMap<>();

  @BeforeEach
  void buildAHouse() throws IOException {
    Path repository = Path.of("..").toRealPath();
    home = Files.createDirectories(temp.resolve("a house"));
    for (String file : List.of("kernbench", "scripts/jdk.sh", "scripts/ModernizeJar.java")) {
      Files.createDirectories(home.resolve(file).getParent());
      Files.copy(repository.resolve(file), home.resolve(file));
    }
    for (String file : List.of("pom.xml", "core/pom.xml", "core/src/main/App.java")) {
      write(home.resolve(file), "");
    }
    write(home.resolve("machines/tiny.yaml"), "");
    age(home);
    tools = Files.createDirectories(temp.resolve("tools"));
    for (String tool :
        List.of(
            "find",
            "readlink",
            "dirname",
            "mkdir",
            "ln",
            "rm",
            "cp",
            "mv",
            "touch",
            "tail",
            "sed",
            "sleep",
            "cat")) {
      script(tools.resolve(tool), "exec " + which(tool) + " \"$@\"\n");
    }
    environment.put("PATH", tools.toString());
    environment.put("KERNBENCH_JAVA_HOME", jdk("jdk-25", "25.0.3").toString());
  }

  @Test
  void launcher_programUpToDate_startsItWithoutMaven() throws Exception {
    publish();

    Outcome outcome = launch("run", "--param", "a b");

    assertThat(outcome.exit()).isZero();
    assertThat(outcome.err()).isEmpty();
    assertThat(outcome.out())
        .startsWith("jdk-25\n")
        .contains("-XX:+UseSerialGC\n", "-jar\n" + jar() + "\nrun\n--param\na b\n");
  }

  @Test
  void launcher_commandThatSimulatesNothing_leavesOutTheSecondCompiler() throws Exception {
    publish();

    for (String quick : List.of("--help", "list", "man", "new")) {
      assertThat(launch(quick).out()).as(quick).contains("-XX:TieredStopAtLevel=1\n");
    }
    assertThat(launch().out()).contains("-XX:TieredStopAtLevel=1\n");
    for (String simulating : List.of("run", "sweep", "tune", "explain", "conformance")) {
      assertThat(launch(simulating).out())
          .as(simulating)
          .doesNotContain("TieredStopAtLevel")
          .contains("-XX:Tier4InvocationThreshold=");
    }
  }

  @Test
  void launcher_programEndsWithACode_passesItOn() throws Exception {
    publish();
    environment.put("FAKE_EXIT", "1");

    assertThat(launch("run").exit()).isEqualTo(1);
  }

  @Test
  void launcher_startedThroughALink_findsItsHome() throws Exception {
    publish();
    Path link = Files.createSymbolicLink(temp.resolve("kb"), home.resolve("kernbench"));

    assertThat(launchAs(link, "list").out()).contains(jar() + "\nlist\n");
  }

  @Test
  void launcher_javaOptionVariables_becomeArgumentsAndLeaveTheEnvironment() throws Exception {
    publish();
    environment.put("JAVA_TOOL_OPTIONS", "-Dtool=1");
    environment.put("JDK_JAVA_OPTIONS", "-Djdk=2");
    environment.put("KERNBENCH_JAVA_OPTS", "-Dours=3 -Xmx1g");

    assertThat(launch("list").out())
        .contains("-Dtool=1\n-Djdk=2\n-Dours=3\n-Xmx1g\n-jar\n")
        .contains("JAVA_TOOL_OPTIONS unset");
  }

  @Test
  void launcher_sourceNewerThanProgram_buildsAndPublishes() throws Exception {
    publish();
    maven(BUILDS);
    write(home.resolve("machines/tiny.yaml"), "changed");

    Outcome outcome = launch("list");

    assertThat(outcome.exit()).isZero();
    assertThat(outcome.err()).contains("kernbench: building");
    assertThat(jar()).hasContent("new\n");
    assertThat(launch("list").err()).as("second start").isEmpty();
  }

  @Test
  void launcher_sourceDeleted_builds() throws Exception {
    publish();
    maven(BUILDS);
    Files.delete(home.resolve("core/src/main/App.java"));

    assertThat(launch("list").err()).contains("kernbench: building");
  }

  @Test
  void launcher_buildsWithTheJdkItFound() throws Exception {
    maven(BUILDS.replace("new", "\"$JAVA_HOME\""));

    launch("list");

    assertThat(jar()).hasContent(environment.get("KERNBENCH_JAVA_HOME"));
  }

  @Test
  void launcher_buildFails_showsTheEndOfTheLogAndEndsWith2() throws Exception {
    maven("echo '[ERROR] App.java:[1,1] no good'; exit 1");

    Outcome outcome = launch("list");

    assertThat(outcome.exit()).isEqualTo(2);
    assertThat(outcome.out()).isEmpty();
    assertThat(outcome.err()).contains("the build failed", "  | [ERROR] App.java:[1,1] no good");
    assertThat(launcherFiles()).containsExactly("build.log");
  }

  @Test
  void launcher_noMaven_saysWhatToInstallAndEndsWith2() throws Exception {
    Outcome outcome = launch("list");

    assertThat(outcome.exit()).isEqualTo(2);
    assertThat(outcome.err()).contains("Maven not found", "install Maven 3.8.7 or later");
  }

  @Test
  void launcher_noBuildWanted_startsAnOldProgram() throws Exception {
    publish();
    write(home.resolve("machines/tiny.yaml"), "changed");
    environment.put("KERNBENCH_NO_BUILD", "1");

    assertThat(launch("list").exit()).isZero();
  }

  @Test
  void launcher_lockOfADeadProcess_isRemoved() throws Exception {
    maven(BUILDS);
    Files.createDirectories(jar().getParent());
    Process dead = new ProcessBuilder("true").start();
    dead.waitFor();
    Files.createSymbolicLink(jar().resolveSibling("lock"), Path.of("pid:" + dead.pid()));

    assertThat(launch("list").exit()).isZero();
    assertThat(launcherFiles()).doesNotContain("lock");
  }

  @Test
  void launcher_namedJdkTooOld_saysSoAndEndsWith2() throws Exception {
    environment.put("KERNBENCH_JAVA_HOME", jdk("jdk-17", "17.0.15").toString());

    Outcome outcome = launch("list");

    assertThat(outcome.exit()).isEqualTo(2);
    assertThat(outcome.err()).contains("jdk-17: got Java 17.0.15; expected a JDK 25 or later");
  }

  @Test
  void launcher_namedJdkMissing_saysSoAndEndsWith2() throws Exception {
    environment.put("KERNBENCH_JAVA_HOME", temp.resolve("nowhere").toString());

    assertThat(launch("list").err()).contains("nowhere: got no Java home there");
  }

  @Test
  void launcher_oldJavaHome_takesTheJavaOnThePathThroughLinks() throws Exception {
    publish();
    environment.remove("KERNBENCH_JAVA_HOME");
    environment.put("JAVA_HOME", jdk("jdk-1.8", "1.8.0_400").toString());
    Path alternative =
        Files.createSymbolicLink(
            temp.resolve("alternative"), jdk("jdk-26", "26-ea").resolve("bin/java"));
    Files.createSymbolicLink(tools.resolve("java"), alternative);

    assertThat(launch("list").out()).startsWith("jdk-26\n");
  }

  @Test
  void launcher_goodJavaHome_winsOverThePath() throws Exception {
    publish();
    environment.put("JAVA_HOME", environment.remove("KERNBENCH_JAVA_HOME"));
    Files.createSymbolicLink(tools.resolve("java"), jdk("jdk-26", "26").resolve("bin/java"));

    assertThat(launch("list").out()).startsWith("jdk-25\n");
  }

  /** What one start wrote and how it ended. */
  private record Outcome(int exit, String out, String err) {}

  private Outcome launch(String... arguments) throws IOException, InterruptedException {
    return launchAs(home.resolve("kernbench"), arguments);
  }

  private Outcome launchAs(Path command, String... arguments)
      throws IOException, InterruptedException {
    Path out = temp.resolve("out");
    Path err = temp.resolve("err");
    ProcessBuilder builder =
        new ProcessBuilder(
            Stream.concat(Stream.of("/bin/sh", command.toString()), Stream.of(arguments)).toList());
    builder.environment().clear();
    builder.environment().putAll(environment);
    int exit =
        builder
            .directory(temp.toFile())
            .redirectOutput(out.toFile())
            .redirectError(err.toFile())
            .start()
            .waitFor();
    return new Outcome(exit, Files.readString(out), Files.readString(err));
  }

  private Path jar() {
    return home.resolve("core/target/launcher/kernbench.jar");
  }

  private List<String> launcherFiles() throws IOException {
    try (Stream<Path> files = Files.list(jar().getParent())) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  /**
   * As after a build: a program newer than all sources, and an AOT cache that could not be made.
   */
  private void publish() throws IOException {
    write(jar(), "old\n");
    write(jar().resolveSibling("kernbench-25.0.3+9-x86_64.aot"), "");
    write(jar().resolveSibling("kernbench-26-ea+9-x86_64.aot"), "");
  }

  /** A Java home whose {@code java} prints its folder, its arguments and one variable. */
  private Path jdk(String name, String version) throws IOException {
    Path jdk = temp.resolve(name);
    write(
        jdk.resolve("release"),
        """
        IMPLEMENTOR="Nobody"
        JAVA_RUNTIME_VERSION="%s+9"
        JAVA_VERSION="%s"
        OS_ARCH="x86_64"
        """
            .formatted(version, version));
    script(
        jdk.resolve("bin/java"),
        """
        case "$*" in *ModernizeJar* | *AOTCacheOutput*) exit 1 ;; esac
        echo %s
        printf '%%s\\n' "$@"
        echo "JAVA_TOOL_OPTIONS ${JAVA_TOOL_OPTIONS-unset}"
        exit ${FAKE_EXIT:-0}
        """
            .formatted(name));
    return jdk;
  }

  private void maven(String commands) throws IOException {
    script(tools.resolve("mvn"), commands + "\n");
  }

  private static void script(Path file, String body) throws IOException {
    write(file, "#!/bin/sh\n" + body);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private static void write(Path file, String text) throws IOException {
    Files.createDirectories(file.getParent());
    Files.writeString(file, text, StandardCharsets.UTF_8);
  }

  private static void age(Path root) throws IOException {
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : files.toList()) {
        Files.setLastModifiedTime(file, FileTime.from(LONG_AGO));
      }
    }
  }

  private static Path which(String tool) {
    return Stream.of("/usr/bin", "/bin")
        .map(folder -> Path.of(folder, tool))
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow();
  }
}
