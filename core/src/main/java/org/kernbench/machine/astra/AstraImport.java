package org.kernbench.machine.astra;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.kernbench.config.ConfigException;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.Position;
import org.kernbench.config.Problems;
import org.kernbench.config.Quantity;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UserFile;

/**
 * A machine and a {@code ccl.yaml} that do what a network and a system file of ASTRA-sim say, and
 * what became of each key of these.
 *
 * <p>The tool charges a message the latency of its links and its bytes at the rate of one, its
 * receiver a delay, and a reduction three accesses to memory; nothing else. So the packages of the
 * machine are one PE each, whose memory, engines and inner links take next to no time.
 *
 * @param machine text of the machine file
 * @param ccl text of the {@code ccl.yaml}
 * @param findings what became of each key, in the order of the files
 */
public record AstraImport(String machine, String ccl, List<ImportedKey> findings) {
  /** What the inner links of two packages take, which the machine counts to the latency. */
  private static final long INSIDE_PS = 4;

  /** A link between packages takes a picosecond at least. */
  static final long LEAST_LATENCY_PS = INSIDE_PS + 1;

  private static final int SLOTS = 4;
  private static final long MOST_SLOT_BYTES = 64L << 20;
  private static final long SLOTS_BYTES = 48L << 30;
  private static final int GEMM_ROWS = 512;
  private static final int GEMM_COLUMNS = 1000;

  /** How the network of the tool treats messages that meet on a link. */
  public enum Congestion {
    /** They do not see each other, and a switch passes bytes on as they come. */
    UNAWARE,
    /** One waits for the other, and a switch passes on whole messages. */
    AWARE
  }

  /** Copies the list. */
  public AstraImport {
    findings = List.copyOf(findings);
  }

  /**
   * Reads both files.
   *
   * @param wholeNs whether times are cut to whole nanoseconds, as the tool does
   * @throws ConfigException with every problem found
   */
  public static AstraImport of(Path network, Path system, Congestion congestion, boolean wholeNs) {
    Problems problems = new Problems();
    List<ImportedKey> findings = new ArrayList<>();
    ConfigTree networkTree = tree(network, "a network file in YAML", problems);
    ConfigTree systemTree = tree(system, "a system file in JSON", problems);
    problems.throwIfAny();
    AstraNetwork n = AstraNetwork.read(networkTree, problems, findings);
    problems.throwIfAny();
    List<Integer> sizes = n.dimensions().stream().map(AstraNetwork.Dimension::size).toList();
    AstraSystem s = AstraSystem.read(systemTree, sizes, problems, findings);
    problems.throwIfAny();
    if (congestion == Congestion.AWARE) {
      stored(n, s, findings);
    }
    return new AstraImport(machine(n, s, congestion, wholeNs), ccl(s, wholeNs), findings);
  }

  private static ConfigTree tree(Path file, String expected, Problems problems) {
    try {
      // Tabs indent JSON often; YAML, of which it is a part, has none.
      String text = UserFile.text(file, expected).replace('\t', ' ');
      ConfigTree tree = ConfigTree.parse(file.toString(), text, problems);
      if (tree.isEmpty() && problems.isEmpty()) {
        problems.add(new Position(file.toString(), 1, 1), "", "is empty; expected " + expected);
      }
      return tree;
    } catch (UnreadableException e) {
      problems.add(new Position(file.toString(), 1, 1), "", String.valueOf(e.getMessage()));
      throw new ConfigException(problems.sorted());
    }
  }

