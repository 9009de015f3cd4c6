package org.kernbench.eval.figures;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Words at points: right below where it is free, elsewhere where something is in the way. */
final class LabelPlacesTest {
  private static final double[] ONE = {1};
  private static final double[] TEN = {10};

  private final LabelPlaces places = new LabelPlaces(100, 100);

  @Test
  void put_nothingInTheWay_standsRightBelow() {
    places.marks(ONE, ONE);

    assertThat(places.put(ONE, ONE, 50)).isEqualTo(new LabelPlaces.Place(1, 1, true, false));
  }

  @Test
  void put_markRightBelow_standsAbove() {
    places.marks(new double[] {1.5}, new double[] {0.9});

    assertThat(places.put(ONE, ONE, 50)).isEqualTo(new LabelPlaces.Place(1, 1, true, true));
  }

  @Test
  void put_lineAtTheRight_standsLeft() {
    places.line(new double[] {1.5, 1.5}, new double[] {0.1, 10});

    assertThat(places.put(ONE, ONE, 50)).isEqualTo(new LabelPlaces.Place(1, 1, false, false));
  }

  @Test
  void put_wordWhereAnotherStands_keepsClearOfIt() {
    LabelPlaces.Place first = places.put(ONE, ONE, 50);

    assertThat(places.put(ONE, ONE, 50)).isNotEqualTo(first);
  }

  @Test
  void put_nothingFreeAtTheFirstPoint_standsAtTheSecond() {
    places.line(new double[] {0.5, 2}, new double[] {1.05, 1.05});
    places.line(new double[] {0.5, 2}, new double[] {0.95, 0.95});

    assertThat(places.put(new double[] {1, 10}, new double[] {1, 10}, 50))
        .isEqualTo(new LabelPlaces.Place(10, 10, true, false));
    assertThat(places.put(TEN, TEN, 50)).isEqualTo(new LabelPlaces.Place(10, 10, true, true));
  }
}
