package org.kernbench.cli.pages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.config.UsageException;

/** What the local page lists of a folder, from files written by hand. */
final class ShelfTest {
  @TempDir private Path directory;

  private void file(String path, String text) throws IOException {
    Path file = directory.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  @SuppressWarnings("unchecked")
  private List<Map<String, Object>> entries() {
    return (List<Map<String, Object>>) new Shelf(directory).json().get("entries");
  }

  @Test
  void folders_areFoundFourLevelsDown_andNoDeeper() throws IOException {
    file("result.json", "{}");
    file("1/2/3/4/result.json", "{}");
    file("1/2/3/4/5/result.json", "{}");
    file("a/results.json", "{}");
    file("b/other.json", "{}");
    file("c/result.json/results.json", "{}"); // a folder of that name is no run

    assertThat(new Shelf(directory).paths()).containsExactly(".", "1/2/3/4", "a", "c/result.json");
  }

  @Test
  void folder_isOneOfTheList_orNone() throws IOException {
    file("result.json", "{}");
    file("a/results.json", "{}");
    file("b/other.json", "{}");
    Shelf shelf = new Shelf(directory);

    assertThat(shelf.folder("a")).contains(directory.toRealPath().resolve("a"));
    assertThat(shelf.folder(".").orElseThrow().normalize()).isEqualTo(directory.toRealPath());
    assertThat(shelf.folder("b")).isEmpty();
    assertThat(shelf.folder("")).isEmpty();
    assertThat(shelf.folder("a/")).isEmpty();
    assertThat(shelf.name()).isEqualTo(directory.toRealPath().toString());
  }

  @Test
  void run_showsMachineParametersStatusAndTimes() throws IOException {
    file(
        "r/result.json",
        """
        {"bench": "gelu", "machine": {"name": "tiny", "hash": "x"}, "params": {"a": 3, "b": "c d"},
         "status": "bound_violated", "metrics": {"bound_ns": 1.5, "crit_ns": 2.25, "bytes": 7}}\
        """);
    Files.setLastModifiedTime(
        directory.resolve("r/result.json"), FileTime.from(Instant.parse("2026-01-02T03:04:05.6Z")));
    file("r/results.json", "{\"bench\": \"not this\"}");

    assertThat(entries())
        .singleElement()
        .hasToString(
            """
            {path=r, kind=run, bench=gelu, machine=tiny, with=a=3 b=c d, status=bound violated, \
            crit_ns=2.25, bound_ns=1.5, written=2026-01-02T03:04:05Z}\
            """);
  }

  @Test
  void sweep_showsAxesMachinesAndHowManyPointsAreOk() throws IOException {
    file(
        "s/results.json",
        """
        {"bench": "gelu", "axes": {"n": ["1", "2"], "m": ["x"]}, "rows": [
          {"status": "ok", "machine": "tiny"}, {"status": "ok", "machine": "ring"},
          {"status": "refused", "machine": ""}, {"machine": "tiny"}, {"status": "deadlock"}]}\
        """);
    file("t/results.json", "{}");

    List<Map<String, Object>> entries = entries();

    assertThat(entries.getFirst())
        .containsEntry("kind", "sweep")
        .containsEntry("bench", "gelu")
        .containsEntry("with", "n=1,2 m=x")
        .containsEntry("machine", "ring, tiny")
        .containsEntry("status", "2 of 5 points ok");
    assertThat(entries.getLast())
        .containsEntry("path", "t")
        .containsEntry("bench", "")
        .containsEntry("with", "")
        .containsEntry("machine", "")
        .containsEntry("status", "0 of 0 points ok");
  }

  @Test
  void fileThatIsNoJson_isShownAsSuch() throws IOException {
    file("x/result.json", "{\"bench\": ");
    file("y/results.json", "{\"rows\": 3}");

    assertThat(entries())
        .hasSize(2)
        .allSatisfy(e -> assertThat(e).containsEntry("status", "cannot be read"))
        .allSatisfy(e -> assertThat(e.get("written").toString()).endsWith("Z"));
  }

  /** Two thousand are all shown; of one more it is said that there are more. */
  @Test
  void list_endsAtTwoThousand() throws IOException {
    for (int i = 0; i < 2000; i++) {
      file(i % 50 + "/" + i + "/result.json", "{}");
    }
    assertThat(entries()).hasSize(2000);
    assertThat(new Shelf(directory).json()).containsEntry("more", false);

    file("50/x/result.json", "{}");

    assertThat(entries()).hasSize(2000);
    assertThat(new Shelf(directory).json()).containsEntry("more", true);
  }

  @Test
  void root_isAFolder() throws IOException {
    file("x", "");

    assertThatThrownBy(() -> new Shelf(directory.resolve("nowhere")))
        .isInstanceOf(UsageException.class)
        .hasMessage(directory + "/nowhere: no such folder; expected one with runs or sweeps in it");
    assertThatThrownBy(() -> new Shelf(directory.resolve("x")))
        .isInstanceOf(UsageException.class)
        .hasMessage(directory + "/x: is a file; expected a folder with runs or sweeps in it");
  }
}
