package org.kernbench.eval.explain;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.kernbench.machine.Machine;

/**
 * What a small change of one number of the machine does to the time of a run.
 *
 * <p>Computed from the critical path: each of its picoseconds was spent on a {@link
 * org.kernbench.device.log.Cost}, a function of the machine, so the path's length on the changed
 * machine is known without simulating it. That is the time there as long as the path stays
 * critical. The path can only be a lower bound otherwise: if another one becomes longer, the
 * simulated time is above the computed one, and the path is said to <em>switch</em>. So is one that
 * changes because transfers meet in another order.
 *
 * <p>No cost depends on the number of message slots, yet time does where a sender runs out of them:
 * the part of the path that goes round through a message and its credit shrinks as slots grow. It
 * is the same with the command window, where a kernel finds it full.
 *
 * @param parameter the number
 * @param more effect of the step up; empty if there is none
 * @param less effect of the step down; empty if there is none
 */
public record Sensitivity(
    MachineParameter parameter, Optional<Effect> more, Optional<Effect> less) {

  private static final String SLOTS = "ipcq.slots=";
  private static final String WINDOW = "pe.cpu.command_window=";
  private static final double ABOUT = 0.005; // 253 B instead of 256 B is one percent

  /**
   * The effect of one step.
   *
   * @param step the change
   * @param computedPs change of the time, computed from the path, picoseconds
   * @param simulatedPs change of the time in a simulation of the changed machine; empty if none was
   *     made
   * @param samePath whether the critical path of that simulation goes through the same operations
   *     for the same causes at the same places
   */
  public record Effect(
      MachineParameter.Step step, long computedPs, OptionalLong simulatedPs, boolean samePath) {
    /** Whether the simulation says the same, within 5 % and a few roundings. */
    public boolean agrees(long timePs) {
      if (simulatedPs.isEmpty()) {
        return true;
      }
      long simulated = simulatedPs.getAsLong();
      double allowed = 0.05 * Math.abs(simulated) + 2 + timePs * 1e-6;
      return Math.abs(computedPs - simulated) <= allowed;
    }

    /** Whether the step is one percent: counts and some sizes can only jump farther. */
    public boolean isOnePercent() {
      return Math.abs(Math.abs(step.change()) - 0.01) < ABOUT;
    }

    Effect simulated(long ps, boolean onSamePath) {
      return new Effect(step, computedPs, OptionalLong.of(ps), onSamePath);
    }
  }

  /** What a simulation says of a computed effect. */
  public enum Verdict {
    /** What was computed, within 5 % and a few roundings. */
    AGREES("within 5 %"),
    /** Something else, because another path is critical or transfers meet in another order. */
    SWITCHES("the path switches"),
    /** Something else on the same path. */
    DIFFERS("differs on the same path");

    private final String words;

    Verdict(String words) {
      this.words = words;
    }

    /** As reports say it. */
    public String words() {
      return words;
    }
  }

  /** Runs again what is explained, on a changed machine. */
  public interface Simulation {
    /**
     * Simulates the run with one more override of the machine.
     *
     * @return its time and its critical path, if that is known; empty if it does not run there
     */
    Optional<Changed> with(String override);
  }

  /**
   * A run on a changed machine.
   *
   * @param timePs its time in picoseconds
   * @param path its critical path
   */
  public record Changed(long timePs, Optional<Breakdown> path) {}

  /** Sensitivities to all numbers of the machine that a breakdown belongs to, the largest first. */
  public static List<Sensitivity> of(Machine machine, Breakdown breakdown) {
    List<Sensitivity> all = new ArrayList<>();
    for (MachineParameter p : MachineParameter.of(machine)) {
      all.add(
          new Sensitivity(
              p, p.more().map(s -> effect(breakdown, s)), p.less().map(s -> effect(breakdown, s))));
    }
    all.sort(
        Comparator.comparingDouble(Sensitivity::strength)
            .reversed()
            .thenComparing(s -> s.parameter().path()));
    return all;
  }

  private static Effect effect(Breakdown breakdown, MachineParameter.Step step) {
    long ps = breakdown.lengthOn(step.machine()) - breakdown.totalPs();
    if (step.override().startsWith(SLOTS) && breakdown.hasSlotsOfTheMachine()) {
      ps += Math.round(breakdown.slotLimitedPs() * (1 / (1 + step.change()) - 1));
    }
    if (step.override().startsWith(WINDOW)) {
      ps += Math.round(breakdown.windowLimited().ps() * (1 / (1 + step.change()) - 1));
    }
    return new Effect(step, ps, OptionalLong.empty(), true);
  }

  /**
   * What computed effects leave out on a machine, as a sentence; empty if nothing. Room in finite
   * buffers comes back by credits, and banks are opened and closed, between the costs of a path:
   * numbers on which that depends move it by something else.
   */
  public static Optional<String> leftOut(Machine machine) {
    List<String> what = new ArrayList<>();
    if (machine.fabric().isBuffered()) {
      what.add("waiting for room in finite buffers");
    }
    if (machine.hbm().isBanked()) {
      what.add("what banks of HBM do");
    }
    return what.isEmpty()
        ? Optional.empty()
        : Optional.of(
            "%s does not change in computed effects, whatever it depends on; --verify-sensitivities simulates them"
                .formatted(String.join(", and ", what)));
  }

  /** With both effects simulated. */
  public Sensitivity verified(Breakdown breakdown, Simulation simulation) {
    return new Sensitivity(
        parameter,
        more.map(e -> simulated(e, breakdown, simulation)),
        less.map(e -> simulated(e, breakdown, simulation)));
  }

  private static Effect simulated(Effect effect, Breakdown breakdown, Simulation simulation) {
    return simulation
        .with(effect.step().override())
        .map(c ->
            effect.simulated(
                c.timePs() - breakdown.totalPs(),
                c.path().map(p -> p.shape() == breakdown.shape()).orElse(false)))
        .orElse(effect);
  }

  /**
   * What the simulations say; empty if none was made. Another count or size cuts what goes along a
   * path otherwise, even where its operations are the same, which counts as another path.
   *
   * @param timePs time of the run
   */
  public Optional<Verdict> verdict(Effect effect, long timePs) {
    if (effect.simulatedPs().isEmpty()) {
      return Optional.empty();
    }
    if (effect.agrees(timePs)) {
      return Optional.of(Verdict.AGREES);
    }
    boolean cutsOtherwise =
        parameter.kind() == MachineParameter.Kind.COUNT
            || parameter.kind() == MachineParameter.Kind.SIZE;
    boolean same = effect.samePath() && !cutsOtherwise;
    return Optional.of(same ? Verdict.DIFFERS : Verdict.SWITCHES);
  }

  /** The larger of the two effects, per one percent of the value where it has one. */
  double strength() {
    return Math.max(
        more.map(Sensitivity::perPercent).orElse(0.0),
        less.map(Sensitivity::perPercent).orElse(0.0));
  }

  private static double perPercent(Effect e) {
    double percent = Math.abs(e.step().change()) * 100;
    return Math.abs(e.computedPs()) / (percent == 0 ? 100 : Math.max(1, percent));
  }
}