  /** Where that network does with messages what ours does not. */
  private static void stored(AstraNetwork network, AstraSystem system, List<ImportedKey> findings) {
    for (int d = 0; d < network.dimensions().size(); d++) {
      AstraNetwork.Dimension dimension = network.dimensions().get(d);
      List<String> far = new ArrayList<>();
      for (String key : AstraSystem.OPERATIONS.keySet()) {
        String step = system.along(key).get(d);
        if (!step.equals("ring") && dimension.kind().equals("Ring") && dimension.size() > 3) {
          far.add(AstraSystem.OPERATIONS.get(key) + " " + step);
        }
      }
      if (!far.isEmpty()) {
        findings.add(
            ImportedKey.note(
                "dimension " + d,
                "messages of %s go several links of this Ring; that network stores them at each, here they cut through"
                    .formatted(String.join(", ", far))));
      }
    }
    if (system.splits() > 1 && system.activeChunks() > 1) {
      findings.add(
          ImportedKey.note(
              "active-chunks-per-dimension",
              "of chunks that meet on links one may hold up another, whose turn it is by the plan"));
    }
  }

  // ---- the machine ----

  private static String machine(
      AstraNetwork network, AstraSystem system, Congestion congestion, boolean wholeNs) {
    StringBuilder dimensions = new StringBuilder();
    for (AstraNetwork.Dimension each : network.dimensions()) {
      boolean stores = each.isSwitch() && congestion == Congestion.AWARE;
      dimensions.append(
          "    - {kind: %s, size: %s, bandwidth: %s B/s, latency: %s, latency_elsewhere: %s ps%s%s%s}\n"
              .formatted(
                  AstraNetwork.word(each.kind()),
                  each.size(),
                  each.bytesPerSecond(),
                  Quantity.TIME.format(Math.max(LEAST_LATENCY_PS, each.latencyPs())),
                  INSIDE_PS,
                  stores ? ", forward: whole_messages" : "",
                  congestion == Congestion.UNAWARE ? ", contention: none" : "",
                  wholeNs ? ", time: whole_ns" : ""));
    }
    long queues = queues(network, system);
    long slot = MOST_SLOT_BYTES;
    while (queues * SLOTS * slot > SLOTS_BYTES && slot > 1024) {
      slot /= 2;
    }
    return """
    # From network and system files of ASTRA-sim by kernbench import astra. Inside a package next to nothing
    # takes time, for that tool charges nothing there; latency_elsewhere is what it takes all the same.
    description: %s packages as network and system files of ASTRA-sim describe them
    extends: ring

    system:
      network:                # innermost first; bandwidth in 2^30 bytes per second of the file
    %s\
      links:
        host_to_sip: {bandwidth: 1000000 GB/s, latency: 1 ps}
      launch: {doorbell: 0 ns, io_cpu: 0 ns, m_cpu: 0 ns, pe_cpu: 0 ns}

    sip:
      links:
        cube_to_cube: {bandwidth: 1000000000 GB/s, latency: 1 ps}
        cube_to_io:   {bandwidth: 1000000000 GB/s, latency: 1 ps}

    cube:
      noc: {bandwidth: 1000000000 GB/s, latency: 1 ps}
      memory_map: {hbm_total_gb_per_cube: 16}
      hbm: {channels: 1, channel_bandwidth: 1000000000 GB/s, efficiency: 1, latency: 1 ps}
      links:
        pe_to_router:    {bandwidth: 1000000000 GB/s, latency: 1 ps}
        hbm_to_router:   {bandwidth: 1000000000 GB/s, latency: 1 ps}
        sram_to_router:  {bandwidth: 1000000000 GB/s, latency: 1 ps}
        m_cpu_to_router: {bandwidth: 1000000000 GB/s, latency: 1 ps}

    pe:
      cpu: {dispatch: 0 ns, scheduler_dispatch: 0 ns, command_window: 4096}
      dma: {setup: 0 ns, message_overhead: 0 ns, read_queues: 64, write_queues: 64, message_channels: 1024}
      math: {clock: 1000000 GHz, width: 1 MiB, startup_cycles: 0, operand_bandwidth: unlimited}
    %s\
      tcm: {size: 64 GiB, bandwidth: 2000000000 GB/s, latency: 0 ns}
      mmu: {miss: 0 ns}

    ipcq: {slots: %s, slot_size: %s, directions: %s, credit_size: 1 B, credit_overhead: 0 ns}

    fabric: {chunk: 1 GiB}    # a message is one piece
    """
        .formatted(
            network.packages(),
            dimensions,
            gemm(system),
            SLOTS,
            Quantity.SIZE.format(slot),
            Math.max(8, queues));
  }

