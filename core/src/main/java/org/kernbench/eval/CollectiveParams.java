package org.kernbench.eval;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.kernbench.ccl.CclConfig;
import org.kernbench.config.Suggest;
import org.kernbench.tensor.DType;
import org.kernbench.torch.CollectiveOp;

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
    String algorithm = wanted.isPresent() ? known(wanted.get(), file) : file.algorithm();
    String entry = "algorithms." + algorithm + ".";
    List<String> overrides = new ArrayList<>();
    overrides.add("defaults.algorithm=" + algorithm);
    context.param(BUFFER_KIND).ifPresent(k -> overrides.add(entry + "buffer_kind=" + k));
    context.param(SLOTS).ifPresent(n -> overrides.add(entry + "slots=" + n));
    context.param(SLOT_SIZE).ifPresent(n -> overrides.add(entry + "slot_size=" + n + " B"));
    return context.ccl(overrides);
  }

  private static String known(String name, CclConfig config) {
    List<String> names = config.names(CollectiveOp.ALL_REDUCE).stream().sorted().toList();
    for (String each : names) {
      if (Suggest.fold(each).equals(Suggest.fold(name))) {
        return each;
      }
    }
    throw new UsageException(
        "--param algorithm: got \""
            + name
            + "\"; expected one of "
            + String.join(", ", names)
            + Suggest.hint(name, names));
  }
}
