package org.kernbench.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.library.CclConfig;
import picocli.CommandLine.Option;

/** The options {@code --ccl} and {@code --ccl-set}, of every command that runs collectives. */
final class CclChoice {
  @Option(
      names = "--ccl",
      paramLabel = "FILE",
      description =
          """
          Collective algorithms and their settings (default: ccl.yaml here, or else the packaged \
          one).\
          """)
  private @Nullable Path ccl;

  @Option(
      names = "--ccl-set",
      paramLabel = "path=value",
      description = "Changes one value of it, e.g. algorithms.ring.sub_chunks=4; may be repeated.")
  private List<String> overrides = new ArrayList<>();

  /** The file that was named. */
  Optional<Path> named() {
    BenchOptions.checkNotBlank("--ccl", ccl);
    return Optional.ofNullable(ccl);
  }

  /** The file to use: that which was named, or the one of this directory. */
  Optional<Path> file() {
    return named().or(() -> CclConfig.inDirectory(Path.of("")));
  }

  /** The values that were given. */
  List<String> overrides() {
    return List.copyOf(overrides);
  }
}
