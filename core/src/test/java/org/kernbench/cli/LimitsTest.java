package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Options just within their limits and just beyond, and what commands say at their ends. */
final class LimitsTest {
  @TempDir private Path directory;

  private Session run(String line) {
    return Session.of(line.replace("@", directory.toString()).split(" "));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tune --topology tiny --rank-level cube --ranks 1 | --ranks: got 1; expected 2 to 4, the devices of this level",
        "tune --topology tiny --rank-level cube --ranks 5 | --ranks: got 5; expected 2 to 4, the devices of this level",
        "tune --topology tiny --sizes 0B | --sizes: got \"0B\"; expected a positive size",
        "trace sample pipeline --ranks 0 --out @ | --ranks: got 0; expected 1 to 4096",
        "trace sample pipeline --ranks 4097 --out @ | --ranks: got 4097; expected 1 to 4096",
        "trace sample pipeline --layers 0 --out @ | --layers: got 0; expected 1 to 1000",
        "trace sample pipeline --layers 1001 --out @ | --layers: got 1001; expected 1 to 1000",
        "trace sample pipeline --bytes 0 --out @ | --bytes: got 0; expected 1 to 1073741824",
        "trace sample pipeline --bytes 1073741825 --out @ | --bytes: got 1073741825; expected 1 to 1073741824",
        "ui @ --port -1 | --port: got -1; expected 0 to 65535, 0 for any that is free",
        "ui @ --port 65536 | --port: got 65536; expected 0 to 65535, 0 for any that is free",
        "explain hello-send --rows -1 | --rows: got -1; expected 0, for all, or more",
        "diff @ @ --rows -1 | --rows: got -1; expected 0, for all, or more",
        "layout check tp=2,dp=1:tp=1,dp=2 --samples 0 | --samples: got 0; expected 1 or more",
        "layout check tp=2,dp=1:tp=1,dp=2 --tokens 0 | --tokens: got 0; expected 1 or more",
        "layout check tp=2,dp=1:tp=1,dp=2 --microbatches 0 | --microbatches: got 0; expected 1 or more",
        "layout check tp=2,dp=1:tp=1,dp=2 --steps -1 | --steps: got -1; expected 0 or more",
        "layout check pp=2 --microbatches 0 | --microbatches: got 0; expected 1 or more",
        "machine show tiny --topology ring | two machines given, tiny and --topology ring; expected one",
        "conformance ring --set ipcq.slots=3 | --set changes a value of the machine of --topology, which is not given",
      })
  void option_beyondItsLimits_isRefusedWithThem(String line, String message) {
    Session session = run(line);

    assertThat(session.exitCode()).as(session.err()).isEqualTo(2);
    assertThat(session.err()).isEqualTo("kernbench: " + message + "\n");
    assertThat(session.out()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "tune --topology tiny --rank-level cube --ranks 2 --sizes 1B --op broadcast",
        "tune --topology tiny --rank-level cube --ranks 4 --sizes 1B --op broadcast",
        "tune --topology ring --set system.sips.count=2 --sizes 1B --op broadcast",
        "trace sample pipeline --ranks 1 --layers 1 --bytes 1 --out @",
        "trace sample data-parallel --ranks 1 --layers 1000 --bytes 1073741824 --out @",
        "explain hello-send --topology tiny --rows 0",
        "machine show tiny --topology tiny",
        "completion",
        "completion zsh",
        "man",
        "list",
      })
  void option_atItsLimit_isTaken(String line) {
    Session session = run(line);

    assertThat(session.exitCode()).as(session.err()).isZero();
    assertThat(session.err()).isEmpty();
    assertThat(session.out()).isNotEmpty();
  }

  /** PEs of one cube, or all devices of a level. */
  @ParameterizedTest
  @CsvSource({"pe, 2", "cube, 4"})
  void tune_takesAsManyRanksAsThereAre(String level, int ranks) {
    Session session =
        run("tune --topology tiny --sizes 8B --op broadcast,broadcast --rank-level " + level);

    assertThat(session.out().lines().findFirst())
        .contains("machine tiny, %d ranks of level %s, f16".formatted(ranks, level));
    assertThat(session.out().lines().filter(l -> l.startsWith("broadcast"))).hasSize(1);
  }

  @Test
  void traceSample_saysWhichFilesItWrote_andTheLastHasTheMistake() throws IOException {
    assertThat(run("trace sample pipeline --ranks 1 --out @/one").out())
        .isEqualTo("wrote " + directory + "/one/pipeline.0.et\n");
    assertThat(run("trace sample pipeline --ranks 3 --out @/three").out())
        .isEqualTo("wrote " + directory + "/three/pipeline.0.et to .2.et\n");
    for (int ranks : List.of(2, 3)) {
      String out = "@/wrong" + ranks;
      String words = "trace sample data-parallel --ranks " + ranks;
      assertThat(run(words + " --out @/right" + ranks).exitCode()).isZero();
      assertThat(run(words + " --mistake cycle --out " + out).exitCode()).isZero();
      for (int rank = 0; rank < ranks; rank++) {
        String file = "data_parallel." + rank + ".et";
        assertThat(Files.mismatch(at("right" + ranks, file), at("wrong" + ranks, file)) >= 0)
            .as("%s of %d", file, ranks)
            .isEqualTo(rank == ranks - 1);
      }
    }
    try (Stream<Path> files = Files.list(directory.resolve("three"))) {
      assertThat(files).hasSize(3);
    }
  }

  private Path at(String folder, String file) {
    return directory.resolve(folder).resolve(file);
  }

  @Test
  void machineDiff_hasARowForEachValue_ofTheOtherWithWhatIsSet() {
    List<String> lines = run("machine diff tiny tiny --set ipcq.slots=7").out().lines().toList();

    assertThat(lines.get(0)).matches("A +tiny +configuration [0-9a-f]+");
    assertThat(lines.get(1)).matches("B +tiny +configuration [0-9a-f]+");
    assertThat(lines.subList(2, 4)).first().isEqualTo("");
    assertThat(lines.get(3)).matches("value +A +B");
    assertThat(lines.get(4)).matches("ipcq\\.slots +[0-68-9]\\d* +7");
    assertThat(lines).hasSize(5);
    assertThat(run("machine diff tiny tiny").out()).endsWith("\n\nno value differs\n");
  }

  @ParameterizedTest
  @CsvSource({"d.svg, false", "d, false", "D.SVG, false", "d.png, true", "D.PNG, true"})
  void machineDiagram_isWhatItsNameSays(String name, boolean png) throws IOException {
    Session session = run("machine diagram tiny --view pe --out @/" + name);

    assertThat(session.out()).isEqualTo("wrote " + directory.resolve(name) + "\n");
    byte[] bytes = Files.readAllBytes(directory.resolve(name));
    assertThat(bytes[0] == (byte) 0x89 && bytes[1] == 'P').isEqualTo(png);
    if (!png) {
      assertThat(Files.readString(directory.resolve(name)))
          .isEqualTo(run("machine diagram --topology tiny --view pe").out())
          .contains("<svg");
    }
    Session other = run("machine diagram tiny --out @/d.gif");
    assertThat(other.exitCode()).isEqualTo(2);
    assertThat(other.err()).contains("a diagram is SVG or PNG; expected a name that ends in");
  }

  @Test
  void machineValidate_countsWarnings() {
    assertThat(run("machine validate tiny").out())
        .matches("tiny is valid: configuration [0-9a-f]+, 8 PEs, 0 warnings\n");
    List<String> lines =
        Session.of("machine", "validate", "tiny", "--set", "cube.noc.bandwidth=1 GB/s")
            .out()
            .lines()
            .toList();
    assertThat(lines).hasSizeGreaterThan(1);
    long warnings = lines.stream().filter(line -> line.startsWith("warning: ")).count();
    assertThat(lines.getLast())
        .endsWith(warnings == 1 ? ", 1 warning" : ", " + warnings + " warnings");
    assertThat(lines).hasSize((int) warnings + 1);
  }
}
