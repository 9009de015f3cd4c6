package org.kernbench.machine;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.kernbench.config.ConfigMap;
import org.kernbench.machine.spec.GemmMode;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.machine.spec.ProtocolsSpec;
import org.kernbench.machine.spec.SoftwareSpec;
import org.kernbench.machine.spec.WavesSpec;
import org.kernbench.sim.Rate;

/**
 * Reads what a machine may leave out: {@code software}, and the multiprocessors of {@code
 * pe.gemm.mode: waves}.
 */
final class Software {
  private static final int MOST_UNITS = 1 << 16;

  private Software() {}

  static SoftwareSpec read(ConfigMap root) {
    if (!root.has("software")) {
      return SoftwareSpec.NONE;
    }
    ConfigMap software = root.map("software");
    Map<OperationClass, SoftwareSpec.OfOperation> operations = new EnumMap<>(OperationClass.class);
    Optional<ProtocolsSpec> protocols = Optional.empty();
    for (OperationClass each : OperationClass.values()) {
      if (software.has(each.word())) {
        ConfigMap of = software.map(each.word());
        operations.put(
            each,
            new SoftwareSpec.OfOperation(
                of.has("launch") ? of.time("launch") : 0,
                of.has("resident_row")
                    ? of.size("resident_row")
                    : SoftwareSpec.OfOperation.NONE.residentRowBytes()));
        if (each == OperationClass.COLLECTIVE && of.has("protocols")) {
          protocols = Optional.of(protocols(of));
        }
        of.done();
      }
    }
    long synchronise = software.has("synchronise") ? software.time("synchronise") : 0;
    software.done();
    return new SoftwareSpec(synchronise, operations, protocols);
  }

  private static ProtocolsSpec protocols(ConfigMap collective) {
    ConfigMap all = collective.map("protocols");
    List<ProtocolsSpec.Protocol> protocols = new ArrayList<>();
    for (String name : all.keys()) {
      ConfigMap one = all.map(name);
      protocols.add(
          new ProtocolsSpec.Protocol(
              name,
              one.time("base"),
              one.time("step"),
              one.has("tree_step") ? one.time("tree_step") : one.time("step"),
              one.billionths("share")));
      one.done();
    }
    if (protocols.isEmpty()) {
      collective.problem(
          "protocols",
          "got none; expected at least one, e.g. {simple: {base: 8.4 us, step: 3.4 us, share: 0.8}}");
    }
    ConfigMap channels = collective.map("channels");
    long from = channels.bandwidth("from");
    long atMib = channels.bandwidth("at_1mib");
    channels.done();
    if (atMib < from) {
      channels.problem(
          "at_1mib", "got less than channels.from; expected at least the rate of small vectors");
    }
    return new ProtocolsSpec(protocols, Rate.ofBytesPerSecond(from), Rate.ofBytesPerSecond(atMib));
  }

  /** The multiprocessors, where they are described; they must be in mode {@code waves}. */
  static Optional<WavesSpec> waves(ConfigMap gemm) {
    boolean inWaves = gemm.isText("mode", GemmMode.WAVES.name().toLowerCase(java.util.Locale.ROOT));
    if (!inWaves && !gemm.has("units")) {
      return Optional.empty();
    }
    List<WavesSpec.Block> tiles = new ArrayList<>();
    for (String text : gemm.texts("tiles")) {
      try {
        tiles.add(WavesSpec.Block.parse(text));
      } catch (IllegalArgumentException e) {
        gemm.problem("tiles", String.valueOf(e.getMessage()));
      }
    }
    List<Integer> splits = new ArrayList<>();
    for (String text : gemm.has("split_k") ? gemm.texts("split_k") : List.of("1")) {
      if (text.matches("[1-9][0-9]{0,2}")) {
        splits.add(Integer.valueOf(text));
      } else {
        gemm.problem("split_k", "got \"" + text + "\"; expected whole numbers from 1 to 999");
      }
    }
    return Optional.of(
        new WavesSpec(
            gemm.integer("units", 1, MOST_UNITS),
            gemm.integer("macs", 1, 1 << 20),
            tiles,
            splits,
            gemm.size("l2_width")));
  }
}
