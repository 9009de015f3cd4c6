package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.ConfigException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.collective.Splits;
import org.kernbench.torch.placement.RankLevel;

final class CclConfigTest {
  private static final Machine TORUS = Machines.load("sip-2026", List.of());

  private static CclConfig packaged(String... overrides) {
    return CclConfig.load(Optional.empty(), List.of(overrides));
  }

  private static List<Pe> leads(CollectiveLibrary library, Machine machine) {
    return Bed.leads(machine, library.rankLevel(), library.worldSize());
  }

  @Test
  void packaged_defaults_followTheMachine() {
    CollectiveLibrary library = CollectiveLibrary.open(TORUS, packaged());
    assertThat(library.name()).isEqualTo("ahbm");
    assertThat(library.algorithm()).isEqualTo("root_center");
    assertThat(library.rankLevel()).isEqualTo(RankLevel.CUBE);
    assertThat(library.worldSize()).isEqualTo(96);
    assertThat(library.connect(leads(library, TORUS)).firstQueues().orElseThrow().spec())
        .isEqualTo(TORUS.ipcq());
  }

  @Test
  void packaged_isTheFileAtTheRoot() throws IOException {
    Path root = Files.exists(Path.of("ccl.yaml")) ? Path.of("ccl.yaml") : Path.of("../ccl.yaml");
    CclConfig file = CclConfig.load(Optional.of(root), List.of());
    assertThat(file.chosen()).isEqualTo(packaged().chosen());
    assertThat(file.names()).isEqualTo(packaged().names()).containsAll(CollectiveLibrary.builtIn());
  }

  @Test
  void algorithm_ownKeys_liveOverDefaultsOverMachine() {
    CclConfig config =
        packaged(
            "defaults.slots=3",
            "defaults.slot_size=4 KiB",
            "algorithms.ring.slots=5",
            "algorithms.ring.buffer_kind=sram");
    IpcqSpec ring = config.of("ring").queues(TORUS.ipcq());
    assertThat(ring.slots()).isEqualTo(5);
    assertThat(ring.slotBytes()).isEqualTo(4096);
    assertThat(ring.bufferKind()).isEqualTo(BufferKind.SRAM);
    assertThat(ring.creditBytes()).isEqualTo(TORUS.ipcq().creditBytes());
    assertThat(config.of("tree").queues(TORUS.ipcq()).slots()).isEqualTo(3);
  }

  @Test
  void parse_onlyAnAlgorithm_isEnough() {
    CclConfig config = CclConfig.parse("my.yaml", "defaults: {algorithm: ring}", List.of());
    assertThat(CollectiveLibrary.open(TORUS, config).worldSize()).isEqualTo(6);
  }

  @Test
  void worldSize_allAtLevelPe_isEveryPeOfTheMachine_andByDefaultThoseOfACube() {
    String level = "algorithms.ring.rank_level=pe";
    CclConfig all = packaged("defaults.algorithm=ring", level, "algorithms.ring.world_size=all");
    assertThat(CollectiveLibrary.open(TORUS, all).worldSize()).isEqualTo(6 * 16 * 8);
    CclConfig unsaid = packaged("defaults.algorithm=ring", level);
    assertThat(CollectiveLibrary.open(TORUS, unsaid).worldSize()).isEqualTo(8);
  }

