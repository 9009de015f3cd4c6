package org.kernbench.eval.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.explain.Sensitivity;
import org.kernbench.eval.explain.Utilisation;
import org.kernbench.eval.output.JsonObject;

/** The explanation for programs says what the explanation is. */
final class ExplanationJsonTest {
  private static final Explanation HELLO =
      Explanation.of(
          Runner.of("test", Progress.SILENT)
              .explaining()
              .run(
                  BenchRegistry.standard().find("hello-send"),
                  RunOptions.DEFAULT.withTopology("tiny")));

  private static JsonObject json(Explanation e) {
    return JsonObject.read(ExplanationJson.write(e).getBytes(StandardCharsets.UTF_8));
  }

  private static void assertShares(
      List<JsonObject> rows, List<Breakdown.Share> shares, String place) {
    double sum = 0;
    assertThat(rows).hasSameSizeAs(shares);
    for (int i = 0; i < rows.size(); i++) {
      Breakdown.Share share = shares.get(i);
      assertThat(rows.get(i).text("cause")).isEqualTo(share.cause().text());
      assertThat(rows.get(i).text(place)).isEqualTo(share.place());
      assertThat(rows.get(i).number("ns")).isEqualTo(share.ps() / 1e3);
      assertThat(rows.get(i).has("line")).isEqualTo(place.equals("place"));
      sum += rows.get(i).number("share");
    }
    assertThat(sum).isCloseTo(1, within(1e-3));
  }

  @Test
  void json_saysWhatTheExplanationIs() {
    JsonObject json = json(HELLO);
    RunResult run = HELLO.result();

    assertThat(json.names())
        .containsExactly(
            "schema",
            "kernbench",
            "bench",
            "machine",
            "params",
            "metrics",
            "why",
            "kernels",
            "resources",
            "path",
            "waits",
            "engines",
            "links",
            "sensitivities");
    assertThat(json.whole("schema")).isEqualTo(1);
    assertThat(json.text("kernbench")).isEqualTo("test");
    assertThat(json.text("bench")).isEqualTo("hello-send");
    assertThat(json.object("machine").text("name")).isEqualTo("tiny");
    assertThat(json.object("machine").text("hash")).isEqualTo(run.machineHash());
    assertThat(json.object("params").whole("n_elem")).isEqualTo(128);
    assertShares(json.objects("resources"), HELLO.breakdown().resources(), "resource");
    assertShares(json.objects("path"), HELLO.breakdown().places(), "place");
  }

  @Test
  void waitsEnginesAndLinks_areThoseOfTheExplanation() {
    JsonObject json = json(HELLO);
    List<JsonObject> waits = json.objects("waits");
    assertThat(waits).hasSameSizeAs(HELLO.waits()).isNotEmpty();
    for (int i = 0; i < waits.size(); i++) {
      Explanation.Wait wait = HELLO.waits().get(i);
      assertThat(waits.get(i).text("who")).isEqualTo(wait.who());
      assertThat(waits.get(i).text("for")).isEqualTo(wait.cause());
      assertThat(waits.get(i).text("of")).isEqualTo(wait.by());
      assertThat(waits.get(i).whole("operations")).isEqualTo(wait.operations());
      assertThat(waits.get(i).number("ns")).isEqualTo(wait.ps() / 1e3);
      assertThat(waits.get(i).number("longest_ns")).isEqualTo(wait.longestPs() / 1e3);
      assertThat(waits.get(i).whole("longest_op")).isEqualTo(wait.longestOp());
    }
    List<JsonObject> engines = json.objects("engines");
    assertThat(engines).hasSameSizeAs(HELLO.utilisation().engines()).isNotEmpty();
    for (int i = 0; i < engines.size(); i++) {
      Utilisation.EngineUse use = HELLO.utilisation().engines().get(i);
      assertThat(engines.get(i).text("pe")).isEqualTo(use.pe().toString());
      assertThat(engines.get(i).text("engine")).isEqualTo(use.engine());
      assertThat(engines.get(i).number("operations")).isEqualTo(use.operations());
      assertThat(engines.get(i).number("busy_ns")).isEqualTo(use.busyPs() / 1e3);
      assertThat(engines.get(i).number("occupied_ns")).isEqualTo(use.occupiedPs() / 1e3);
      assertThat(engines.get(i).number("bytes")).isEqualTo(use.bytes());
    }
    List<JsonObject> links = json.objects("links");
    assertThat(links).hasSameSizeAs(HELLO.utilisation().links()).isNotEmpty();
    for (int i = 0; i < links.size(); i++) {
      Utilisation.LinkUse use = HELLO.utilisation().links().get(i);
      assertThat(links.get(i).text("link")).isEqualTo(use.link().name());
      assertThat(links.get(i).text("kind")).matches("[a-z_]+");
      assertThat(links.get(i).number("bytes")).isEqualTo(use.bytes());
      assertThat(links.get(i).number("busy_ns")).isEqualTo(use.busyPs() / 1e3);
      assertThat(links.get(i).number("waited_ns")).isEqualTo(use.waitedPs() / 1e3);
    }
  }

  /** Whatever is simulated beside is a picosecond more than was computed, by another path. */
  @Test
  void sensitivities_thatWereSimulated_sayWhatCameOfIt() {
    long path = HELLO.breakdown().totalPs();
    Explanation verified =
        HELLO.verified(
            override -> Optional.of(new Sensitivity.Changed(path + 1, Optional.empty())),
            Progress.SILENT);
    List<JsonObject> plain = json(HELLO).objects("sensitivities");
    List<JsonObject> rows = json(verified).objects("sensitivities");

    assertThat(rows).hasSameSizeAs(plain).hasSizeGreaterThan(3);
    for (int i = 0; i < rows.size(); i++) {
      Sensitivity s = verified.sensitivities().get(i);
      assertThat(rows.get(i).text("path")).isEqualTo(s.parameter().path());
      assertThat(rows.get(i).text("value")).isEqualTo(s.parameter().value());
      assertThat(rows.get(i).has("more")).isEqualTo(s.more().isPresent());
      assertThat(rows.get(i).has("less")).isEqualTo(s.less().isPresent());
      for (String side : List.of("more", "less")) {
        Optional<Sensitivity.Effect> effect = side.equals("more") ? s.more() : s.less();
        if (effect.isPresent()) {
          JsonObject one = rows.get(i).object(side);
          assertThat(one.text("set")).startsWith(s.parameter().path() + "=");
          assertThat(one.number("change")).isEqualTo(effect.get().step().change(), within(1e-6));
          assertThat(one.number("ns")).isEqualTo(effect.get().computedPs() / 1e3);
          assertThat(one.number("simulated_ns")).isEqualTo(0.001);
          assertThat(one.flag("agrees")).isEqualTo(effect.get().agrees(path));
          assertThat(one.has("same_path")).isTrue();
          assertThat(one.has("verdict")).isEqualTo(s.verdict(effect.get(), path).isPresent());
          assertThat(plain.get(i).object(side).names()).containsExactly("set", "change", "ns");
        }
      }
    }
  }
}
