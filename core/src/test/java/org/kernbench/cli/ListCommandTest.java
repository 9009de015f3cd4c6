package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Params;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.output.JsonObject;

/** What {@code list} says of a parameter is what a run takes: the reader of runs is the judge. */
final class ListCommandTest {
  private static final BenchRegistry BENCHES = BenchRegistry.standard();

  private static JsonObject json(String... more) {
    Session list =
        Session.of(
            Stream.concat(Stream.of("list", "--format", "json"), Stream.of(more))
                .toArray(String[]::new));
    assertThat(list.exitCode()).as(list.err()).isZero();
    return JsonObject.read(list.out().getBytes(StandardCharsets.UTF_8));
  }

  @TestFactory
  Stream<DynamicTest> whatIsListed_isWhatARunTakes() {
    return json().objects("benches").stream()
        .map(b -> DynamicTest.dynamicTest(b.text("name"), () -> checkBench(b)));
  }

  private static void checkBench(JsonObject listed) {
    Bench bench = BENCHES.find(listed.text("name"));
    List<JsonObject> params = listed.objects("params");
    assertThat(params).hasSameSizeAs(bench.params());
    for (JsonObject p : params) {
      check(bench, p);
    }
  }

  private static void check(Bench bench, JsonObject p) {
    String name = p.text("name");
    if (p.has("default")) {
      takes(bench, name, p.text("default"));
    } else {
      assertThat(p.text("default_from")).isNotEmpty();
    }
    switch (p.text("kind")) {
      case "count" -> {
        takes(bench, name, whole(p, "least"));
        takes(bench, name, whole(p, "most"));
        refuses(bench, name, Long.toString((long) p.number("least") - 1));
        refuses(bench, name, Long.toString((long) p.number("most") + 1));
      }
      case "size" -> {
        takes(bench, name, whole(p, "least") + " B");
        takes(bench, name, whole(p, "most") + " B");
        refuses(bench, name, ((long) p.number("most") + 1) + " B");
      }
      case "choice", "switch" -> {
        assertThat(p.texts("choices")).isNotEmpty();
        p.texts("choices").forEach(choice -> takes(bench, name, choice));
        refuses(bench, name, "none-of-these");
      }
      case "pe" -> takes(bench, name, "0.0.0");
      case "package" -> takes(bench, name, "sip:0");
      case "name" -> takes(bench, name, "x");
      default -> throw new AssertionError("unknown kind " + p.text("kind"));
    }
  }

  private static String whole(JsonObject p, String bound) {
    return Long.toString((long) p.number(bound));
  }

  private static void takes(Bench bench, String name, String value) {
    assertThatCode(() -> Params.read(bench, List.of(name + "=" + value)))
        .as("%s %s=%s", bench.name(), name, value)
        .doesNotThrowAnyException();
  }

  private static void refuses(Bench bench, String name, String value) {
    assertThatThrownBy(() -> Params.read(bench, List.of(name + "=" + value)))
        .as("%s %s=%s", bench.name(), name, value)
        .isInstanceOf(UsageException.class);
  }

  @Test
  void oneBench_isTheSameAsInTheListOfAll() {
    String all = Session.of("list", "--format", "json").out();
    String one = Session.of("list", "ccl-allreduce", "--format", "json").out();

    String bench = one.substring(one.indexOf("    {\n"), one.lastIndexOf("\n  ]"));
    assertThat(all).contains(bench);
    assertThat(json("ccl_allreduce").objects("benches")).hasSize(1); // - and _ are alike
    assertThat(json().objects("machines")).isNotEmpty();
    assertThat(json().objects("algorithms")).isNotEmpty();
  }

  /** The remedy in the message is taken. */
  @Test
  void sizeWhereACountIsAsked_isExplained() {
    Bench bench = BENCHES.find("ccl-allreduce");

    for (String size : List.of("8K", "8k", "8 KiB", "8KB", "8Ki")) {
      assertThatThrownBy(() -> Params.read(bench, List.of("n_elem=" + size)))
          .hasMessageContaining("got \"" + size + "\"")
          .hasMessageEndingWith("a count without a unit: 8192 or 8000");
    }
    takes(bench, "n_elem", "8192");
    assertThatThrownBy(() -> Params.read(bench, List.of("n_elem=8Q")))
        .message()
        .doesNotContain("without a unit");
  }
}
