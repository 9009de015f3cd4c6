package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.ConfigException;

class BadMachineTest {
  private static final Path RESOURCES = Path.of("src/test/resources/org/kernbench/machine");

  private static ConfigException failure(String machine, String... overrides) {
    ConfigException e =
        catchThrowableOfType(
            ConfigException.class, () -> Machines.load(machine, List.of(overrides)));
    assertThat(e).as("%s %s must be refused", machine, List.of(overrides)).isNotNull();
    return e;
  }

  /** Rewrite with {@code -Dgolden.update=true}. */
  @Test
  void parse_everythingWrong_reportsAllProblemsInOrder() throws IOException {
    ConfigException e =
        catchThrowableOfType(
            ConfigException.class,
            () -> Machines.parse("bad-machine.yaml", resource("bad-machine.yaml"), List.of()));
    Path golden = RESOURCES.resolve("bad-machine.txt");
    String found = e.getMessage() + "\n";
    if (Boolean.getBoolean("golden.update")) {
      Files.writeString(golden, found);
    }
    assertThat(found).isEqualTo(resource("bad-machine.txt"));
  }

  /** Each comment {@code # bad} marks a line that must be reported, found without our parser. */
  @Test
  void parse_everythingWrong_reportsEachMarkedLineAndNoOther() throws IOException {
    ConfigException e =
        catchThrowableOfType(
            ConfigException.class,
            () -> Machines.parse("bad-machine.yaml", resource("bad-machine.yaml"), List.of()));
    List<String> lines = resource("bad-machine.yaml").lines().toList();
    List<Integer> marked =
        java.util.stream.IntStream.rangeClosed(1, lines.size())
            .filter(i -> lines.get(i - 1).contains("# bad"))
            .boxed()
            .toList();
    assertThat(marked).hasSizeGreaterThanOrEqualTo(25);
    assertThat(e.problems().stream().map(p -> p.line()).distinct())
        .containsExactlyElementsOf(marked);
    for (var problem : e.problems()) {
      String line = lines.get(problem.line() - 1);
      String key = problem.path().substring(problem.path().lastIndexOf('.') + 1);
      String upToValue = line.substring(0, problem.column() - 1);
      assertThat(
              upToValue.endsWith(key + ": ")
                  || line.startsWith(key, problem.column() - 1)
                  || problem.message().startsWith("got nothing"))
          .as("%s points at the key or its value", problem)
          .isTrue();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "system.sips.count=7; system.sips.w=3 | expected w x h = count, e.g. w: 7, h: 1",
        "cube.memory_map.hbm_slices_per_cube=7 | expected one each: 8, or per_pe",
        "cube.pe_layout.pe_per_corner=3; cube.hbm.channels=100 | 100 pseudo-channels for 12 PEs",
        "cube.pe_layout.pe_per_corner=5 | expected at most 4: each PE needs a router of its own",
        "ipcq.slot_size=64 KiB | = 4 MiB; expected at most pe.tcm.size = 2 MiB",
        "ipcq.buffer_kind=sram; cube.sram.size=1 MiB | share of cube.sram.size = 128 KiB",
        "fabric.chunk=128 B | at least the HBM burst",
        "fabric.buffer=endless | a size with its unit, e.g. \"2 MiB\", or unlimited",
        "cube.memory_map.hbm_total_gb_per_cube=1000000 | more address bits than the 51",
        "system.sips.count=4097; system.sips.topology=fully_connected | at most 4096",
        "sip.cube_mesh.w=256; sip.cube_mesh.h=256; cube.noc.w=256 | million nodes",
        "cube.noc.latency=0 ns | above 0",
        "cube.hbm.channels=48 | a power of two for each PE, e.g. 32",
        "system.sips.topolgy=ring_1d | did you mean topology?",
        "cube.hbm.channel_bandwidth=9000000 TB/s | exceeds what we can hold",
        "pe.math.width=2 MiB | at most 1 MiB",
        "pe.gemm.mode=waves; pe.gemm.units=4; pe.gemm.macs=64; pe.gemm.l2_width=64 B | pe.gemm.tiles: missing; expected a list of values, e.g. [256x128, 128x128]",
        "pe.gemm.split_k=[1, 2]; pe.gemm.mode=waves; pe.gemm.macs=64; pe.gemm.l2_width=64 B; pe.gemm.tiles=[256x128, 128x128] | pe.gemm.units: missing",
        "=3 | expected path=value",
        "system.sips.count | expected path=value",
      })
  void load_oneThingWrong_saysWhatWasExpected(String overrides, String message) {
    ConfigException e = failure("sip-2026", overrides.split("; "));
    assertThat(e.problems()).as(e.getMessage()).hasSize(1);
    assertThat(e.getMessage()).matches("(--set:[1-5]|machines/sip-2026.yaml:[0-9]+):[0-9]+: .*");
    assertThat(e.getMessage()).contains(message);
  }

