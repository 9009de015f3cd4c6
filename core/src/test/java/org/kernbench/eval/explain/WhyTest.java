package org.kernbench.eval.explain;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.AllReduceBench;

/** Sentences on a path: messages that go round dead links are told, and no others. */
final class WhyTest {
  private static List<String> sentences(String links, int sips, String topology) {
    RunResult result =
        Runner.of("test", Progress.SILENT)
            .run(
                new AllReduceBench(),
                RunOptions.DEFAULT
                    .withTopology("ring")
                    .withMode(Mode.TIME)
                    .withOverrides(
                        List.of(
                            "system.sips.count=" + sips,
                            "system.sips.topology=" + topology,
                            "system.sips.links=" + links))
                    .withParams(List.of("algorithm=ring", "rank_level=sip", "n_elem=64")));
    return Why.of(result.path().orElseThrow());
  }

  /** In a ring whose ranks pass on to the next, one message goes all the way back. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "4 | ring_1d | 0-1 dead | over 3 links between packages instead of 1",
        "5 | ring_1d | 0-1 dead | over 4 links between packages instead of 1",
        "4 | ring_1d | 0-1 5 us |",
        "4 | ring_1d | alike |",
      })
  void of_aRingWithADeadLink_tellsTheDetour(
      int sips, String topology, String links, String expected) {
    List<String> sentences = sentences(links, sips, topology);
    assertThat(sentences).hasSizeBetween(1, 4);
    List<String> detours = sentences.stream().filter(s -> s.contains("dead link")).toList();
    if (expected == null) {
      assertThat(detours).isEmpty();
    } else {
      assertThat(detours).hasSize(1);
      assertThat(detours.getFirst())
          .isEqualTo(sentences.getLast())
          .matches(
              "(one message|\\d+ messages) on this path went round a dead link, from sip\\d"
                  + " to sip\\d .*")
          .endsWith(expected);
    }
    assertThat(sentences.getFirst()).matches("\\d+ % of the time .*");
  }
}