  @Test
  void parse_manyMistakes_reportsAllWithPlaces() {
    String yaml =
        """
        defaults:
          algorithm: rink
          slot: 4
          slot_size: 16
        algorithms:
          ring:
            rank_level: sipp
            sub_chunk: 2
          other:
            slots: 0
        """;
    assertThatThrownBy(() -> CclConfig.parse("my.yaml", yaml, List.of()))
        .isInstanceOf(ConfigException.class)
        .hasMessage(
            """
            my.yaml:2:14: defaults.algorithm: got "rink"; expected one of %s, \
            other; did you mean ring?
            my.yaml:3:3: defaults.slot: unknown key; did you mean slots?
            my.yaml:4:14: defaults.slot_size: got "16" without a unit; expected a size with its \
            unit, e.g. "2 MiB"
            my.yaml:7:17: algorithms.ring.rank_level: got "sipp"; expected pe, cube or sip; did \
            you mean sip?
            my.yaml:8:5: algorithms.ring.sub_chunk: unknown key; did you mean sub_chunks?
            my.yaml:10:5: algorithms.other.class: missing, and "other" is not built in; expected a \
            class name with its package, or one of %s
            my.yaml:10:12: algorithms.other.slots: got "0"; expected a whole number from 1 to \
            1048576\
            """
                .formatted(
                    String.join(", ", CollectiveLibrary.builtIn(CollectiveOp.ALL_REDUCE)),
                    String.join(", ", CollectiveLibrary.builtIn())));
  }

  @Test
  void inDirectory_isAFileThatDiffersFromThePackagedOne(@TempDir Path folder) throws IOException {
    Path root = Files.exists(Path.of("ccl.yaml")) ? Path.of("") : Path.of("..");
    assertThat(CclConfig.inDirectory(folder)).isEmpty();
    assertThat(CclConfig.inDirectory(root)).isEmpty();
    Path file = Files.writeString(folder.resolve("ccl.yaml"), "defaults: {algorithm: ring}");
    assertThat(CclConfig.inDirectory(folder)).contains(file);
  }

  @Test
  void load_noSuchFile_saysSo(@TempDir Path folder) {
    Path missing = folder.resolve("ccl.yaml");
    assertThatThrownBy(() -> CclConfig.load(Optional.of(missing), List.of()))
        .isInstanceOf(ConfigException.class)
        .hasMessage(missing + ":1:1: no such file; expected a YAML file");
    assertThatThrownBy(() -> CclConfig.load(Optional.of(folder), List.of()))
        .hasMessage(folder + ":1:1: is a directory; expected a YAML file");
  }

