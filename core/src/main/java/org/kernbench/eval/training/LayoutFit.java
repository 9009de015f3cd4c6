package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.kernbench.config.UsageException;
import org.kernbench.eval.training.TrainingBench.Scope;
import org.kernbench.machine.Machine;
import org.kernbench.nn.layers.Recompute;
import org.kernbench.nn.optim.Zero;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/**
 * Whether a layout can be: its numbers divide what they must ({@link LayoutRules}), and a rank has
 * the memory that it needs at least ({@link RankMemory}). If not, all that is wrong is told at
 * once, with the layouts nearest to it that can be.
 */
final class LayoutFit {
  private static final int SHOWN = 3;

  private final Setup setup;
  private final Machine machine;
  private final RankLevel level;
  private final Spread spread;

  LayoutFit(Setup setup, Machine machine, RankLevel level, Spread spread) {
    this.setup = setup;
    this.machine = machine;
    this.level = level;
    this.spread = spread;
  }

  /** Whether the layout can be if other PEs of each rank compute. */
  LayoutFit on(Spread other) {
    return new LayoutFit(setup, machine, level, other);
  }

  /**
   * Refuses a layout that cannot be.
   *
   * @throws UsageException with what is wrong, and layouts that can be
   */
  void check() {
    LayoutGrid asked = LayoutGrid.of(setup);
    List<String> problems = new ArrayList<>(LayoutRules.broken(setup, asked));
    boolean divides = problems.isEmpty();
    int devices = level.devices(machine);
    if (asked.ranks() > devices) {
      problems.add(
          "layout %s has %s ranks of level %s; machine %s has %s of those"
              .formatted(asked, asked.ranks(), word(), machine.name(), devices));
    } else if (divides && !fits(asked)) {
      RankMemory.Need need = new RankMemory(setup, asked).need();
      problems.add(
          "layout %s needs at least %s of each rank (%s); a %s has %s"
              .formatted(
                  asked,
                  RankMemory.shown(need.all()),
                  need.parts(),
                  word(),
                  RankMemory.shown(capacity())));
    }
    if (problems.isEmpty()) {
      return;
    }
    List<String> others = nearest(asked).stream().map(LayoutGrid::toString).toList();
    String remedy =
        !others.isEmpty()
            ? "; expected one that fits, e.g. " + String.join("; ", others)
            : divides
                ? """
                ; no layout of this machine fits: take fewer layers, a larger rank_level, or \
                a machine with more packages\
                """
                : "";
    throw new UsageException(String.join("; ", problems) + remedy);
  }

  private String word() {
    return level.name().toLowerCase(Locale.ROOT);
  }

  /** What is needed of the fullest rank, at least, and what it has; for a step only. */
  String estimate() {
    RankMemory.Need need = new RankMemory(setup, LayoutGrid.of(setup)).need();
    return "at least %s of %s of a rank: %s"
        .formatted(RankMemory.shown(need.all()), RankMemory.shown(capacity()), need.parts());
  }

  private boolean fits(LayoutGrid grid) {
    return setup.scope() != Scope.STEP || new RankMemory(setup, grid).need().all() <= capacity();
  }

  /** Memory of the PEs that a rank computes on. */
  long capacity() {
    int cubes = level == RankLevel.SIP && spread == Spread.ALL ? machine.cubesPerSip() : 1;
    int pes = level == RankLevel.PE || spread == Spread.LEAD ? 1 : machine.pesPerCube();
    return machine.hbm().sizeBytes() * cubes * pes;
  }

  /** Layouts that can be on the machine, the nearest first. */
  private List<LayoutGrid> nearest(LayoutGrid asked) {
    boolean steps = setup.scope() == Scope.STEP;
    int devices = level.devices(machine);
    int stages = steps ? Math.min(devices, setup.config().layers()) : 1;
    List<LayoutGrid> all = new ArrayList<>();
    for (int dp : divisors(setup.batch(), devices)) {
      for (int cp : List.of(asked.cp(), 1)) {
        for (int tp = 1; tp <= devices / dp / cp; tp++) {
          for (int pp = 1; pp <= Math.min(stages, devices / dp / cp / tp); pp++) {
            candidates(new LayoutGrid(tp, cp, dp, pp, asked.zero(), asked.recompute()), all);
          }
        }
      }
    }
    return all.stream()
        .distinct()
        .filter(grid -> !grid.equals(asked))
        .sorted(
            Comparator.comparingDouble((LayoutGrid grid) -> grid.distance(asked))
                .thenComparingLong(LayoutGrid::ranks)
                .thenComparingInt(LayoutGrid::pp))
        .limit(SHOWN)
        .toList();
  }

  private static List<Integer> divisors(int of, int most) {
    return IntStream.rangeClosed(1, Math.min(of, most)).filter(d -> of % d == 0).boxed().toList();
  }

  /** The layout if it can be, else with as little more divided, or made again, as it takes. */
  private void candidates(LayoutGrid grid, List<LayoutGrid> all) {
    if (!LayoutRules.broken(setup, grid).isEmpty()) {
      return;
    }
    boolean putsOff = setup.pipe().schedule().filter(Pipe::putsOff).isPresent();
    Recompute most = putsOff || setup.scope() != Scope.STEP ? grid.recompute() : Recompute.FULL;
    int zeros = setup.scope() == Scope.STEP && grid.dp() * grid.cp() > 1 ? 4 : 0;
    for (Recompute again :
        most == grid.recompute() ? List.of(most) : List.of(grid.recompute(), most)) {
      for (int z = grid.zero().ordinal(); z < Math.max(zeros, grid.zero().ordinal() + 1); z++) {
        LayoutGrid other =
            new LayoutGrid(grid.tp(), grid.cp(), grid.dp(), grid.pp(), Zero.values()[z], again);
        boolean divides = other.zero() != Zero.values()[0];
        if (setup.pipe().mayBe(other.pp(), again, divides, setup.config().layers())
            && fits(other)) {
          all.add(other);
          return;
        }
      }
    }
  }
}
