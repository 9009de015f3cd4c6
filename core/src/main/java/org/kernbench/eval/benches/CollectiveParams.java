package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.Suggest;
import org.kernbench.config.UsageException;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Param;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/** Parameters that benches of collectives share. */
final class CollectiveParams {
  static final int MAX_ELEMENTS = 1 << 26;

  static final Param<DType> DTYPE =
      Param.choice(
          "dtype",
          DType.F16,
          List.of(
              DType.F64,
              DType.F32,
              DType.F16,
              DType.BF16,
              DType.F8E4M3,
              DType.F8E5M2,
              DType.I8,
              DType.I32,
              DType.I64),
          "type of the elements");

  static final Param<PatternChoice> PATTERN =
      Param.choice(
          "pattern",
          PatternChoice.AUTO,
          PatternChoice.class,
          """
          rank: rank r holds r+1; mixed: every element differs; sparse: sums at most 8; auto: \
          the first whose sums are exact\
          """);

  static final Param<Optional<String>> ALGORITHM =
      Param.word("algorithm", "", "a name in ccl.yaml", "collective algorithm").orFrom("ccl.yaml");

  static final Param<Optional<BufferKind>> BUFFER_KIND =
      Param.choice("buffer_kind", BufferKind.TCM, BufferKind.class, "memory of the message slots")
          .orFrom("ccl.yaml");

  static final Param<Optional<Integer>> SLOTS =
      Param.integer("slots", 8, 1, 4096, "message slots per direction").orFrom("ccl.yaml");

  static final Param<Optional<Long>> SLOT_SIZE =
      Param.size("slot_size", "16 KiB", 1, 1 << 30, "size of a slot").orFrom("ccl.yaml");

  static final Param<Optional<RankLevel>> RANK_LEVEL =
      Param.choice("rank_level", RankLevel.CUBE, RankLevel.class, "what a rank owns")
          .orFrom("ccl.yaml");

  static final Param<Optional<Integer>> RANKS =
      Param.integer("ranks", 96, 2, 16384, "ranks: the first devices of that level")
          .orFrom("ccl.yaml");

  static final Param<Optional<AlgorithmConfig.Root>> ROOT =
      Param.choice(
              "root",
              AlgorithmConfig.Root.CENTER,
              AlgorithmConfig.Root.class,
              "of root_center: the root among the cubes of a package")
          .orFrom("ccl.yaml");

  static final Param<Optional<Integer>> ROOT_CUBE =
      Param.integer("root_cube", 0, 0, 1 << 20, "of root_center: a cube by number, instead of root")
          .orFrom("ccl.yaml");

  /** What says on which ranks an algorithm runs, and how. */
  static final List<Param<?>> OF_ALGORITHM =
      List.of(ALGORITHM, RANK_LEVEL, RANKS, ROOT, ROOT_CUBE, BUFFER_KIND, SLOTS, SLOT_SIZE);

  /** A {@link Pattern}, or the choice of one. */
  enum PatternChoice {
    AUTO,
    RANK,
    MIXED,
    SPARSE
  }

  private CollectiveParams() {}

  static DType dtype(BenchContext context) {
    return context.param(DTYPE);
  }

  /** The pattern for a number of ranks. */
  static Pattern pattern(BenchContext context, int ranks) {
    return switch (context.param(PATTERN)) {
      case RANK -> Pattern.RANK;
      case MIXED -> Pattern.MIXED;
      case SPARSE -> Pattern.SPARSE;
      case AUTO -> Pattern.exactIn(dtype(context), ranks);
    };
  }

  /** The configuration with what the parameters say over it. */
  static CclConfig config(BenchContext context) {
    CclConfig file = context.ccl(List.of());
    Optional<String> wanted = context.param(ALGORITHM);
    String algorithm =
        wanted.isPresent() ? known("algorithm", wanted.get(), file) : file.algorithm();
    String entry = "algorithms." + algorithm + ".";
    List<String> overrides = new ArrayList<>();
    overrides.add("defaults.algorithm=" + algorithm);
    checkRoot(context, file.of(algorithm).className());
    context
        .param(RANK_LEVEL)
        .ifPresent(level -> overrides.add(entry + "rank_level=" + Param.word(level)));
    RankLevel level =
        context
            .param(RANK_LEVEL)
            .or(() -> file.of(algorithm).rankLevel())
            .orElseGet(() -> CollectiveLibrary.algorithm(file, algorithm).defaultRankLevel());
    context
        .param(RANKS)
        .ifPresent(n -> {
          checkRanks(context.machine(), level, n);
          overrides.add(entry + "world_size=" + n);
        });
    context.param(ROOT).ifPresent(root -> overrides.add(entry + "root=" + Param.word(root)));
    context.param(ROOT_CUBE).ifPresent(n -> overrides.add(entry + "root_cube=" + n));
    context
        .param(BUFFER_KIND)
        .ifPresent(k -> overrides.add(entry + "buffer_kind=" + Param.word(k)));
    context.param(SLOTS).ifPresent(n -> overrides.add(entry + "slots=" + n));
    context.param(SLOT_SIZE).ifPresent(n -> overrides.add(entry + "slot_size=" + n + " B"));
    return context.ccl(overrides);
  }

  /** Refuses more ranks than there are devices. */
  static void checkRanks(Machine machine, RankLevel level, int ranks) {
    int devices = level.devices(machine);
    if (ranks > devices) {
      String others = RankLevel.withAtLeast(machine, ranks);
      throw new UsageException(
          """
          --param ranks: got %s; machine %s has %s of level %s; expected at most that%s\
          """
              .formatted(
                  ranks,
                  machine.name(),
                  devices,
                  Param.word(level),
                  others.isEmpty() ? ": no level has more" : ", or rank_level " + others));
    }
  }

  private static void checkRoot(BenchContext context, String className) {
    boolean given = context.param(ROOT).isPresent() || context.param(ROOT_CUBE).isPresent();
    if (given && !className.startsWith("root_center")) {
      throw new UsageException(
          """
          --param %s: algorithm %s has no root that can be chosen; leave it out, or use \
          root_center or root_center_pipelined\
          """
              .formatted(context.param(ROOT).isPresent() ? "root" : "root_cube", className));
    }
  }

  /** The algorithm that a parameter names. */
  static String known(String param, String name, CclConfig config) {
    List<String> names = config.names(CollectiveOp.ALL_REDUCE).stream().sorted().toList();
    for (String each : names) {
      if (Suggest.fold(each).equals(Suggest.fold(name))) {
        return each;
      }
    }
    throw new UsageException(
        "--param %s: got \"%s\"; expected one of %s%s"
            .formatted(param, name, String.join(", ", names), Suggest.hint(name, names)));
  }
}
