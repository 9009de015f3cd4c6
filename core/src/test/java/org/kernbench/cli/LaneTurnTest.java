package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Copies between rows and lanes, which divided optimizers of whole packages need. */
final class LaneTurnTest {
  private static double ns(String rows, String operation) {
    return rows.lines()
        .filter(line -> line.startsWith(operation + " "))
        .mapToDouble(line -> Double.parseDouble(line.split(" +")[operation.split(" ").length + 1]))
        .findFirst()
        .orElseThrow();
  }

  /**
   * A bucket is one long row. As many bytes go to the lanes as come back, and all PEs can move them
   * either way, so the way back takes at most twice as long.
   */
  @Test
  void rowsOfBuckets_comeBackAboutAsQuicklyAsTheyGo() {
    Session run =
        Session.of(
            ("run train-step --mode time --quiet --param rank_level=sip --param spread=all"
                    + " --param sp=off --param tp=1 --param dp=2 --param zero=1 --param layers=1"
                    + " --param vocabulary=2048 --param overlap=off --param algorithm=ring"
                    + " --param rows=operations --set sip.cube_mesh.w=2 --set sip.cube_mesh.h=2")
                .split(" "));
    assertThat(run.exitCode()).as(run.err()).isZero();
    double go = ns(run.out(), "own gradients.*-to-lanes");
    assertThat(ns(run.out(), "own gradients.*-from-lanes")).isBetween(0.1, 2 * go);
    double back = ns(run.out(), "parameters.*-from-lanes");
    assertThat(back).isBetween(0.1, 2 * ns(run.out(), "parameters.*-to-lanes"));
  }
}