  private static String gemm(AstraSystem system) {
    if (system.peakFlops() == 0) {
      return "";
    }
    long clock = Math.max(1, Math.round(system.peakFlops() / (2.0 * GEMM_ROWS * GEMM_COLUMNS)));
    return "  gemm: {rows: %s, columns: %s, clock: %s Hz, mode: flat}\n"
        .formatted(GEMM_ROWS, GEMM_COLUMNS, clock);
  }

  /** Queues of a PE, for the operation that needs the most. */
  private static long queues(AstraNetwork network, AstraSystem system) {
    long most = 0;
    for (String key : AstraSystem.OPERATIONS.keySet()) {
      long queues = 0;
      for (int d = 0; d < network.dimensions().size(); d++) {
        int size = network.dimensions().get(d).size();
        queues +=
            switch (system.along(key).get(d)) {
              case "direct" -> size - 1;
              case "halving_doubling" -> 32 - Integer.numberOfLeadingZeros(size - 1);
              case "double_binary_tree" -> Math.min(size - 1, 6);
              default -> 2;
            };
      }
      most = Math.max(most, queues);
    }
    return most * Math.min(system.activeChunks(), system.splits());
  }

  // ---- ccl.yaml ----

  private static String ccl(AstraSystem system, boolean wholeNs) {
    StringBuilder entries = new StringBuilder();
    AstraSystem.OPERATIONS.forEach((key, operation) ->
        entries.append(
            """
              astra_%s:
                class: by_dimension
                rank_level: sip
                along: [%s]
                vectors: %s
                splits: %s
                active_chunks: %s
                ends: astra
                endpoint_delay: %s
                memory_bandwidth: %s
                time: %s
            """
                .formatted(
                    operation,
                    String.join(", ", system.along(key)),
                    system.whole() ? "whole" : "scattered",
                    system.splits(),
                    system.activeChunks(),
                    Quantity.TIME.format(system.endpointDelayPs()),
                    system.memoryBytesPerSecond() == 0
                        ? "none"
                        : system.memoryBytesPerSecond() + " B/s",
                    wholeNs ? "whole_ns" : "exact")));
    return """
    # From a system file of ASTRA-sim by kernbench import astra.
    defaults:
      algorithm: astra_all_reduce
      operations:
        reduce_scatter: astra_reduce_scatter
        all_gather: astra_all_gather
        all_to_all: astra_all_to_all

    algorithms:
    """
        + entries;
  }

  /** The report, a line for each key, then what is different. */
  public String report() {
    StringBuilder out = new StringBuilder();
    int width = 0;
    for (ImportedKey each : findings) {
      width = Math.max(width, place(each).length());
    }
    for (ImportedKey each : findings) {
      String form = "%-" + width + "s  %-10s %s%n";
      String kind = each.kind().name().toLowerCase(Locale.ROOT);
      out.append(String.format(Locale.ROOT, form, place(each), kind, each.what()));
    }
    long different =
        findings.stream()
            .filter(f -> f.kind() != ImportedKey.Kind.TAKEN && f.kind() != ImportedKey.Kind.IDLE)
            .count();
    out.append(
        different == 0
            ? "everything can be said here\n"
            : "%s of these cannot be said here: results may differ there\n".formatted(different));
    return out.toString();
  }

  private static String place(ImportedKey each) {
    String file = each.file().isEmpty() ? "" : each.file() + ":";
    String line = each.line() == 0 ? "" : each.line() + ":";
    return file + line + (file.isEmpty() ? "" : " ") + each.key();
  }
}
