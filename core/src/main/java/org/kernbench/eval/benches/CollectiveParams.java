package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.Suggest;
import org.kernbench.config.UsageException;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Param;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;

/** Parameters that benches of collectives share. */
final class CollectiveParams {
  static final int MAX_ELEMENTS = 1 << 26;

  static final Param<String> DTYPE =
      Param.choice(
          "dtype",
          "f16",
          List.of("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8", "i32", "i64"),
          "type of the elements");

  static final Param<String> PATTERN =
      Param.choice(
          "pattern",
          "auto",
          List.of("auto", "rank", "mixed", "sparse"),
          "rank: rank r holds r+1; mixed: every element differs; sparse: sums at most 8; auto: the"
              + " first whose sums are exact");

  static final Param<Optional<String>> ALGORITHM =
      Param.word("algorithm", "", "a name in ccl.yaml", "collective algorithm").orFrom("ccl.yaml");

  static final Param<Optional<String>> BUFFER_KIND =
      Param.choice(
              "buffer_kind", "tcm", List.of("tcm", "sram", "hbm"), "memory of the message slots")
          .orFrom("ccl.yaml");

  static final Param<Optional<Integer>> SLOTS =
      Param.integer("slots", 8, 1, 4096, "message slots per direction").orFrom("ccl.yaml");

  static final Param<Optional<Long>> SLOT_SIZE =
      Param.size("slot_size", "16 KiB", 1, 1 << 30, "size of a slot").orFrom("ccl.yaml");

  static final Param<Optional<String>> RANK_LEVEL =
      Param.choice("rank_level", "cube", List.of("pe", "cube", "sip"), "what a rank owns")
          .orFrom("ccl.yaml");

  static final Param<Optional<Integer>> RANKS =
      Param.integer("ranks", 96, 2, 16384, "ranks: the first devices of that level")
          .orFrom("ccl.yaml");

  static final Param<Optional<String>> ROOT =
      Param.choice(
              "root",
              "center",
              List.of("center", "corner"),
              "of root_center: the root among the cubes of a package")
          .orFrom("ccl.yaml");

  static final Param<Optional<Integer>> ROOT_CUBE =
      Param.integer("root_cube", 0, 0, 1 << 20, "of root_center: a cube by number, instead of root")
          .orFrom("ccl.yaml");

  /** What says on which ranks an algorithm runs, and how. */
  static final List<Param<?>> OF_ALGORITHM =
      List.of(ALGORITHM, RANK_LEVEL, RANKS, ROOT, ROOT_CUBE, BUFFER_KIND, SLOTS, SLOT_SIZE);

  private CollectiveParams() {}

  static DType dtype(BenchContext context) {
    return DType.parse(context.param(DTYPE));
  }

  /** The pattern for a number of ranks. */
  static Pattern pattern(BenchContext context, int ranks) {
    return switch (context.param(PATTERN)) {
      case "rank" -> Pattern.RANK;
      case "mixed" -> Pattern.MIXED;
      case "sparse" -> Pattern.SPARSE;
      default -> Pattern.exactIn(dtype(context), ranks);
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
    context.param(RANK_LEVEL).ifPresent(level -> overrides.add(entry + "rank_level=" + level));
    context.param(RANKS).ifPresent(n -> overrides.add(entry + "world_size=" + n));
    context.param(ROOT).ifPresent(root -> overrides.add(entry + "root=" + root));
    context.param(ROOT_CUBE).ifPresent(n -> overrides.add(entry + "root_cube=" + n));
    context.param(BUFFER_KIND).ifPresent(k -> overrides.add(entry + "buffer_kind=" + k));
    context.param(SLOTS).ifPresent(n -> overrides.add(entry + "slots=" + n));
    context.param(SLOT_SIZE).ifPresent(n -> overrides.add(entry + "slot_size=" + n + " B"));
    return context.ccl(overrides);
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
