package org.kernbench.nn.parallel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.nn.parallel.LayoutException.Kind;

/** Numbers of ranks in grids, views, generators: the worked examples, and a second enumeration. */
public final class RankGridTest {
  /** For example {@code [0,1][2,3]}; a group {@code [0..3]} is written in full. */
  public static String shown(List<List<Integer>> groups) {
    StringBuilder text = new StringBuilder();
    groups.forEach(g -> text.append(g.toString().replace(" ", "")));
    return text.toString();
  }

  // The table of docs/spec/megatron.md 1.6.

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=2,cp=3,dp=2 | tp | tp | [0,1][2,3][4,5][6,7][8,9][10,11]",
        "tp=2,cp=3,dp=2 | cp | cp | [0,2,4][1,3,5][6,8,10][7,9,11]",
        "tp=2,cp=3,dp=2 | dp | dp | [0,6][1,7][2,8][3,9][4,10][5,11]",
        "tp=2,cp=3,dp=2 | dp cp | dp-cp | [0,2,4,6,8,10][1,3,5,7,9,11]",
        "tp=2,cp=3,dp=2 | cp tp | cp-tp | [0,1,2,3,4,5][6,7,8,9,10,11]",
        "tp=2,cp=3,dp=2 | tp dp | dp-tp | [0,1,6,7][2,3,8,9][4,5,10,11]",
        "tp=2,pp=2,dp=2,offset=4 | tp | tp | [4,5][6,7][8,9][10,11]",
        "tp=2,pp=2,dp=2,offset=4 | pp | pp | [4,6][5,7][8,10][9,11]",
        "tp=2,pp=2,dp=2,offset=4 | dp | dp | [4,8][5,9][6,10][7,11]",
        "tp=2,pp=2,dp=2,offset=4 | dp tp | dp-tp | [4,5,8,9][6,7,10,11]",
        "tp=2,cp=2,pp=1,dp=2 | dp cp | dp-cp | [0,2,4,6][1,3,5,7]",
        "tp=2,cp=2,pp=1,dp=2 | pp | pp | [0][1][2][3][4][5][6][7]",
      })
  void enumerate_workedExample(String grid, String dims, String key, String groups) {
    RankGrid ranks = RankGrid.parse(grid);
    List<String> asked = List.of(dims.split(" "));
    assertThat(shown(ranks.enumerate(asked))).isEqualTo(groups);
    assertThat(ranks.key(RankGrid.BASE, asked)).isEqualTo(key);
  }

  private static RankGrid withExperts() {
    return RankGrid.parse("tp=2,dp=2,pp=2")
        .withView("expert", List.of(2, 2, 2), List.of("expt_tp", "ep", "pp"), List.of("pp"));
  }

  @Test
  void view_workedExample() {
    RankGrid grid = withExperts();
    assertThat(shown(grid.enumerateIn("expert", "ep"))).isEqualTo("[0,2][1,3][4,6][5,7]");
    assertThat(shown(grid.enumerateIn("expert", "pp"))).isEqualTo("[0,4][1,5][2,6][3,7]");
    assertThat(grid.key("expert", List.of("pp"))).isEqualTo("pp");
    assertThat(grid.key("expert", List.of("ep", "pp"))).isEqualTo("expert:pp-ep");
    assertThat(grid.views()).containsExactly("expert");
    assertThat(grid.view(RankGrid.BASE)).isSameAs(grid);
    assertThat(grid.view("expert").names()).containsExactly("expt_tp", "ep", "pp");
  }

  /** Every request on random grids, against a plain search over all pairs of ranks. */
  @Test
  void enumerate_randomGrids_isWhatCoordinatesSay() {
    Random random = new Random(8);
    for (int i = 0; i < 300; i++) {
      List<Integer> shape = random.ints(1 + random.nextInt(4), 1, 4).boxed().toList();
      List<String> names = List.of("tp", "cp", "pp", "dp").subList(0, shape.size());
      RankGrid grid = RankGrid.of(shape, names, random.nextInt(9));
      List<String> dims = new ArrayList<>(names);
      Collections.shuffle(dims, random);
      dims = dims.subList(0, 1 + random.nextInt(dims.size()));
      assertThat(grid.enumerate(dims)).isEqualTo(searched(grid, dims));
    }
  }

  private static List<List<Integer>> searched(RankGrid grid, List<String> dims) {
    Map<Integer, List<Integer>> byFirst = new TreeMap<>();
    int end = grid.offset() + grid.size();
    for (int rank = grid.offset(); rank < end; rank++) {
      int first = rank;
      for (int other = rank; other >= grid.offset(); other--) {
        int[] a = coordinates(grid, rank);
        int[] b = coordinates(grid, other);
        boolean same = true;
        for (int d = 0; d < a.length; d++) {
          same &= a[d] == b[d] || dims.contains(grid.names().get(d));
        }
        first = same ? other : first;
      }
      byFirst.computeIfAbsent(first, k -> new ArrayList<>()).add(rank);
    }
    return List.copyOf(byFirst.values());
  }

  private static int[] coordinates(RankGrid grid, int rank) {
    int[] c = new int[grid.shape().size()];
    int left = rank - grid.offset();
    for (int i = 0; i < c.length; i++) {
      c[i] = left % grid.shape().get(i);
      left /= grid.shape().get(i);
      assertThat(grid.coordinate(rank, grid.names().get(i))).isEqualTo(c[i]);
    }
    return c;
  }

  @Test
  void grid_listsChangedAfterwards_staysAsItWas() {
    List<Integer> shape = new ArrayList<>(List.of(2, 3));
    List<String> names = new ArrayList<>(List.of("tp", "dp"));
    RankGrid grid = RankGrid.of(shape, names);
    shape.set(0, 5);
    names.set(0, "cp");
    assertThat(grid).hasToString("tp=2,dp=3");
    assertThat(RankGrid.parse(RankGrid.parse("tp=2,dp=3,offset=4").toString()).span())
        .isEqualTo("4 to 9");
  }

  // Errors: docs/spec/megatron.md 1.5, and those that the public versions do not make.

  private static void refused(Kind kind, Runnable action, String... parts) {
    assertThatThrownBy(action::run)
        .isInstanceOfSatisfying(LayoutException.class, e -> assertThat(e.kind()).isEqualTo(kind))
        .hasMessageContainingAll(parts);
  }

  @Test
  void grid_wrong_isRefused() {
    refused(
        Kind.ARGUMENT,
        () -> RankGrid.of(List.of(2, 3), List.of("tp")),
        "[2, 3] has 2 sizes, names [tp] are 1");
    refused(
        Kind.ARGUMENT,
        () -> RankGrid.of(List.of(2), List.of("tp"), -1),
        "offset -1; expected the number of a rank, 0 or more");
    refused(
        Kind.ARGUMENT,
        () -> RankGrid.of(List.of(2, 2), List.of("tp", "tp")),
        "dimension tp occurs twice");
    refused(Kind.ARGUMENT, () -> RankGrid.of(List.of(2, 0), List.of("tp", "dp")), "dp has size 0");
    refused(Kind.ARGUMENT, () -> RankGrid.of(List.of(), List.of()), "no dimension");
    refused(
        Kind.ARGUMENT,
        () -> RankGrid.of(List.of(1 << 20, 1 << 20), List.of("tp", "dp")),
        "more ranks than can be numbered");
  }

  @Test
  void enumerate_wrongRequest_isRefused() {
    RankGrid grid = withExperts();
    refused(
        Kind.ARGUMENT,
        () -> grid.enumerate("cp"),
        "grid tp=2,dp=2,pp=2: unknown dimension cp; expected some of [tp, dp, pp]");
    refused(
        Kind.ARGUMENT,
        () -> grid.enumerateIn("expert", "dp"),
        "view \"expert\"",
        "unknown dimension dp; expected some of [expt_tp, ep, pp]");
    refused(Kind.ARGUMENT, () -> grid.enumerate("ep"), "unknown dimension ep");
    refused(
        Kind.KEY,
        () -> grid.enumerateIn("experts", "ep"),
        "unknown view \"experts\"; registered are [expert]");
    refused(Kind.ARGUMENT, () -> grid.enumerate("tp", "tp"), "dimension tp twice in [tp, tp]");
    refused(Kind.ARGUMENT, () -> grid.enumerate(), "groups of no dimension");
    refused(
        Kind.ARGUMENT, () -> grid.coordinate(8, "tp"), "rank 8 is not in grid", "has ranks 0 to 7");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "expert | 2 2 2 | a b c | | the name is taken",
        "'' | 2 2 2 | a b c | | the name is empty",
        "more | 2 2 | a b c | | shape [2, 2] has 2 sizes, names [a, b, c] are 3",
        "more | 2 2 2 | a b a | | dimension a occurs twice",
        "more | 2 0 4 | a b c | | b has size 0",
        "more | 2 2 4 | a b c | | shape [2, 2, 4] has 16 ranks, the grid has 8",
        "more | 2 2 2 | a b pp | pp pp | shared dimension pp occurs twice",
        "more | 2 2 2 | a ep pp | ep | shared dimension ep is not in the grid",
        "more | 2 2 2 | a b pp | tp | shared dimension tp is not in the view",
        "more | 2 2 2 | pp b c | pp | the groups of shared pp are [[0, 4]",
      })
  void view_wrong_isRefused(
      String name, String shape, String names, String shared, String message) {
    refused(
        Kind.ARGUMENT,
        () ->
            withExperts()
                .withView(
                    name,
                    Arrays.stream(shape.split(" ")).map(Integer::valueOf).toList(),
                    List.of(names.split(" ")),
                    shared == null ? List.of() : List.of(shared.split(" "))),
        message,
        "grid tp=2,dp=2,pp=2");
  }

  /** What is shared dimension by dimension is shared jointly, so that one key serves both. */
  @Test
  void view_severalShared_jointGroupsAreTheBases() {
    RankGrid grid = RankGrid.parse("tp=2,cp=3,x=1,dp=4");
    RankGrid viewed =
        grid.withView("v", List.of(2, 3, 2, 2), List.of("tp", "ep", "cp", "dp"), List.of("tp"));
    assertThat(viewed.enumerateIn("v", "tp", "ep")).isEqualTo(grid.enumerate("tp", "cp"));
    assertThat(
            grid.withView(
                    "v",
                    List.of(2, 1, 3, 4),
                    List.of("tp", "x", "ep", "dp"),
                    List.of("dp", "tp", "x"))
                .key("v", List.of("tp", "dp")))
        .isEqualTo("dp-tp");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp | got \"tp\"",
        "tp=2,dp=x | got \"dp=x\"",
        "tp=2,,dp=2 | got \"\"",
        "tp=-2 | got \"tp=-2\"",
        "offset=2 | no dimension",
        "offset=4,tp=2 | offset is no dimension; expected offset=... once, at the end",
        "tp=2,offset=1,offset=2 | offset is no dimension",
        "=2 | got \"=2\"",
      })
  void parse_wrongText_isRefused(String text, String message) {
    refused(Kind.ARGUMENT, () -> RankGrid.parse(text), message);
  }

  // The table of docs/spec/megatron.md 3.

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp-cp-ep-dp-pp | 2 2 1 2 2 | tp | [0,1][2,3][4,5][6,7][8,9][10,11][12,13][14,15]",
        "tp-cp-ep-dp-pp | 2 2 1 2 2 | cp | [0,2][1,3][4,6][5,7][8,10][9,11][12,14][13,15]",
        "tp-cp-ep-dp-pp | 2 2 1 2 2 | dp | [0,4][1,5][2,6][3,7][8,12][9,13][10,14][11,15]",
        "tp-cp-ep-dp-pp | 2 2 1 2 2 | pp | [0,8][1,9][2,10][3,11][4,12][5,13][6,14][7,15]",
        "tp-cp-ep-dp-pp | 2 2 1 2 2 | dp-cp | [0,2,4,6][1,3,5,7][8,10,12,14][9,11,13,15]",
        "tp-cp-ep-dp-pp | 2 2 1 2 2 | tp-pp | [0,1,8,9][2,3,10,11][4,5,12,13][6,7,14,15]",
        "tp-cp-ep-dp-pp | 2 2 1 2 2 | tp-dp-cp |" + " [0,1,2,3,4,5,6,7][8,9,10,11,12,13,14,15]",
        "TP-PP-DP | 2 1 1 2 3 | pp | [0,2,4][1,3,5][6,8,10][7,9,11]",
        "tp-pp-dp | 2 1 1 2 3 | dp | [0,6][1,7][2,8][3,9][4,10][5,11]",
        "tp-dp-pp | 2 1 1 2 3 | pp | [0,4,8][1,5,9][2,6,10][3,7,11]",
        "tp-dp-pp | 2 1 1 2 3 | dp | [0,2][1,3][4,6][5,7][8,10][9,11]",
        "tp-cp-ep-dp-pp | 1 1 4 2 2 | ep | [0,1,2,3][4,5,6,7][8,9,10,11][12,13,14,15]",
        "tp-cp-ep-dp-pp | 1 1 4 2 2 | tp-ep-pp |" + " [0,1,2,3,8,9,10,11][4,5,6,7,12,13,14,15]",
      })
  void generator_workedExample(String order, String sizes, String token, String groups) {
    assertThat(shown(generator(order, sizes).groups(token))).isEqualTo(groups);
  }

  private static RankGenerator generator(String order, String tpCpEpDpPp) {
    String[] sizes = tpCpEpDpPp.split(" ");
    Map<String, Integer> byName = new TreeMap<>();
    for (int i = 0; i < sizes.length; i++) {
      byName.put("tp cp ep dp pp".split(" ")[i], Integer.valueOf(sizes[i]));
    }
    return new RankGenerator(order.toLowerCase(Locale.ROOT), byName);
  }

  @Test
  void generator_wrong_isRefused() {
    assertThatThrownBy(() -> generator("tp-cp-ep-dp-pp", "1 2 2 1 1"))
        .hasMessageContaining("cannot have ep 2 and cp 2");
    assertThatThrownBy(() -> generator("tp-dp", "1 1 1 1 2"))
        .hasMessageContaining("pp has size 2 but is not in the order tp-dp");
    assertThatThrownBy(() -> generator("tp-tp-cp-ep-dp-pp", "1 1 1 1 2"))
        .hasMessageContaining("tp occurs twice");
    assertThatThrownBy(() -> generator("tp-xp", "1 1 1 1 1")).hasMessageContaining("xp");
    assertThatThrownBy(() -> generator("tp-dp", "2 1 1 2 1").groups("tp-ep-xp"))
        .hasMessageContaining("unknown dimension xp");
  }
}
