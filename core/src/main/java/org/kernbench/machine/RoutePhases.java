package org.kernbench.machine;

import org.kernbench.machine.spec.LinkKind;

/**
 * The phases of routes: parts along one axis of the network, or inside a package or a cube, which
 * have virtual channels of their own, so that waits make no circle.
 */
final class RoutePhases {
  private final Machine machine;
  private final PackageNetwork network;
  private final int firstSipLink;

  /**
   * Those of a machine.
   *
   * @param firstSipLink the first link between packages, from which on the network numbers its own
   */
  RoutePhases(Machine machine, PackageNetwork network, int firstSipLink) {
    this.machine = machine;
    this.network = network;
    this.firstSipLink = firstSipLink;
  }

  /** The most virtual channels that are of use, in a network of so many dimensions. */
  static int most(int dimensions) {
    return 2 * Math.max(2, dimensions) + 2;
  }

  /** By link of a route: see {@link Machine#virtualChannels}. */
  int[] virtualChannels(int[] route) {
    int[] channels = new int[route.length];
    int count = machine.fabric().virtualChannels();
    if (count > 1) {
      int[] channel = phaseChannels(count);
      int[] phases = phases(route);
      for (int i = 0; i < route.length; i++) {
        channels[i] = channel[phases[i]];
      }
    }
    return channels;
  }

  /** Phase 2 a is along axis a, 2 a + 1 beyond its wrap link; then a package, then a cube. */
  private int[] phases(int[] route) {
    int[] phases = new int[route.length];
    int lastBetween = -1;
    int lastCrossing = -1;
    for (int i = 0; i < route.length; i++) {
      LinkKind kind = machine.linkKind(route[i]);
      if (kind.isBetweenSips()) {
        lastBetween = i;
      }
      if (kind == LinkKind.CUBE_TO_CUBE || kind == LinkKind.CUBE_TO_IO) {
        lastCrossing = i;
      }
    }
    int package0 = 2 * network.axes();
    int phase = 0;
    int next = 0; // the next link between packages
    for (int i = 0; i < route.length; i++) {
      if (i > lastBetween) {
        phases[i] = i > lastCrossing ? package0 + 1 : package0;
        continue;
      }
      while (next < i || !machine.linkKind(route[next]).isBetweenSips()) {
        next++;
      }
      int link = route[next] - firstSipLink;
      phase = Math.max(phase, 2 * network.axisOf(link)); // from the turn on
      if (next == i && network.isWrap(link)) {
        phase |= 1;
      }
      phases[i] = phase;
    }
    return phases;
  }

  private int[] phaseChannels(int count) {
    int[] channel = new int[most(network.axes())];
    int rank = -1;
    for (int phase = 0; phase < channel.length; phase++) {
      if (hasPhase(phase)) {
        rank++;
      }
      channel[phase] = Math.max(0, rank - Math.max(0, count() - count));
    }
    return channel;
  }

  /** How many this machine has. */
  int count() {
    int count = 0;
    for (int phase = 0; phase < most(network.axes()); phase++) {
      count += hasPhase(phase) ? 1 : 0;
    }
    return count;
  }

  /** A package of one cube has no traffic of its own that could wait for what passes through. */
  private boolean hasPhase(int phase) {
    int axis = phase / 2;
    if (axis == network.axes()) {
      return machine.cubesPerSip() > 1;
    }
    if (phase % 2 == 1) {
      return network.wrapsAlong(axis);
    }
    boolean goes = machine.sips() > 1 && network.axisSize(axis) > 1;
    return goes || (axis == 0 && machine.cubesPerSip() == 1);
  }
}
