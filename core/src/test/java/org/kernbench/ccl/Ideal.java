package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;

/**
 * Machines that fulfil the assumptions of the closed forms: one link counts, with latency {@code L}
 * and bandwidth {@code B}; everything else is as fast as can be written down (a picosecond of
 * latency, 9e18 B/s); commands cost nothing to issue; a transfer is one chunk.
 *
 * @param overheadPs o: channel time per message
 * @param latencyPs L: from a lead PE to its neighbour
 * @param gigabytesPerSecond B
 * @param mathBytesPerNs 1/gamma: bytes that are added per nanosecond
 * @param bottleneck which link has bandwidth B
 */
public record Ideal(
    long overheadPs,
    long latencyPs,
    int gigabytesPerSecond,
    int mathBytesPerNs,
    Bottleneck bottleneck) {

  /** Bytes that the adder does in its one picosecond when gamma is to be 0. */
  public static final int NO_GAMMA = 0;

  /** The link with bandwidth B. */
  public enum Bottleneck {
    /** The one between devices: a PE's own port is free again at once. */
    LINK,
    /** The PE's port: a message holds its channel for {@code o + s/B}. */
    PORT
  }

  /** A ring of packages. */
  public Machine ring(int packages, String... overrides) {
    List<String> all = common(4);
    all.add("system.sips.count=" + packages);
    all.add("system.links.sip_to_sip.latency=" + (latencyPs - 4) + " ps");
    if (bottleneck == Bottleneck.LINK) {
      all.add("system.links.sip_to_sip.bandwidth=" + gigabytesPerSecond + " GB/s");
    }
    all.addAll(List.of(overrides));
    return Machines.load("ring", all);
  }

  /** A package of cubes. */
  public Machine mesh(int width, int height, String... overrides) {
    List<String> all = common(2);
    all.add("system.sips.count=1");
    all.add("sip.cube_mesh.w=" + width);
    all.add("sip.cube_mesh.h=" + height);
    all.add("sip.links.cube_to_cube.latency=" + (latencyPs - 2) + " ps");
    if (bottleneck == Bottleneck.LINK) {
      all.add("sip.links.cube_to_cube.bandwidth=" + gigabytesPerSecond + " GB/s");
    }
    all.addAll(List.of(overrides));
    return Machines.load("ring", all);
  }

  private List<String> common(int shortLinks) {
    if (latencyPs <= shortLinks) {
      throw new IllegalArgumentException("latency " + latencyPs + " ps is below that of the route");
    }
    List<String> all = new ArrayList<>();
    for (String link :
        List.of(
            "system.links.sip_to_sip",
            "sip.links.cube_to_cube",
            "sip.links.cube_to_io",
            "cube.links.pe_to_router",
            "cube.links.hbm_to_router")) {
      all.add(link + ".bandwidth=9000000 TB/s");
      all.add(link + ".latency=1 ps");
    }
    if (bottleneck == Bottleneck.PORT) {
      all.add("cube.links.pe_to_router.bandwidth=" + gigabytesPerSecond + " GB/s");
    }
    boolean adds = mathBytesPerNs != NO_GAMMA;
    all.addAll(
        List.of(
            "cube.hbm.channel_bandwidth=1000000 TB/s",
            "cube.hbm.efficiency=1.0",
            "cube.hbm.latency=0 ps",
            "pe.cpu.dispatch=0 ps",
            "pe.cpu.command_window=2048",
            "pe.dma.read_queues=1024",
            "pe.dma.write_queues=1024",
            "pe.dma.message_channels=64",
            "pe.dma.setup=0 ps",
            "pe.dma.message_overhead=" + overheadPs + " ps",
            "pe.math.clock=" + (adds ? "1 GHz" : "1000 GHz"),
            "pe.math.width=" + (adds ? mathBytesPerNs + " B" : "1 MiB"),
            "pe.math.startup_cycles=0",
            "pe.math.operand_bandwidth=unlimited",
            "pe.tcm.size=1 GiB",
            "pe.tcm.bandwidth=9000000 TB/s",
            "pe.tcm.latency=0 ps",
            "ipcq.slots=64",
            "ipcq.slot_size=1 MiB",
            "ipcq.credit_overhead=0 ps",
            "fabric.chunk=1 MiB"));
    return all;
  }

  /** {@code o + s/B}. */
  public long occupancyPs(long bytes) {
    return overheadPs + wirePs(bytes);
  }

  /** {@code s/B}, up to a whole picosecond. */
  public long wirePs(long bytes) {
    return Math.ceilDiv(bytes * 1000, gigabytesPerSecond);
  }

  /** {@code gamma s}; one picosecond if gamma is to be 0, the least that a command can take. */
  public long addPs(long bytes) {
    return mathBytesPerNs == NO_GAMMA ? 1 : Math.ceilDiv(bytes, mathBytesPerNs) * 1000;
  }

  /** A load from the own HBM: request there, data back. */
  public long loadPs(Machine machine, long bytes) {
    Pe pe = new Pe(0, 0, 0);
    Route there = machine.route(machine.peNode(pe), machine.hbmNode(pe));
    Route back = machine.route(machine.hbmNode(pe), machine.peNode(pe));
    return there.latencyPs() + back.latencyPs() + memoryWirePs(bytes);
  }

  /** A store to the own HBM: data there, acknowledgement back. */
  public long storePs(Machine machine, long bytes) {
    return loadPs(machine, bytes);
  }

  private long memoryWirePs(long bytes) {
    return bottleneck == Bottleneck.PORT ? wirePs(bytes) : 1;
  }
}
