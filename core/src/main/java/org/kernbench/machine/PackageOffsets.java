package org.kernbench.machine;

import java.util.List;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.SipTopology;

/**
 * How packages lie to each other, as numbers that a shift of the network does not change: ties go
 * by them (ADR 0108).
 */
final class PackageOffsets {
  private final int sips;
  private final SipTopology topology;
  private final PackageNetwork network;

  PackageOffsets(int sips, SipTopology topology, PackageNetwork network) {
    this.sips = sips;
    this.topology = topology;
    this.network = network;
  }

  /** See {@link Machine#displacement}. */
  int displacement(int fromSip, int toSip) {
    if (topology == SipTopology.NETWORK) {
      return inLevels(fromSip, toSip, false);
    }
    if (!topology.isGrid()) {
      return Math.floorMod(toSip - fromSip, sips);
    }
    int width = network.width();
    int right = Math.floorMod(toSip % width - fromSip % width, width);
    int down = Math.floorMod(toSip / width - fromSip / width, network.height());
    return down * width + right;
  }

  /** See {@link Machine#seat}. */
  int seat(int fromSip, int toSip) {
    if (topology == SipTopology.NETWORK) {
      return inLevels(fromSip, toSip, true);
    }
    int displacement = displacement(fromSip, toSip);
    if (!topology.isGrid()) {
      return (displacement + sips / 2) % sips;
    }
    int width = network.width();
    int height = network.height();
    int x = (displacement % width + width / 2) % width;
    int y = (displacement / width + height / 2) % height;
    return y * width + x;
  }

  /** As a number with a digit for each dimension, the way round it; or counted from half-way. */
  private int inLevels(int fromSip, int toSip, boolean fromHalfWay) {
    int number = 0;
    int stride = 1;
    List<Dimension> dimensions = network.dimensions();
    for (int d = 0; d < dimensions.size(); d++) {
      int size = dimensions.get(d).size();
      int delta =
          network.place(toSip, d) - network.place(fromSip, d) + (fromHalfWay ? size / 2 : 0);
      number += Math.floorMod(delta, size) * stride;
      stride *= size;
    }
    return number;
  }
}
