package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.UsageException;
import org.kernbench.nn.parallel.Documents;

/** Which documents a word or a file stands for. */
final class DocumentsParamTest {
  @TempDir Path folder;

  private static Documents of(String word, int tokens) {
    return DocumentsParam.of(word, tokens).orElseThrow();
  }

  @ParameterizedTest
  @CsvSource({"1,5", "16,48", "512,100000", "900:3,100000", "4096,100"})
  void drawn_fillTheSample_aboutAsLongAsAsked(String word, int tokens) {
    Documents drawn = of(word, tokens);
    assertThat(drawn.length()).isEqualTo(tokens);
    double mean = Double.parseDouble(word.split(":")[0]);
    double count = drawn.cumulative().size() - 1;
    if (tokens > 100 * mean) { // a mean of exponential lengths strays by 1 / sqrt(count)
      assertThat(tokens / count).isCloseTo(mean, within(4 * mean / Math.sqrt(count) + 1));
    }
  }

  @Test
  void drawn_bySeed_areTheSameOrOthers() {
    assertThat(of("64", 4096)).isEqualTo(of("64:7", 4096)).isNotEqualTo(of("64:8", 4096));
    assertThat(DocumentsParam.of("none", 4096)).isEmpty();
  }

  @Test
  void listed_inRowsOrLines_areThoseOfTheFile() throws IOException {
    Path file = Files.writeString(folder.resolve("lengths.csv"), "3, 4\n\n5,\r\n36\n");
    assertThat(of(file.toString(), 48)).isEqualTo(Documents.ofLengths(3, 4, 5, 36));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "-3", "5:", ":5", "5:5:5", "many", "1e3", "5.5", "lengths.txt"})
  void other_words_areRefusedWithWhatTheyMayBe(String word) {
    assertThatThrownBy(() -> of(word, 48))
        .isInstanceOf(UsageException.class)
        .hasMessage(
            "documents: got \""
                + word
                + "\"; expected none, a mean length from 1, perhaps with a"
                + " seed, e.g. 512 or 512:3, or a file.csv of lengths");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "3,4 | 2 documents of 7 tokens in all; expected tokens=48",
        "'' | 0 documents of 0 tokens in all; expected tokens=48",
        "40,0,8 | :1: got \"0\"; expected the length of a document, 1 to 48",
        "40,x | :1: got \"x\"; expected the length of a document, 1 to 48",
        "49 | :1: got \"49\"; expected the length of a document, 1 to 48"
      })
  void listed_whatDoesNotFit_isRefused(String text, String message) throws IOException {
    Path file = Files.writeString(folder.resolve("bad.csv"), text);
    assertThatThrownBy(() -> of(file.toString(), 48))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("documents: " + file)
        .hasMessageContaining(message);
  }

  @Test
  void listed_noFile_isRefused() {
    assertThatThrownBy(() -> of("nowhere.csv", 48))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("documents: nowhere.csv");
  }

  /** Pairs counted one by one. */
  @ParameterizedTest
  @ValueSource(strings = {"none", "1", "9", "20:3", "500"})
  void keys_areThePairsInsideOfDocuments(String word) {
    int tokens = 96;
    Optional<Documents> documents = DocumentsParam.of(word, tokens);
    int[] all = IntStream.range(0, tokens).toArray();
    int[] starts = documents.map(d -> d.starts(all)).orElse(new int[tokens]);
    long pairs = 0;
    for (int query : all) {
      for (int key = 0; key <= query; key++) {
        pairs += starts[key] == starts[query] ? 1 : 0;
      }
    }
    assertThat(DocumentsParam.keys(documents, tokens))
        .isCloseTo((double) pairs / tokens, within(1e-9));
  }
}
