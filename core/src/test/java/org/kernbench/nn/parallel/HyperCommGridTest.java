package org.kernbench.nn.parallel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machines;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.parallel.LayoutException.Kind;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

/** Groups of a grid as the ranks have them. */
final class HyperCommGridTest {
  private static void on(int ranks, Consumer<Worker> body) {
    Ranks.run(ranks, Mode.VALUES, body);
  }

  private static HyperCommGrid grid(Worker w, String text) {
    return new HyperCommGrid(w.distributed(), RankGrid.parse(text));
  }

  @Test
  void create_everyRank_hasItsOwnGroup() {
    Map<Integer, String> groups = new TreeMap<>();
    on(
        12,
        w -> {
          HyperCommGrid grid = grid(w, "tp=2,cp=3,dp=2");
          ProcessGroup made = grid.create("cp", "tp");
          groups.put(w.rank(), made.ranks() + " " + made.rank());
          assertThat(grid.get("tp", "cp")).isSameAs(made);
          assertThat(grid.enumerate("cp", "tp")).contains(made.ranks());
          try (Tensor t = w.torch().full(Shape.of(1), DType.F32, w.rank(), "t")) {
            made.allReduce(t);
            assertThat(t.get(0)).isEqualTo(w.rank() < 6 ? 15 : 51);
          }
        });
    assertThat(groups)
        .containsEntry(4, "[0, 1, 2, 3, 4, 5] 4")
        .containsEntry(6, "[6, 7, 8, 9, 10, 11] 0");
  }

  @Test
  void create_ranksOutsideOfTheSpan_getAHandleThatNothingTakes() {
    List<Integer> members = new ArrayList<>();
    on(
        8,
        w -> {
          HyperCommGrid grid = grid(w, "tp=2,dp=2,offset=3");
          ProcessGroup tp = grid.create("tp");
          assertThat(grid.isMember()).isEqualTo(w.rank() >= 3 && w.rank() < 7);
          assertThat(tp.isMember()).isEqualTo(grid.isMember());
          assertThat(grid.get("tp")).isSameAs(tp);
          if (tp.isMember()) {
            members.add(w.rank());
          } else {
            try (Tensor t = w.torch().zeros(Shape.of(1), DType.F32, "t")) {
              assertThatThrownBy(() -> tp.allReduce(t)).hasMessageContaining("not a member");
            }
          }
          grid.destroy();
        });
    assertThat(members).containsExactly(3, 4, 5, 6);
  }

  @Test
  void view_sharedDimension_isTheBasesGroup() {
    on(
        8,
        w -> {
          HyperCommGrid grid = grid(w, "tp=2,dp=2,pp=2");
          grid.registerView(
              "expert", List.of(2, 2, 2), List.of("expt_tp", "ep", "pp"), List.of("pp"));
          ProcessGroup base = grid.create("pp");
          assertThat(grid.getIn("expert", "pp")).isSameAs(base);
          refused(Kind.KEY, () -> grid.createIn("expert", "pp"), "groups pp exist");
          ProcessGroup ep = grid.createIn("expert", "ep");
          assertThat(ep.ranks()).hasSize(2).contains(w.rank(), w.rank() ^ 2);
          refused(Kind.KEY, () -> grid.get("pp", "dp"), "no groups pp-dp", "there are [pp,");
          refused(Kind.KEY, () -> grid.getIn("experts", "ep"), "unknown view \"experts\"");
          refused(Kind.ARGUMENT, () -> grid.get("ep"), "unknown dimension ep");
          refused(Kind.ARGUMENT, () -> grid.createIn("expert", "dp"), "unknown dimension dp");
        });
  }

  @Test
  void destroy_leavesEachGroupOnce_andCanMakeThemAgain() {
    on(
        4,
        w -> {
          HyperCommGrid grid = grid(w, "tp=2,dp=2");
          ProcessGroup tp = grid.create("tp");
          grid.create("dp");
          refused(
              Kind.KEY,
              () -> grid.create("tp"),
              "grid tp=2,dp=2: groups tp exist; use get, or destroy before the next create");
          grid.destroy();
          refused(Kind.KEY, () -> grid.get("tp"), "no groups tp", "on every rank of the world");
          try (Tensor t = w.torch().zeros(Shape.of(1), DType.F32, "t")) {
            assertThatThrownBy(() -> tp.allReduce(t)).hasMessageContaining("destroyed");
          }
          ProcessGroup again = grid.create("tp");
          assertThat(again.ranks()).isEqualTo(tp.ranks());
          grid.destroy();
          grid.destroy();
          w.distributed().destroyProcessGroup();
          grid.destroy();
        });
  }

  private static void refused(Kind kind, Runnable action, String... parts) {
    assertThatThrownBy(action::run)
        .isInstanceOfSatisfying(LayoutException.class, e -> assertThat(e.kind()).isEqualTo(kind))
        .hasMessageContainingAll(parts);
  }

  @Test
  void grid_largerThanTheWorldLessOffset_isRefused() {
    on(
        4,
        w -> {
          refused(
              Kind.STATE,
              () -> grid(w, "tp=2,dp=2,offset=1"),
              "shape [2, 2] needs 4 ranks, more than the world of 4 less the offset 1");
          grid(w, "tp=2,offset=2");
          refused(
              Kind.ARGUMENT,
              () -> new HyperCommGrid(w.distributed(), List.of(2), List.of("tp", "dp"), 0),
              "[2] has 1 sizes");
        });
  }

  @Test
  void grid_withoutProcessGroup_isRefused() {
    try (Torch torch =
        Torch.open(Machines.load("tiny", List.of()), TorchOptions.DEFAULT.withMode(Mode.VALUES))) {
      refused(
          Kind.STATE,
          () -> new HyperCommGrid(torch.distributed(), RankGrid.parse("tp=1")),
          "the world's size is not known; call initProcessGroup first");
    }
  }

  /** Creation is a collective of the world: another order on one rank is found there. */
  @Test
  void create_otherOrderOnOneRank_isNamed() {
    assertThatThrownBy(() ->
            on(
                4,
                w -> {
                  HyperCommGrid grid = grid(w, "tp=2,dp=2");
                  grid.create(w.rank() == 2 ? "dp" : "tp");
                }))
        .hasMessageContaining("ranks disagree on what they do together")
        .hasMessageContaining("rank 2: newSubgroupsByEnumeration");
  }
}
