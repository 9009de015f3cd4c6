package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.RankLevel;

/**
 * The predecessor's published all-reduce times on its machine, preset {@code kb-compat}: 6 packages
 * of 16 cubes on a 3x2 torus. One constant of the preset, the latency of the package link, is
 * fitted to them; it cannot bend a slope, an intercept of another slot kind, or a step of the
 * additions.
 */
class PredecessorTest {
  private static final double ALL_POINTS_NS = 0.001;

  /** Of what was published in microseconds with one decimal. */
  private static final double TOLERANCE = 0.005;

  private static final List<String> FIRST_SLOT_TABLE =
      List.of(
          "ipcq.serial_cost.sram.bandwidth=128 GB/s",
          "ipcq.serial_cost.sram.bank_bandwidth=none",
          "ipcq.serial_cost.hbm.bandwidth=32 GB/s",
          "ipcq.serial_cost.hbm.bank_bandwidth=none");

  @ParameterizedTest
  @CsvFileSource(resources = "/reference/predecessor-allreduce.csv", useHeadersInDisplayName = true)
  void fullVector_publishedPoint_isMet(
      String slotTable, String bufferKind, int bytesPerPe, double publishedNs, String source) {
    List<String> overrides = new ArrayList<>(slotTable.equals("v1") ? FIRST_SLOT_TABLE : List.of());
    overrides.add("ipcq.buffer_kind=" + bufferKind);
    double ns = allReduceNs(overrides, "root_center", bytesPerPe);
    assertThat(ns).as(source).isCloseTo(publishedNs, within(ALL_POINTS_NS));
  }

  @Test
  void fullVector_96KiBInTcm_takesThePublished17Microseconds() {
    double ns = allReduceNs(List.of(), "root_center", 98_304);
    assertThat(ns).isCloseTo(17_200, within(17_200 * TOLERANCE));
  }

  @Test
  void pipelined_96KiBInTcm_takesLessThanHalf() {
    double fullVector = allReduceNs(List.of(), "root_center", 98_304);
    double pipelined = allReduceNs(List.of(), "root_center_pipelined", 98_304);
    assertThat(pipelined).isLessThan(fullVector / 2);
  }

  @Test
  void page_whatPipeliningIsWorth_isWhatIsSimulated() throws IOException {
    Path page = Path.of(System.getProperty("basedir", "."), "../docs/validation/predecessor.md");
    String text = Files.readString(page);
    for (String algorithm : List.of("root_center", "root_center_pipelined")) {
      double us = allReduceNs(List.of(), algorithm, 98_304) / 1e3;
      assertThat(text).contains(String.format(Locale.ROOT, "(`%s`) | %.2f µs |", algorithm, us));
    }
    double corner = allReduceNs(List.of(), "root_center", 98_304, "root_center.root=corner") / 1e3;
    assertThat(text).contains(String.format(Locale.ROOT, "(`root=corner`) | %.2f µs |", corner));
    assertThat(corner).isBetween(22.0 * 0.97, 22.0);
    Machine machine = Machines.load("kb-compat", List.of());
    Bounds.Bound bound = Bounds.allReduce(machine, Bed.leads(machine, RankLevel.CUBE, 96), 98_304);
    assertThat(text)
        .contains(
            String.format(
                Locale.ROOT, "| lower bound | %.2f µs | %s |", bound.ps() / 1e6, bound.kind()));
  }

  private static double allReduceNs(
      List<String> overrides, String algorithm, int bytesPerPe, String... settings) {
    Machine machine = Machines.load("kb-compat", overrides);
    List<String> all = new ArrayList<>(List.of("defaults.algorithm=" + algorithm));
    for (String setting : settings) {
      all.add("algorithms." + setting);
    }
    CclConfig config = CclConfig.load(Optional.empty(), all);
    TorchOptions options =
        TorchOptions.DEFAULT
            .withMode(Mode.TIME)
            .withCollectives(CollectiveLibrary.open(machine, config));
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup("ahbm");
      torch
          .multiprocessing()
          .spawn(
              worker ->
                  worker
                      .distributed()
                      .allReduce(
                          worker
                              .torch()
                              .zeros(Shape.of(bytesPerPe / 2), DType.F16, "x" + worker.rank())),
              torch.distributed().getWorldSize());
      return torch.distributed().history().getLast().launch().criticalPs() / 1e3;
    }
  }
}
