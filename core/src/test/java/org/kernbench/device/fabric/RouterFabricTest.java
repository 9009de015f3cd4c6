package org.kernbench.device.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.simulator.FlitMeshTraffic;
import org.kernbench.device.simulator.FlitMeshTraffic.Pattern;
import org.kernbench.device.simulator.RouterMesh;
import org.kernbench.device.simulator.WormholeMesh;
import org.kernbench.machine.spec.RouterAllocator;
import org.kernbench.machine.spec.RouterSpec;

/** Clocked routers, packet by packet against routers that are stepped cycle by cycle. */
final class RouterFabricTest {
  private static final long HZ = 1_000_000_000L;
  private static final long FOREVER = Long.MAX_VALUE;

  /** Four stages of a cycle each, as textbooks draw it. */
  private static RouterSpec textbook(RouterAllocator allocator) {
    return new RouterSpec(HZ, 1, 1, 1, 1, allocator, 1, 1, 0);
  }

  /** To each node, itself included, with the same probability. */
  private static FlitMeshTraffic uniform(int side, int flits, double load, int cycles, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<FlitMeshTraffic.Packet> packets = new ArrayList<>();
    for (long cycle = 0; cycle < cycles; cycle++) {
      for (int node = 0; node < side * side; node++) {
        if (random.nextDouble() < load / flits) {
          packets.add(new FlitMeshTraffic.Packet(cycle, node, random.nextInt(side * side)));
        }
      }
    }
    return new FlitMeshTraffic(side, flits, cycles, packets);
  }

  /** Five cycles per router and two: the figure of the field for this router, at no load. */
  @Test
  void onePacketAlone_takesItsRoutersAndTwoCycles() {
    for (int from = 0; from < 16; from++) {
      for (int to = 0; to < 16; to++) {
        int hops = Math.abs(from % 4 - to % 4) + Math.abs(from / 4 - to / 4);
        FlitMeshTraffic one =
            new FlitMeshTraffic(4, 1, 10, List.of(new FlitMeshTraffic.Packet(3, from, to)));
        assertThat(FabricMesh.runRouters(one, textbook(RouterAllocator.SEPARABLE), 4, 8, 1, 1))
            .containsExactly(3 + 5L * (hops + 1) + 2);
      }
    }
  }

  /** No stages, ideal, one channel: these are the wormhole routers of {@code BufferedFabric}. */
  @ParameterizedTest
  @CsvSource({"1,4", "4,2", "16,8", "16,16"})
  void noStages_oneChannel_everyPacketArrivesAsInWormholeRouters(int flits, int depth) {
    RouterSpec none = new RouterSpec(HZ, 0, 0, 0, 0, RouterAllocator.IDEAL, 1, 0, 0);
    for (int load : new int[] {20, 100}) {
      FlitMeshTraffic traffic =
          FlitMeshTraffic.bernoulli(Pattern.UNIFORM, 4, flits, load / 100.0, 600, load);
      assertThat(FabricMesh.runRouters(traffic, none, 1, depth, 3, 1))
          .isEqualTo(WormholeMesh.run(traffic, depth, 1));
    }
  }

  /** Stages, channels, buffers, allocators, speed-up, credits, reuse: all of them drawn. */
  @Test
  void anyRouters_everyPacketArrivesInTheSameCycle() {
    SplittableRandom random = new SplittableRandom(5);
    int[] channels = {1, 2, 3, 4, 16, 20};
    for (int i = 0; i < 40; i++) {
      RouterAllocator[] all = RouterAllocator.values();
      RouterSpec spec =
          new RouterSpec(
              HZ,
              random.nextInt(3),
              random.nextInt(3),
              random.nextInt(3),
              random.nextInt(3),
              all[random.nextInt(2)],
              1 + random.nextInt(2),
              random.nextInt(4),
              random.nextInt(4));
      int vcs = channels[random.nextInt(channels.length)];
      int depth = 1 + random.nextInt(8);
      int flits = random.nextBoolean() ? 1 : 1 + random.nextInt(6);
      int hop = 1 + random.nextInt(3);
      double load = random.nextDouble();
      FlitMeshTraffic traffic = uniform(i % 4 == 0 ? 5 : 3, flits, load, 100, i);
      long[] expected = RouterMesh.run(traffic, spec, vcs, depth, hop, 1, FOREVER);
      long[] got = FabricMesh.runRouters(traffic, spec, vcs, depth, hop, 1);
      assertThat(Arrays.mismatch(got, expected))
          .as("%s, %s channels of %s, %s flits, load %.2f", spec, vcs, depth, flits, load)
          .isEqualTo(-1);
    }
  }
}