  @Test
  void worldSize_moreThanTheMachineHas_isRefusedAtItsLine() {
    CclConfig config = packaged("defaults.algorithm=ring", "algorithms.ring.world_size=7");
    assertThatThrownBy(() -> CollectiveLibrary.open(TORUS, config))
        .isInstanceOf(ConfigException.class)
        .hasMessage(
            """
            --ccl-set:2:28: algorithms.ring.world_size: got 7 ranks of level sip; machine \
            sip-2026 has 6 of those; expected at most that, or another rank_level: cube (96) or \
            pe (768)\
            """);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "root_center|cube|5|5 cubes of sip 0 take part, which do not fill a rectangle; use a"
            + " world_size of whole rows of 4 cubes",
        "root_center|cube|24|takes part with other cubes than sip 0; use a world_size that is a"
            + " multiple of the cubes of a sip, 16",
        "root_center|sip|4|4 sips take part, which do not fill a rectangle; use a world_size of"
            + " whole rows of 3 sips, or topology: ring_1d",
        "root_center_pipelined|pe|8|are on one cube; it needs rank_level cube or sip",
        "mesh|pe|5|is for 4 ranks in a 2 x 2 mesh, the group has 5; use world_size: 4"
      })
  void connect_groupThatDoesNotFit_isRefusedWithARemedy(
      String algorithm, String level, int ranks, String message) {
    CollectiveLibrary library =
        CollectiveLibrary.open(
            TORUS,
            packaged(
                "defaults.algorithm=" + algorithm,
                "algorithms." + algorithm + ".rank_level=" + level,
                "algorithms." + algorithm + ".world_size=" + ranks));
    assertThatThrownBy(() -> library.connect(leads(library, TORUS)))
        .isInstanceOf(CollectiveException.class)
        .hasMessageStartingWith("algorithm " + algorithm)
        .hasMessageContaining(message);
  }

  @Test
  void class_ofYourOwn_isFoundByName() {
    String yaml =
        """
        defaults: {algorithm: mine}
        algorithms:
          mine: {class: org.kernbench.ccl.algorithms.RingAllReduce, world_size: 4}
        """;
    CollectiveLibrary library =
        CollectiveLibrary.open(TORUS, CclConfig.parse("my.yaml", yaml, List.of()));
    assertThat(library.connect(leads(library, TORUS)).algorithm()).isEqualTo("mine");
    assertThatThrownBy(() ->
            CollectiveLibrary.open(
                TORUS,
                CclConfig.parse(
                    "my.yaml",
                    yaml.replace("ccl.algorithms.RingAllReduce", "ccl.Ring"),
                    List.of())))
        .hasMessage(
            "my.yaml:3:17: algorithms.mine.class: no class org.kernbench.ccl.Ring on the class"
                + " path");
    assertThatThrownBy(() ->
            CollectiveLibrary.open(
                TORUS,
                CclConfig.parse(
                    "my.yaml",
                    yaml.replace("org.kernbench.ccl.algorithms.RingAllReduce", "java.lang.Object"),
                    List.of())))
        .hasMessageContaining("class java.lang.Object is no org.kernbench.ccl.CollectiveAlgorithm");
  }

  /** An algorithm whose constructor fails. */
  public static final class Fails extends Plain {
    /** Fails. */
    public Fails() {
      super(true);
    }
  }

  /** An algorithm that only its own class can make. */
  public static final class Hidden extends Plain {
    private Hidden() {
      super(false);
    }
  }

  private abstract static class Plain implements CollectiveAlgorithm {
    Plain(boolean fails) {
      if (fails) {
        throw new IllegalStateException("not today");
      }
    }

    @Override
    public String name() {
      return "plain";
    }

    @Override
    public RankLevel defaultRankLevel() {
      return RankLevel.SIP;
    }

    @Override
    public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
      throw new AssertionError("nobody made it");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "Fails | failed to start: java.lang.IllegalStateException: not today",
        "Hidden | cannot be made; expected a public class with a public constructor without"
            + " arguments",
      })
  void classThatCannotBeMade_isRefusedInItsPlace(String name, String why) {
    String className = CclConfigTest.class.getName() + "$" + name;
    CclConfig config =
        CclConfig.parse(
            "my.yaml",
            "defaults: {algorithm: mine}\nalgorithms:\n  mine: {class: %s}\n".formatted(className),
            List.of());
    assertThatThrownBy(() -> CollectiveLibrary.open(TORUS, config))
        .isInstanceOf(ConfigException.class)
        .hasMessage("my.yaml:3:17: algorithms.mine.class: class " + className + " " + why);
  }

  @Test
  void algorithmThatCannotAllReduce_isRefusedWithThoseThatCan() {
    assertThatThrownBy(() -> CollectiveLibrary.open(TORUS, packaged(), "tree_barrier"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(
            "got \"tree_barrier\", which can do barrier; expected one that can do all_reduce, e.g. "
                + String.join(
                    ", ",
                    CollectiveLibrary.builtIn(CollectiveOp.ALL_REDUCE).stream().sorted().toList()));
    assertThatThrownBy(() -> CollectiveLibrary.builtIn("rink"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("no built-in algorithm rink");
  }

  @Test
  void callOfOtherRanks_isRefused() {
    CollectiveLibrary library = CollectiveLibrary.open(TORUS, packaged("defaults.algorithm=ring"));
    Communicator all = library.connect(leads(library, TORUS));
    List<Optional<Shard>> nothing = Collections.nCopies(5, Optional.empty()); // of six ranks
    CollectiveCall five =
        new CollectiveCall(
            CollectiveOp.ALL_REDUCE,
            ReduceKind.SUM,
            DType.F32,
            -1,
            8,
            Collections.nCopies(5, new Part(0, 8)),
            Splits.NONE,
            List.of(),
            nothing,
            nothing);
    assertThatThrownBy(() -> all.plan(five))
        .isInstanceOf(CollectiveException.class)
        .hasMessage("all_reduce: the call has 5 ranks, the group 6");
  }
}
