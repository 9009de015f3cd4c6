package org.kernbench.nn.bridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.nn.autograd.BridgeFault;
import org.kernbench.nn.bridge.BridgePlan.Direction;
import org.kernbench.nn.bridge.BridgePlan.Move;
import org.kernbench.nn.bridge.BridgePlan.Pass;
import org.kernbench.nn.bridge.BridgePlan.SliceInfo;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.LayoutException.Kind;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.nn.parallel.RankGridTest;
import org.kernbench.torch.collective.CollectiveOp;

/** Who does what in a bridge: the worked examples of docs/spec/megatron.md 5, and every rule. */
public final class BridgePlanTest {
  /** The layouts of 5.1 by name: tp, cp and dp as in {@code T2C2D2}. */
  public static RankGrid grid(String name, int offset) {
    int tp = Integer.parseInt(name.replaceAll("T(\\d+).*", "$1"));
    int dp = Integer.parseInt(name.replaceAll(".*D(\\d+)", "$1"));
    int cp = name.contains("C") ? Integer.parseInt(name.replaceAll(".*C(\\d+).*", "$1")) : 1;
    return RankGrid.of(List.of(tp, cp, 1, dp), List.of("tp", "cp", "pp", "dp"), offset);
  }

  private static BridgePlan plan(String src, String dest, int offset) {
    return new BridgePlan(grid(src, offset), grid(dest, offset), BridgeOptions.DEFAULT);
  }

