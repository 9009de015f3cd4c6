package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.nn.placements.DeviceMesh;
import org.kernbench.nn.placements.DistributedTensor;
import org.kernbench.nn.placements.Placement;
import org.kernbench.nn.placements.Placement.Partial;
import org.kernbench.nn.placements.Placement.Replicate;
import org.kernbench.nn.placements.Placement.Shard;
import org.kernbench.nn.placements.Redistribution;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.ReduceKind;

/**
 * All pairs of placements on meshes of one and two dimensions, of extents that ranks cut unevenly.
 */
class PlacementsTest {
  private static final List<Placement> ALL =
      List.of(
          new Shard(0), new Shard(1), new Shard(2), new Replicate(), new Partial(ReduceKind.SUM));

  private static List<List<Placement>> on(int dimensions) {
    List<List<Placement>> all = new ArrayList<>();
    for (Placement a : ALL) {
      if (dimensions == 1) {
        all.add(List.of(a));
      } else {
        ALL.forEach(b -> all.add(List.of(a, b)));
      }
    }
    return all;
  }

  private static double[] values(Shape shape) {
    return new Random(3).doubles(shape.elements(), 1, 2).toArray();
  }

  /** There and back, and what the host reads in between; every rank has the same bits. */
  private static void roundTrips(Worker w, RankGrid ranks, Shape shape, List<List<Placement>> of) {
    DeviceMesh mesh = DeviceMesh.create(w.distributed(), ranks);
    double[] values = values(shape);
    for (List<Placement> from : of) {
      try (DistributedTensor first =
          DistributedTensor.distribute(w.torch(), mesh, values, shape, DType.F64, from)) {
        double[] own = first.local().toDoubles();
        for (List<Placement> to : of) {
          try (DistributedTensor second = first.redistribute(to);
              DistributedTensor back = second.redistribute(from)) {
            assertThat(second.full()).as("%s -> %s", from, to).isEqualTo(values);
            assertThat(back.full()).as("%s -> %s", from, to).isEqualTo(values);
            if (from.stream().noneMatch(p -> p instanceof Partial)) {
              assertThat(back.local().toDoubles()).isEqualTo(own);
            }
          }
        }
      }
    }
  }

  @Test
  void allPairs_onOneDimension_returnBitForBit() {
    for (int ranks : List.of(2, 3)) {
      RankGrid grid = RankGrid.of(List.of(ranks), List.of("tp"));
      Ranks.run(ranks, Mode.VALUES, w -> roundTrips(w, grid, Shape.of(5, 2, 4), on(1)));
    }
  }

  /** Some of the placements on two dimensions. */
  private static List<List<Placement>> some(int step) {
    List<List<Placement>> of = on(2);
    return IntStream.range(0, of.size()).filter(i -> i % step == 1).mapToObj(of::get).toList();
  }

  @Test
  void somePairs_onTwoDimensions_returnBitForBit() {
    RankGrid grid = RankGrid.of(List.of(2, 3), List.of("tp", "dp"));
    Ranks.run(6, Mode.VALUES, w -> roundTrips(w, grid, Shape.of(7, 2, 5), some(7)));
  }

  @Tag("slow")
  @Test
  void allPairs_onTwoDimensions_returnBitForBit() {
    RankGrid grid = RankGrid.of(List.of(2, 3), List.of("tp", "dp"));
    Ranks.run(6, Mode.VALUES, w -> roundTrips(w, grid, Shape.of(7, 2, 5), on(2)));
  }

  /** What ranks send is what was planned, to the byte. */
  @Test
  void bytes_ofSomePairs_arePredicted() {
    bytesArePredicted(some(8));
  }

  @Tag("slow")
  @Test
  void bytes_ofAllPairs_arePredicted() {
    bytesArePredicted(on(2));
  }

  private static void bytesArePredicted(List<List<Placement>> few) {
    RankGrid grid = RankGrid.of(List.of(2, 3), List.of("tp", "dp"));
    Shape shape = Shape.of(7, 4, 5);
    for (List<Placement> from : few) {
      for (List<Placement> to : few) {
        long planned =
            Redistribution.plan(grid.shape(), shape, 8, from, to).bytes()
                + Redistribution.plan(
                        grid.shape(), shape, 8, List.of(new Replicate(), new Replicate()), from)
                    .bytes();
        long sent =
            Ranks.communication(
                    6,
                    w -> {
                      DeviceMesh mesh = DeviceMesh.create(w.distributed(), grid);
                      try (DistributedTensor first =
                              DistributedTensor.distribute(
                                  w.torch(), mesh, values(shape), shape, DType.F64, from);
                          DistributedTensor second = first.redistribute(to)) {
                        assertThat(second.placements()).isEqualTo(to);
                      }
                    })
                .lines()
                .stream()
                .mapToLong(line -> line.sentBytes().orElseThrow())
                .sum();
        assertThat(sent).as("%s -> %s", from, to).isEqualTo(planned);
      }
    }
  }

  @Test
  void plan_saysWhatIsDone() {
    Redistribution plan =
        Redistribution.plan(
            List.of(2, 3),
            Shape.of(6, 4),
            8,
            List.of(new Shard(0), new Shard(0)),
            List.of(new Replicate(), new Shard(0)));
    // dp gathers 3 rows of 4 in each of 2 groups: 2 x 2 x 12; tp all rows: 3 x 24 elements
    assertThat(plan.text(List.of("tp", "dp")))
        .isEqualTo(
            """
            dp: Shard(0) -> Replicate: all_gather, 384 bytes
            tp: Shard(0) -> Replicate: all_gather, 576 bytes
            dp: Replicate -> Shard(0): nothing is sent
            """);
    assertThat(plan.bytes()).isEqualTo(960);
    assertThatThrownBy(() ->
            Redistribution.plan(
                List.of(2), Shape.of(6, 4), 8, List.of(new Shard(2)), List.of(new Replicate())))
        .isInstanceOf(ShapeException.class)
        .hasMessageStartingWith("placements [Shard(2)] of [6, 4]");
    assertThat(Stream.of(new Partial(ReduceKind.MAX)).map(Object::toString))
        .containsExactly("Partial(max)");
  }
}
