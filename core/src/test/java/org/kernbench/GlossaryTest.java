package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machines;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.SipTopology;
import org.kernbench.tensor.DType;
import org.kernbench.torch.placement.RankLevel;

/** What the glossary lists is what there is. */
final class GlossaryTest {
  private static final Pattern ROW = Pattern.compile("(?m)^\\| (.+?) \\| (.*) \\|$");
  private static final Pattern CODE = Pattern.compile("`([^`]+)`");

  private final Map<String, String> meanings = new LinkedHashMap<>();

  @BeforeEach
  void read() throws IOException {
    Matcher row = ROW.matcher(Files.readString(House.ROOT.resolve("docs/glossary.md")));
    while (row.find()) {
      meanings.putIfAbsent(row.group(1), row.group(2));
    }
  }

  @Test
  void lists_areThoseOfTheProgram() {
    isListed("preset", () -> Machines.presets().keySet().stream());
    isListed("topology", () -> words(SipTopology.values()));
    isListed("mode", () -> words(Mode.values()));
    isListed("rank level", () -> words(RankLevel.values()));
    isListed("buffer kind", () -> words(BufferKind.values()));
    String types =
        Arrays.stream(DType.values()).map(Object::toString).collect(Collectors.joining(" "));
    assertThat(Set.of(code("dtype").iterator().next().split(" ")))
        .containsExactlyInAnyOrder(types.toLowerCase(Locale.ROOT).split(" "));
  }

  /** The order of events is said once in code, beside the comparison; here in the same words. */
  @Test
  void event_orderIsThatOfTheSimulation() throws IOException {
    String simulation =
        Files.readString(
            House.ROOT.resolve("core/src/main/java/org/kernbench/sim/Simulation.java"));
    Matcher order = Pattern.compile("\\((time,[\\s*]+priority,[\\s*]+\\w+)\\)").matcher(simulation);
    assertThat(order.find()).isTrue();
    assertThat(meanings.get("event"))
        .contains("(" + order.group(1).replaceAll("[\\s*]+", " ") + ")");
  }

  private void isListed(String word, Supplier<Stream<String>> there) {
    assertThat(code(word)).as(word).containsAll(there.get().toList());
  }

  private static Stream<String> words(Enum<?>[] values) {
    return Arrays.stream(values).map(value -> value.name().toLowerCase(Locale.ROOT));
  }

  private Set<String> code(String word) {
    assertThat(meanings).containsKey(word);
    Set<String> code = new TreeSet<>();
    Matcher each = CODE.matcher(meanings.get(word));
    while (each.find()) {
      code.add(each.group(1));
    }
    return code;
  }
}