  @ParameterizedTest
  @CsvSource({
    "T1D8, 0, 0:000 1:100 2:200 3:300 4:400 5:500 6:600 7:700",
    "T2D4, 0, 0:000 1:010 2:100 3:110 4:200 5:210 6:300 7:310",
    "T4D2, 0, 0:000 1:010 2:020 3:030 4:100 5:110 6:120 7:130",
    "T8D1, 0, 0:000 1:010 2:020 3:030 4:040 5:050 6:060 7:070",
    "T2C2D2, 0, 0:000 1:010 2:001 3:011 4:100 5:110 6:101 7:111",
    "T1C4D2, 0, 0:000 1:001 2:002 3:003 4:100 5:101 6:102 7:103",
    "T1D4, 0, 0:000 1:100 2:200 3:300",
    "T2D2, 0, 0:000 1:010 2:100 3:110",
    "T4D1, 0, 0:000 1:010 2:020 3:030",
    "T1C2D2, 0, 0:000 1:001 2:100 3:101",
    "T4D4, 0, 0:000 1:010 2:020 3:030 4:100 5:110 6:120 7:130 8:200 9:210 10:220 11:230 12:300"
        + " 13:310 14:320 15:330",
    "T2C4D2, 0, 0:000 1:010 2:001 3:011 4:002 5:012 6:003 7:013 8:100 9:110 10:101 11:111 12:102"
        + " 13:112 14:103 15:113",
    "T8D2, 0, 0:000 1:010 2:020 3:030 4:040 5:050 6:060 7:070 8:100 9:110 10:120 11:130 12:140"
        + " 13:150 14:160 15:170",
    "T2C2D4, 0, 0:000 1:010 2:001 3:011 4:100 5:110 6:101 7:111 8:200 9:210 10:201 11:211 12:300"
        + " 13:310 14:301 15:311",
    "T4D2, 8, 8:000 9:010 10:020 11:030 12:100 13:110 14:120 15:130",
    "T1C4D2, 8, 8:000 9:001 10:002 11:003 12:100 13:101 14:102 15:103",
  })
  void positions_workedLayout(String layout, int offset, String map) {
    // as a destination of itself, and as a source, where context parallelism is an option
    RankGrid grid = grid(layout, offset);
    BridgePlan plan = new BridgePlan(grid, grid, BridgeOptions.DEFAULT.withSourceContextParallel());
    List<String> dest = new ArrayList<>();
    List<String> source = new ArrayList<>();
    for (int r = offset; r < offset + grid.size(); r++) {
      BridgePlan.Position d = plan.destPosition(r);
      BridgePlan.Position s = plan.sourcePosition(r);
      dest.add(r + ":" + d.dp() + d.tp() + d.cp());
      source.add(r + ":" + s.dp() + s.tp() + s.cp());
    }
    assertThat(String.join(" ", dest)).isEqualTo(map);
    assertThat(source).isEqualTo(dest);
    assertThat(
            plan.canonicalDestPositions().keySet().stream()
                .map(r -> map.split(" ")[r - offset])
                .toList())
        .isEqualTo(Stream.of(map.split(" ")).filter(e -> e.endsWith("0")).toList());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "P1 | T2D4 | T2D4 | EQUAL 1 | | 0 0 0 0 0 0 0 0 |",
        "P2 | T1D8 | T2D4 | FAN_IN 2 | [0,1][2,3][4,5][6,7] | 0 1 0 1 0 1 0 1 |",
        "P3 | T1D8 | T4D2 | FAN_IN 4 | [0,1,2,3][4,5,6,7] | 0 1 2 3 0 1 2 3 |",
        "P4 | T1D8 | T8D1 | FAN_IN 8 | [0,1,2,3,4,5,6,7] | 0 1 2 3 4 5 6 7 |",
        "P5 | T2D4 | T1D8 | FAN_OUT 2 | [0,1][2,3][4,5][6,7] | 0 1 0 1 0 1 0 1 |",
        "P6 | T8D1 | T2D4 | FAN_OUT 4 | [0,2,4,6][1,3,5,7] | 0 0 1 1 2 2 3 3 |",
        "P7 | T8D1 | T1D8 | FAN_OUT 8 | [0,1,2,3,4,5,6,7] | 0 1 2 3 4 5 6 7 |",
        "P8 | T1D8 | T2C2D2 | FAN_IN 4 | [0,1,2,3][4,5,6,7] | 0 1 2 3 0 1 2 3"
            + " | [0,2][1,3][4,6][5,7]",
        "P9 | T8D1 | T2C2D2 | FAN_OUT 2 | [0,4][2,6][1,5][3,7] | 0 0 0 0 1 1 1 1"
            + " | [0,2][1,3][4,6][5,7]",
        "P10 | T4D2 | T2C2D2 | EQUAL 1 | | 0 0 0 0 0 0 0 0 | [0,2][1,3][4,6][5,7]",
        "P11 | T2D4 | T1C4D2 | FAN_IN 2 | [0,2][1,3][4,6][5,7] | 0 0 1 1 0 0 1 1"
            + " | [0,1,2,3][4,5,6,7]",
        "P12 | T1D4 | T2D2 | FAN_IN 2 | [0,1][2,3] | 0 1 0 1 |",
        "P13 | T4D1 | T1C2D2 | FAN_OUT 2 | [0,2][1,3] | 0 0 1 1 | [0,1][2,3]",
        "P14 | T4D4 | T2C4D2 | FAN_IN 2"
            + " | [0,4][1,5][2,6][3,7][8,12][9,13][10,14][11,15]"
            + " | 0 0 0 0 1 1 1 1 0 0 0 0 1 1 1 1 | [0,2,4,6][1,3,5,7][8,10,12,14][9,11,13,15]",
        "P15 | T8D2 | T2C2D4 | FAN_OUT 2"
            + " | [0,4][2,6][1,5][3,7][8,12][10,14][9,13][11,15]"
            + " | 0 0 0 0 1 1 1 1 0 0 0 0 1 1 1 1"
            + " | [0,2][1,3][4,6][5,7][8,10][9,11][12,14][13,15]",
        "P16 | T4D2 | T1C4D2 | EQUAL 1 | | 0 0 0 0 0 0 0 0 | [8,9,10,11][12,13,14,15]",
      })
  void plan_workedPair(
      String id,
      String src,
      String dest,
      String direction,
      String groups,
      String slots,
      String cp) {
    int offset = id.equals("P16") ? 8 : 0;
    BridgePlan plan = plan(src, dest, offset);
    int n = plan.source().size();
    assertThat(plan.direction().name() + " " + plan.scale()).isEqualTo(direction);
    assertThat(RankGridTest.shown(plan.gatherGroups())).isEqualTo(groups == null ? "" : groups);
    assertThat(
            IntStream.range(offset, offset + n)
                .mapToObj(r -> "" + plan.slot(r))
                .collect(Collectors.joining(" ")))
        .isEqualTo(slots);
    assertThat(RankGridTest.shown(plan.contextGroups())).isEqualTo(cp == null ? "" : cp);
    for (int r = offset; r < offset + n; r++) {
      int batch = 6 * plan.scale();
      assertThat(plan.slice(r, batch))
          .isEqualTo(
              plan.direction() == Direction.EQUAL
                  ? new SliceInfo(0, 6)
                  : new SliceInfo(6 * plan.slot(r), 6));
      List<Integer> group = plan.gatherGroup(r).orElse(List.of());
      if (plan.direction() != Direction.EQUAL) {
        assertThat(group.indexOf(r)).isEqualTo(plan.slot(r));
      }
    }
  }

  @Test
  void slice_workedExamples() {
    assertThat(plan("T1D8", "T4D2", 0).slice(6, 12)).isEqualTo(new SliceInfo(6, 3));
    assertThat(plan("T8D1", "T2D4", 0).slice(5, 8)).isEqualTo(new SliceInfo(4, 2));
    for (int r : new int[] {2, 3, 6, 7}) {
      assertThat(plan("T2D4", "T1C4D2", 0).slice(r, 10)).isEqualTo(new SliceInfo(5, 5));
    }
    for (int r = 4; r < 8; r++) {
      assertThat(plan("T4D4", "T2C4D2", 0).slice(r, 4)).isEqualTo(new SliceInfo(2, 2));
    }
    assertThat(plan("T2D4", "T2D4", 0).slice(0, 3)).isEqualTo(new SliceInfo(0, 3));
    refused(
        () -> plan("T8D1", "T2C2D2", 0).slice(0, 3),
        "fan-out with scale 2: a batch of 3 cannot be divided; expected a multiple of 2");
    refused(() -> plan("T1D8", "T4D2", 0).slice(0, 6), "fan-in with scale 4: a batch of 6");
  }

  // ---- rules ----

  private static void refused(Runnable action, String... parts) {
    assertThatThrownBy(action::run)
        .isInstanceOfSatisfying(
            LayoutException.class, e -> assertThat(e.kind()).isEqualTo(Kind.ARGUMENT))
        .hasMessageStartingWith("bridge encoder -> language: ")
        .hasMessageContainingAll(parts);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=2,cp=2 | tp=4 | source encoder (tp=2,cp=2) has no dimension dp; its dimensions are"
            + " [tp, cp]",
        "dp=4 | tp=4,dp=1 | source encoder (dp=4) has no dimension tp; its dimensions are [dp]",
        "tp=2,dp=2 | tp=4 | destination language (tp=4) has no dimension dp",
        "tp=2,dp=2 | tp=2,dp=4,offset=1 | source encoder (tp=2,dp=2) has 4 ranks, destination"
            + " language (tp=2,dp=4,offset=1) has 8",
        "tp=2,pp=2,dp=2 | tp=2,pp=2,dp=2,offset=1 | starts at rank 0, destination language"
            + " (tp=2,pp=2,dp=2,offset=1) at rank 1",
        "tp=1,pp=2,dp=2 | tp=1,pp=2,dp=2 | source encoder (tp=1,pp=2,dp=2) has pp 2; expected 1",
        "tp=1,cp=2,dp=2 | tp=1,pp=2,dp=2 | destination language (tp=1,pp=2,dp=2) has pp 2",
        "tp=1,cp=2,dp=2 | tp=1,dp=2,cp=2 | source encoder (tp=1,cp=2,dp=2) has cp 2; expected 1,"
            + " or the option sourceContextParallel",
        "tp=2,dp=3 | tp=3,dp=2,cp=1 | destination language (tp=3,dp=2,cp=1) lists cp after dp;"
            + " expected cp before dp in [tp, dp, cp]",
        "tp=2,ep=1,dp=3 | tp=3,cp=1,dp=2 | dp is 3 in source encoder (tp=2,ep=1,dp=3) and 2 in"
            + " destination language",
        "tp=2,ep=2,dp=2 | tp=4,dp=2 | source encoder (tp=2,ep=2,dp=2) has ep 2; expected 1",
        "tp=4,dp=2 | tp=2,ep=2,dp=2 | destination language (tp=2,ep=2,dp=2) has ep 2",
        "dp=4,tp=1 | dp=2,tp=2 | rank 1 is in replica 1 of source encoder (dp=4,tp=1) and in"
            + " replica 1 of destination language (dp=2,tp=2), which do not share samples; list"
            + " dp last",
        "tp=2,dp=2 | dp=2,tp=2 | rank 1 is in replica 0 of source",
        "dp=2,tp=2 | tp=1,dp=4 | rank 1 is in replica 1 of source encoder (dp=2,tp=2) and in"
            + " replica 1 of destination",
      })
  void plan_brokenRule_isTheOneTold(String src, String dest, String message) {
    refused(
        () -> new BridgePlan(RankGrid.parse(src), RankGrid.parse(dest), BridgeOptions.DEFAULT),
        message);
  }

  @Test
  void plan_sourceContextAfterData_isRefused() {
    refused(
        () ->
            new BridgePlan(
                RankGrid.parse("tp=1,dp=2,cp=2"),
                RankGrid.parse("tp=2,dp=2"),
                BridgeOptions.DEFAULT.withSourceContextParallel()),
        "source encoder (tp=1,dp=2,cp=2) lists cp after dp");
  }

  /** Extra dimensions of size 1 change nothing. */
  @Test
  void plan_extraDimensionsOfOne_areAllowed() {
    BridgePlan plan =
        new BridgePlan(
            RankGrid.parse("ep=1,tp=1,x=1,dp=8"),
            RankGrid.parse("tp=4,y=1,dp=2"),
            BridgeOptions.DEFAULT);
    assertThat(plan.gatherGroups()).isEqualTo(plan("T1D8", "T4D2", 0).gatherGroups());
  }

  /** One group for all context-parallel ranks of a slot leaves some without a group. */
  @Test
  void plan_groupsPooledOverContext_areNoPartition() {
    refused(
        () ->
            new BridgePlan(
                grid("T8D1", 0),
                grid("T2C2D2", 0),
                BridgeOptions.DEFAULT,
                BridgeFault.POOLED_GROUPS),
        "rank 2 is in none of the gather groups [[0, 4], [1, 5]]");
  }

  @ParameterizedTest
  @EnumSource(Direction.class)
  void direction_isShownAsWords(Direction direction) {
    assertThat(direction.toString()).isEqualTo(direction.name().toLowerCase().replace('_', '-'));
  }

  @Test
  void dims_notOneOfEach_areRefused() {
    assertThatThrownBy(() -> new BridgeOptions.Dims(0, 0, 2))
        .isInstanceOf(LayoutException.class)
        .hasMessageContaining("dimensions b 0, s 0, h 2; expected 0, 1 and 2, each once");
    assertThatThrownBy(() -> new BridgeOptions.Dims(0, 1, 3)).hasMessageContaining("h 3");
  }

  // ---- bytes ----

  /** The inventory of docs/spec/megatron.md 13, for 96 bytes per rank from the source. */
  @Test
  void moves_followTheInventory() {
    assertThat(plan("T2D4", "T2D4", 0).moves(96)).isEmpty();
    assertThat(summary(plan("T1D8", "T4D2", 0)))
        .containsExactlyEntriesOf(Map.of("FORWARD ALL_GATHER of 4", 8 * 3 * 96L));
    assertThat(summary(plan("T8D1", "T2D4", 0)))
        .containsExactlyEntriesOf(Map.of("BACKWARD ALL_GATHER of 4", 8 * 3 * 24L));
    assertThat(summary(plan("T4D2", "T2C2D2", 0)))
        .containsExactlyEntriesOf(Map.of("BACKWARD ALL_REDUCE of 2", 8 * 96L));
    assertThat(summary(plan("T8D1", "T2C2D2", 0)))
        .containsEntry("BACKWARD ALL_REDUCE of 2", 8 * 48L)
        .containsEntry("BACKWARD ALL_GATHER of 2", 8 * 48L)
        .hasSize(2);
    assertThat(summary(plan("T1D8", "T2C2D2", 0)))
        .containsEntry("FORWARD ALL_GATHER of 4", 8 * 3 * 96L)
        .containsEntry("BACKWARD ALL_REDUCE of 2", 8 * 4 * 96L)
        .hasSize(2);
    BridgePlan both =
        new BridgePlan(
            grid("T1C2D4", 0),
            grid("T1C4D2", 0),
            BridgeOptions.DEFAULT.withSourceContextParallel());
    assertThat(both.moves(96))
        .extracting(Move::pass, Move::op, Move::ranks, Move::bytes, Move::sentBytes)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple(
                Pass.FORWARD, CollectiveOp.ALL_GATHER, 2, 96L, 8 * 96L),
            org.assertj.core.groups.Tuple.tuple(
                Pass.FORWARD, CollectiveOp.ALL_GATHER, 2, 192L, 8 * 192L),
            org.assertj.core.groups.Tuple.tuple(
                Pass.BACKWARD, CollectiveOp.ALL_REDUCE, 4, 384L, 2 * 2 * 3 * 384L));
  }

  private static Map<String, Long> summary(BridgePlan plan) {
    return plan.moves(96).stream()
        .collect(
            Collectors.toMap(m -> m.pass() + " " + m.op() + " of " + m.ranks(), Move::sentBytes));
  }
}
