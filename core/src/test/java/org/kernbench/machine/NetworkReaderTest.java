package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.ConfigException;
import org.kernbench.machine.spec.Dimension;

/** Dimensions of a network at the limits of what they may say. */
final class NetworkReaderTest {
  private static final String ANY = "bandwidth: 50 GB/s";

  private static String file(String network) {
    return "extends: ring\nsystem:\n  network: " + network + "\n";
  }

  private static Machine machine(String network) {
    return Machines.parse("net.yaml", file(network), List.of());
  }

  private static List<Dimension> dimensions(String network) {
    return machine(network).dimensions();
  }

  private static List<String> problems(String text) {
    ConfigException e =
        catchThrowableOfType(
            ConfigException.class, () -> Machines.parse("net.yaml", text, List.of()));
    assertThat(e).as("must be refused: %s", text).isNotNull();
    return e.problems().stream().map(p -> p.toString()).toList();
  }

  /** One dimension of a kind; {@code more} may be empty. */
  private static String one(String kind, String more) {
    return "[{kind: %s, size: 4, %s, %s}]"
        .formatted(kind, ANY, more.contains("latency:") ? more : "latency: 100 ns" + more);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          ring   | , latency_from_switch: 50 ns | latency_from_switch: only a switch has this
          mesh   | , forward: cut_through       | forward: only a switch has this; expected kind: switch
          switch | , forward: whole_messages, contention: none | contention: a switch that forwards whole
          ring   | , latency_elsewhere: 100 ns  | latency_elsewhere: expected less than the latency that
          ring   | , reduces: true              | reduces: only a switch adds up; expected kind: switch
          switch | , reduction_efficiency: 0.5  | reduction_efficiency: only a switch that adds up has
          switch | , reduces: false, reduction_efficiency: 1 | reduction_efficiency: only a switch that
          """)
  void dimension_thatCannotBe_isRefused(String kind, String more, String message) {
    assertThat(problems(file(one(kind, more))))
        .singleElement()
        .asString()
        .contains("system.network[0].")
        .contains(message);
  }

  @Test
  void switch_mayHaveAllOfItsKeys() {
    Dimension plain = dimensions(one("switch", "")).getFirst();
    assertThat(plain.reduces()).isFalse();

    Dimension sums = dimensions(one("switch", ", reduces: true")).getFirst();
    assertThat(sums.reduces()).isTrue();
    assertThat(sums).isNotEqualTo(plain);
    Dimension half =
        dimensions(one("switch", ", reduces: true, reduction_efficiency: 0.5")).getFirst();
    assertThat(half.reduces()).isTrue();
    assertThat(half).isNotEqualTo(sums);
    assertThat(dimensions(one("switch", ", reduces: true, reduction_efficiency: 1")).getFirst())
        .isEqualTo(sums);
    assertThat(dimensions(one("switch", ", latency_from_switch: 100 ns")).getFirst())
        .isEqualTo(plain);
    assertThat(dimensions(one("switch", ", latency_from_switch: 50 ns")).getFirst())
        .isNotEqualTo(plain);
    assertThat(dimensions(one("switch", ", forward: cut_through, contention: queue")).getFirst())
        .isEqualTo(plain);
    assertThat(dimensions(one("switch", ", forward: whole_messages")).getFirst())
        .isNotEqualTo(plain);
    assertThat(dimensions(one("switch", ", contention: none")).getFirst()).isNotEqualTo(plain);
  }

  /** A part of the latency, at most all but the last picosecond; of whole nanoseconds the same. */
  @ParameterizedTest
  @CsvSource({
    "latency: 100 ns, 99.999 ns, true",
    "latency: 100 ns, 100 ns, false",
    "'latency: 100.5 ns, time: whole_ns', 99.999 ns, true",
    "'latency: 100.5 ns, time: whole_ns', 100 ns, false",
    "'latency: 100.5 ns, time: exact', 100.499 ns, true",
    "'latency: 100.5 ns, time: exact', 100.5 ns, false"
  })
  void latencyElsewhere_isLessThanTheLatency(String latency, String elsewhere, boolean can) {
    String network = one("ring", latency + ", latency_elsewhere: " + elsewhere);
    if (can) {
      assertThat(dimensions(network)).hasSize(1);
    } else {
      assertThat(problems(file(network)))
          .singleElement()
          .asString()
          .contains("latency_elsewhere: expected less than the latency that it is a part of");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 8, 9})
  void dimensions_areAtMostEight(int count) {
    String each = "{kind: fully_connected, size: 2, %s, latency: 100 ns}".formatted(ANY);
    String network = "[" + String.join(", ", java.util.Collections.nCopies(count, each)) + "]";
    if (count <= 8) {
      assertThat(machine(network).sips()).isEqualTo(1 << count);
    } else {
      assertThat(problems(file(network)))
          .singleElement()
          .asString()
          .contains("system.network: got 9 dimensions; expected at most 8");
    }
  }

  @Test
  void noDimension_isRefused_andNoneIsNoNetwork() {
    assertThat(problems(file("[]")))
        .singleElement()
        .asString()
        .contains(
            "system.network: got no dimension; expected at least one, e.g. [{kind: ring, size: 4,");
    assertThat(dimensions("none")).hasSize(1);
  }

  /**
   * Said beside a network, the count has to be right; said by the file below, it is passed over.
   */
  @Test
  void count_besideANetwork_isThatOfTheNetwork() {
    String text = file(one("ring", ""));
    assertThat(Machines.parse("net.yaml", text + "  sips: {count: 4}\n", List.of()).sips())
        .isEqualTo(4);
    assertThat(problems(text + "  sips: {count: 5}\n"))
        .singleElement()
        .asString()
        .contains(
            "system.sips.count: got 5, but system.network has 4 = 4 sips; leave one of the two out");
    assertThat(machine(one("ring", "")).sips()).isEqualTo(4);
  }

  @Test
  void tooManyPackages_areCounted() {
    String each = "{kind: ring, size: 4096, %s, latency: 100 ns}".formatted(ANY);
    assertThat(problems(file("[" + each + ", " + each + ", " + each + "]")))
        .anySatisfy(p ->
            assertThat(p)
                .contains("got 4096 x 4096 x 4096 = 68719476736 sips and 412316860416 links;")
                .contains("expected at most 16777216 sips and 268435456 links"));
    String peers = "{kind: fully_connected, size: 1025, %s, latency: 100 ns}".formatted(ANY);
    assertThat(problems(file("[" + peers + "]")))
        .anySatisfy(p -> assertThat(p).contains("system.network[0].size: got ").contains("1024"));
  }
}