  @Test
  void load_unknownName_suggestsTheNearestPreset() {
    assertThat(failure("kb_compta"))
        .hasMessageContaining("did you mean kb-compat?")
        .hasMessageContaining("tiny");
    assertThat(failure("..")).hasMessageContaining("is a directory");
    assertThat(failure("a\0b")).hasMessageContaining("no preset and no file");
  }

  @Test
  void load_filesThatExtendEachOther_isRefusedWithTheCircle(@TempDir Path dir) throws IOException {
    Files.writeString(dir.resolve("a.yaml"), "extends: b.yaml\n");
    Files.writeString(dir.resolve("b.yaml"), "description: x\nextends: a.yaml\n");
    assertThat(failure(dir.resolve("a.yaml").toString()))
        .hasMessageContaining("b.yaml:2:10: extends: a circle of files");
  }

  @Test
  void load_fileThatExtendsAFile_findsItBesideItself(@TempDir Path dir) throws IOException {
    Files.writeString(dir.resolve("base.yaml"), "extends: tiny\nipcq: {slots: 4}\n");
    Files.writeString(dir.resolve("top.yaml"), "extends: base.yaml\nipcq: {slot_size: 1 KiB}\n");
    Machine machine = Machines.load(dir.resolve("top.yaml").toString(), List.of());
    assertThat(machine.name()).isEqualTo("top");
    assertThat(machine.ipcq().slots()).isEqualTo(4);
    assertThat(machine.ipcq().slotBytes()).isEqualTo(1024);
  }

  @Test
  void load_fileThatIsNotText_isRefused(@TempDir Path dir) throws IOException {
    Files.write(dir.resolve("x.yaml"), new byte[] {(byte) 0xff, (byte) 0xfe, 0, 1});
    assertThat(failure(dir.resolve("x.yaml").toString())).hasMessageContaining("not UTF-8");
  }

  @Test
  void parse_fileWithoutBase_mustGiveEveryKey() {
    ConfigException e =
        catchThrowableOfType(
            ConfigException.class, () -> Machines.parse("own", "description: mine\n", List.of()));
    assertThat(e.getMessage())
        .isEqualTo(
            """
            own:1:1: extends: missing; expected "extends: sip-2026", for example, and what \
            differs: a file that extends nothing has every key of a machine, and this one has no \
            system, sip, cube, pe, ipcq, fabric\
            """);
  }

