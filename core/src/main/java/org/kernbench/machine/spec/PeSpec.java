package org.kernbench.machine.spec;

import org.kernbench.config.ConfigMap;

/**
 * A processing element.
 *
 * @param cpu issues commands
 * @param dma moves data
 * @param math works on vectors
 * @param gemm multiplies matrices
 * @param accelSlot whether gemm and math exclude each other
 * @param tcm scratch memory
 * @param mmu translates addresses
 */
public record PeSpec(
    CpuSpec cpu,
    DmaSpec dma,
    MathSpec math,
    GemmSpec gemm,
    AccelSlot accelSlot,
    TcmSpec tcm,
    MmuSpec mmu) {
  /** Reads {@code pe}. */
  public static PeSpec read(ConfigMap map) {
    PeSpec spec =
        new PeSpec(
            CpuSpec.read(map.map("cpu")),
            DmaSpec.read(map.map("dma")),
            MathSpec.read(map.map("math")),
            GemmSpec.read(map.map("gemm")),
            map.choice("accel_slot", AccelSlot.values()),
            TcmSpec.read(map.map("tcm")),
            MmuSpec.read(map.map("mmu")));
    map.done();
    return spec;
  }
}
