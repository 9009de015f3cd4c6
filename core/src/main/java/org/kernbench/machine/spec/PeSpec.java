package org.kernbench.machine.spec;

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
    MmuSpec mmu) {}
