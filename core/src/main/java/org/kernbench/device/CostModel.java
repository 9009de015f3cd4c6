package org.kernbench.device;

import org.kernbench.machine.GemmSpec;
import org.kernbench.machine.MathRate;
import org.kernbench.machine.MathSpec;
import org.kernbench.machine.PeSpec;
import org.kernbench.sim.Rate;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.UnaryOp;

/**
 * What a compute command costs. A pure function of the command and the machine; no data.
 *
 * <p>MATH: {@code start-up + ceil(output bytes / lane bytes) x slowdown} cycles, and not below the
 * time in which TCM can move the operands and the result. GEMM: the systolic formula of {@code
 * gemm.md} 2.2 (D7), output stationary, one fold per rows x columns of outputs.
 */
final class CostModel {
  private static final Rate PS_PER_SECOND = Rate.ofBytesPerSecond(1_000_000_000_000L);

  private final MathSpec math;
  private final GemmSpec gemm;
  private final Rate mathClock;
  private final Rate gemmClock;
  private final int divide;
  private final int squareRoot;
  private final int transcendental;

  CostModel(PeSpec pe) {
    this.math = pe.math();
    this.gemm = pe.gemm();
    this.mathClock = Rate.ofBytesPerSecond(math.clockHz());
    this.divide = math.slowdown().getOrDefault(MathRate.DIVIDE, 1);
    this.squareRoot = math.slowdown().getOrDefault(MathRate.SQUARE_ROOT, 1);
    this.transcendental = math.slowdown().getOrDefault(MathRate.TRANSCENDENTAL, 1);
    this.gemmClock = Rate.ofBytesPerSecond(gemm.clockHz());
  }

  long durationPs(ComputeOp op) {
    return switch (op) {
      case ComputeOp.Binary b -> mathPs((long) b.n() * b.type().sizeBytes(), 3, slowdown(b.op()));
      case ComputeOp.BinaryScalar b ->
          mathPs((long) b.n() * b.type().sizeBytes(), 2, slowdown(b.op()));
      case ComputeOp.Unary u -> mathPs((long) u.n() * u.type().sizeBytes(), 2, slowdown(u.op()));
      case ComputeOp.Reduce r ->
          mathPs((long) r.outer() * r.length() * r.inner() * r.type().sizeBytes(), 1, 1);
      case ComputeOp.Cast c ->
          mathPs((long) c.n() * Math.max(c.from().sizeBytes(), c.to().sizeBytes()), 2, 1);
      case ComputeOp.Fill f -> mathPs((long) f.n() * f.type().sizeBytes(), 1, 1);
      case ComputeOp.Gemm g -> gemmPs(g);
    };
  }

  /**
   * @param streams how many times {@code bytes} cross the TCM port
   */
  private long mathPs(long bytes, int streams, int slowdown) {
    long lanes = math.lanesBytesPerCycle();
    long cycles = math.startupCycles() + Math.ceilDiv(bytes, lanes) * slowdown;
    long compute = mathClock.durationPs(cycles);
    return math.operandRate().isPresent()
        ? Math.max(compute, math.operandRate().get().durationPs(streams * bytes))
        : compute;
  }

  private int slowdown(BinaryOp op) {
    return switch (op) {
      case ADD, SUB, MUL, MAXIMUM, MINIMUM, AND, OR, XOR, SHL, SHR -> 1;
      case DIV, REM -> divide;
      case POW -> transcendental;
    };
  }

  private int slowdown(UnaryOp op) {
    return switch (op) {
      case NEG, ABS, RELU, FLOOR, CEIL, NOT -> 1;
      case RECIPROCAL -> divide;
      case SQRT, RSQRT -> squareRoot;
      case EXP, EXP2, LOG, LOG2, SIGMOID, SILU, TANH, GELU, GELU_TANH, ERF, SIN, COS ->
          transcendental;
    };
  }

  private long gemmPs(ComputeOp.Gemm g) {
    long folds =
        Math.ceilDiv((long) g.m(), gemm.rows()) * Math.ceilDiv((long) g.n(), gemm.columns());
    long fill = gemm.rows() + gemm.columns() - 2L;
    long cycles =
        switch (gemm.mode()) {
          case FILLED -> folds * (g.k() + fill) - 1;
          case CHAINED -> folds * g.k() + fill;
        };
    return gemmClock.durationPs(Math.max(1, cycles));
  }

  /** Useful multiply-accumulates over those the array could have done in the time, 0 to 1. */
  static double utilisation(ComputeOp.Gemm g, GemmSpec spec, long durationPs) {
    double macs = (double) g.m() * g.n() * g.k();
    double cycles = durationPs * (double) spec.clockHz() / PS_PER_SECOND.bytesPerSecond();
    return macs / (cycles * spec.rows() * spec.columns());
  }
}
