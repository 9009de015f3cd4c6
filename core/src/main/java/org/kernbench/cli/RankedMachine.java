package org.kernbench.cli;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.torch.placement.RankLevel;
import picocli.CommandLine.Option;

/** The machine that a layout is timed on, and what a rank owns of it. */
final class RankedMachine {
  @Option(
      names = "--rank-level",
      paramLabel = "LEVEL",
      description = "What a rank owns: pe, cube (default) or sip.")
  private String rankLevel = "cube";

  @Option(
      names = "--topology",
      paramLabel = "FILE|PRESET",
      description = "The machine (default: sip-2026).")
  private String topology = "sip-2026";

  @Option(
      names = "--set",
      paramLabel = "path=value",
      description = "Changes one value of it; may be repeated.")
  private List<String> overrides = new ArrayList<>();

  Machine machine() {
    return Machines.load(topology, overrides);
  }

  RankLevel level() {
    return Words.choice("--rank-level", rankLevel, RankLevel.values());
  }
}