  /** Every key of the default preset is needed: without any one of them the machine is refused. */
  @Test
  void parse_presetWithoutOneLine_isRefused() throws IOException {
    List<String> lines = Files.readAllLines(Path.of("../machines/sip-2026.yaml"));
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).replaceAll("#.*", "").stripTrailing();
      boolean hasScalar = line.contains(": ") && !line.startsWith("#");
      if (hasScalar) {
        List<String> rest = new java.util.ArrayList<>(lines);
        rest.remove(i);
        ConfigException e =
            catchThrowableOfType(
                ConfigException.class,
                () -> Machines.parse("x", String.join("\n", rest), List.of()));
        assertThat(e).as("without \"%s\"", line.strip()).isNotNull();
        assertThat(e.getMessage()).contains(": missing; expected ");
      }
    }
  }

  /** The way that is too long for its slots names what is on it, and no link that is not. */
  @ParameterizedTest
  @CsvSource({"20-28 10 GB/s, system.network", "0-8 50 GB/s, system.network"})
  void warning_ofAQueue_isAtWhatItsWayGoesOver(String link, String key) {
    Machine machine =
        Machines.load(
            "ring",
            List.of(
                "system.network=[{kind: switch, size: 8, bandwidth: 400 GB/s, latency: 900 ns}, {kind: ring, size: 4, bandwidth: 25 GB/s, latency: 500 ns}]",
                "system.sips.links=" + link));
    assertThat(machine.warnings().stream().map(Object::toString))
        .filteredOn(w -> w.contains("fewer bytes in flight") && w.contains("next sip"))
        .allMatch(w -> w.contains(key + ": "))
        .isNotEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ipcq.slots=2 | 2 slots x 16 KiB are fewer bytes in flight",
        "cube.noc.bandwidth=128 GB/s | a PE gets at most 59 % of another PE's slice",
        "cube.links.hbm_to_router.bandwidth=100 GB/s | a PE gets at most 46 % of its own",
        "pe.tcm.bandwidth=512 GB/s | together at most 67 % of their peak",
      })
  void warnings_partsThatCannotKeepUp_sayTheImpliedNumber(String override, String message) {
    Machine machine = Machines.load("sip-2026", List.of(override));
    assertThat(machine.warnings()).hasSize(1);
    assertThat(machine.warnings().get(0).toString()).startsWith("--set:1:").contains(message);
  }

  /** The file has no description of its own, which does not make it a preset. */
  @Test
  void warnings_ofAFileOverAPreset_nameTheLineOfTheFile(@TempDir Path dir) throws IOException {
    Path file = dir.resolve("a.yaml");
    Files.writeString(file, "extends: sip-2026\npe:\n  gemm:\n    clock: 9 GHz\n");
    assertThat(Machines.load(file.toString(), List.of()).warnings())
        .singleElement()
        .asString()
        .startsWith(file + ":4:12: pe.gemm.clock: ");
  }

  /** A key that nobody said is not where a number was written, though its section is. */
  @Test
  void warnings_nameNoKeyThatIsNotThere() {
    assertThat(Machines.load("ring", List.of("system.sips.topology=switch")).warnings())
        .singleElement()
        .asString()
        .contains(": ipcq.slots: ");
    assertThat(
            Machines.load(
                    "ring",
                    List.of(
                        "system.sips.topology=switch", "system.links.sip_to_sip.latency=260 ns"))
                .warnings())
        .singleElement()
        .asString()
        .startsWith("--set:2:")
        .contains(": system.links.sip_to_sip.latency: ");
  }

  /** Of numbers that do not fit each other, the user's own is named. */
  @Test
  void slots_thatDoNotFit_areNamedWhereTheUserWroteThem() {
    ConfigException e =
        catchThrowableOfType(
            ConfigException.class,
            () -> Machines.parse("m.yaml", "extends: tiny\nipcq: {slots: 4096}\n", List.of()));
    assertThat(e).hasMessageStartingWith("m.yaml:2:15: ipcq.slots: got 4096 slots");
  }

  @ParameterizedTest
  @CsvSource({
    "0-1 dead, 1-0 50 GB/s",
    "0->1 50 GB/s, 0->1 60 GB/s",
    "2-3 50 GB/s, 2-3 400 ns",
  })
  void links_namedTwice_areRefused(String one, String other) {
    assertThat(failure("ring", "system.sips.links=[%s, %s]".formatted(one, other)))
        .hasMessageContaining("got \"" + other.strip())
        .hasMessageContaining("a link named before; say all of a link in one entry");
  }

  @Test
  void links_namedForEachDirection_areTaken() {
    List<String> each = List.of("system.sips.links=[0->1 50 GB/s, 1->0 60 GB/s]");
    assertThat(Machines.load("ring", each).warnings()).isNotNull();
  }

  private static String resource(String name) throws IOException {
    if (Boolean.getBoolean("golden.update")) {
      return Files.readString(RESOURCES.resolve(name));
    }
    try (InputStream in = BadMachineTest.class.getResourceAsStream(name)) {
      return new String(
          java.util.Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
