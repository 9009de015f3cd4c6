package org.kernbench.eval;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.kernbench.device.Mode;

/**
 * What a user chose for a run.
 *
 * @param topology preset or YAML file of the machine; empty for the bench's own or the default one
 * @param overrides {@code path=value} over the machine's configuration
 * @param ccl collective configuration; empty for the one that comes with kernbench
 * @param cclOverrides {@code path=value} over the collective configuration
 * @param params {@code name=value} for the bench
 * @param mode what the run computes
 * @param verify whether to run in all modes and compare them
 * @param check whether to look for races, unwritten memory and lost messages
 * @param point the only point to run, by name or by number from 1, of a bench of several; empty for
 *     all
 * @param folding whether one package may stand for all
 * @param reuse whether what came of a launch may stand for others that do the same
 */
public record RunOptions(
    Optional<String> topology,
    List<String> overrides,
    Optional<Path> ccl,
    List<String> cclOverrides,
    List<String> params,
    Mode mode,
    boolean verify,
    boolean check,
    Optional<String> point,
    Folding folding,
    Reuse reuse) {
  /** The default machine and configuration, in mode {@code full}. */
  public static final RunOptions DEFAULT =
      new RunOptions(
          Optional.empty(), List.of(), Optional.empty(), List.of(), List.of(), Mode.FULL, false);

  /** Options of a run of all points that is not checked. */
  public RunOptions(
      Optional<String> topology,
      List<String> overrides,
      Optional<Path> ccl,
      List<String> cclOverrides,
      List<String> params,
      Mode mode,
      boolean verify) {
    this(
        topology,
        overrides,
        ccl,
        cclOverrides,
        params,
        mode,
        verify,
        false,
        Optional.empty(),
        Folding.OFF,
        Reuse.OFF);
  }

  /** Copies the lists. */
  public RunOptions {
    overrides = List.copyOf(overrides);
    cclOverrides = List.copyOf(cclOverrides);
    params = List.copyOf(params);
  }

  /** A copy with another machine. */
  public RunOptions withTopology(String presetOrPath) {
    return new RunOptions(
        Optional.of(presetOrPath),
        overrides,
        ccl,
        cclOverrides,
        params,
        mode,
        verify,
        check,
        point,
        folding,
        reuse);
  }

  /** A copy with overrides of the machine. */
  public RunOptions withOverrides(List<String> newOverrides) {
    return new RunOptions(
        topology,
        newOverrides,
        ccl,
        cclOverrides,
        params,
        mode,
        verify,
        check,
        point,
        folding,
        reuse);
  }

  /** A copy with overrides of the collective configuration. */
  public RunOptions withCclOverrides(List<String> newOverrides) {
    return new RunOptions(
        topology, overrides, ccl, newOverrides, params, mode, verify, check, point, folding, reuse);
  }

  /** A copy with parameters of the bench. */
  public RunOptions withParams(List<String> newParams) {
    return new RunOptions(
        topology,
        overrides,
        ccl,
        cclOverrides,
        newParams,
        mode,
        verify,
        check,
        point,
        folding,
        reuse);
  }

  /** A copy with another mode. */
  public RunOptions withMode(Mode newMode) {
    return new RunOptions(
        topology,
        overrides,
        ccl,
        cclOverrides,
        params,
        newMode,
        verify,
        check,
        point,
        folding,
        reuse);
  }

  /** A copy whose execution is checked, or not. */
  public RunOptions withCheck(boolean checked) {
    return new RunOptions(
        topology,
        overrides,
        ccl,
        cclOverrides,
        params,
        mode,
        verify,
        checked,
        point,
        folding,
        reuse);
  }

  /** A copy that runs one point of a bench of several. */
  public RunOptions withPoint(String nameOrNumber) {
    return new RunOptions(
        topology,
        overrides,
        ccl,
        cclOverrides,
        params,
        mode,
        verify,
        check,
        Optional.of(nameOrNumber),
        folding,
        reuse);
  }

  /** A copy that folds, or does not. */
  public RunOptions withFolding(Folding newFolding) {
    return new RunOptions(
        topology,
        overrides,
        ccl,
        cclOverrides,
        params,
        mode,
        verify,
        check,
        point,
        newFolding,
        reuse);
  }

  /** A copy that uses again what came of launches, or does not. */
  public RunOptions withReuse(Reuse newReuse) {
    return new RunOptions(
        topology,
        overrides,
        ccl,
        cclOverrides,
        params,
        mode,
        verify,
        check,
        point,
        folding,
        newReuse);
  }
}
