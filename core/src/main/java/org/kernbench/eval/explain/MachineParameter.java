package org.kernbench.eval.explain;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.kernbench.config.ConfigException;
import org.kernbench.config.Quantity;
import org.kernbench.machine.Machine;

/**
 * A number in a machine's configuration that can be a little more or a little less without the
 * machine being another one: bandwidths, latencies, clocks, sizes, and counts of what it has in
 * parallel. Numbers of packages, cubes, PEs and routers are none: with another number the program
 * is another.
 *
 * @param path as {@code --set} takes it, such as {@code sip.links.cube_to_cube.bandwidth}
 * @param value as the configuration says it
 * @param kind what it is
 * @param more a step up; empty if the machine would refuse it
 * @param less a step down; empty if the machine would refuse it
 */
public record MachineParameter(
    String path, String value, Kind kind, Optional<Step> more, Optional<Step> less) {
  private static final BigDecimal PERCENT = new BigDecimal("0.01");
  private static final List<String> STRUCTURE =
      List.of(
          "system.sips.",
          "system.nodes.packages",
          "system.nodes.nics",
          "sip.cube_mesh.",
          "cube.noc.w",
          "cube.noc.h",
          "cube.pe_layout.");

  /** What a number counts. */
  public enum Kind {
    /** Bytes per second. */
    BANDWIDTH,
    /** Seconds. */
    LATENCY,
    /** Cycles per second. */
    CLOCK,
    /** Bytes. */
    SIZE,
    /** A part of one. */
    FRACTION,
    /** How many there are. */
    COUNT
  }

  /**
   * A change of the value.
   *
   * @param override {@code path=value}
   * @param change of the value, as a fraction of it; 0 if it was 0
   * @param machine with that value
   */
  public record Step(String override, double change, Machine machine) {}

  /**
   * The numbers of a machine, in the order of their paths. A step is 1 % or, where the value only
   * takes whole numbers or powers of two, the smallest that the machine allows.
   */
  public static List<MachineParameter> of(Machine machine) {
    List<MachineParameter> all = new ArrayList<>();
    for (String line : machine.configText().split("\n")) {
      int equals = line.indexOf('=');
      String path = line.substring(0, equals);
      String text = line.substring(equals + 1);
      boolean size = path.startsWith("system.network[") && path.endsWith(".size");
      boolean share = path.endsWith(".reduction_efficiency"); // of a switch, beside its structure
      if (share || (!size && STRUCTURE.stream().noneMatch(path::startsWith))) {
        parse(text).ifPresent(n -> all.add(parameter(machine, path, text, n)));
      }
    }
    return all;
  }

  /** A number and how it is written: in whole base units, or as a plain number. */
  private record Number(BigDecimal value, Kind kind, Optional<Quantity> quantity) {
    String text(BigDecimal other) {
      return quantity
          .map(q -> q.format(other.longValueExact()))
          .orElse(other.stripTrailingZeros().toPlainString());
    }

    /** Digits after the point that it may have. */
    int scale() {
      return kind == Kind.FRACTION ? 9 : 0;
    }
  }

  private static Optional<Number> parse(String text) {
    for (Quantity q : Quantity.values()) {
      try {
        return Optional.of(new Number(BigDecimal.valueOf(q.parse(text)), kind(q), Optional.of(q)));
      } catch (IllegalArgumentException e) {
        // not of this quantity
      }
    }
    if (!text.matches("\\d+(\\.\\d+)?")) {
      return Optional.empty();
    }
    Kind kind = text.contains(".") ? Kind.FRACTION : Kind.COUNT;
    return Optional.of(new Number(new BigDecimal(text), kind, Optional.empty()));
  }

  private static Kind kind(Quantity q) {
    return switch (q) {
      case BANDWIDTH -> Kind.BANDWIDTH;
      case TIME -> Kind.LATENCY;
      case FREQUENCY -> Kind.CLOCK;
      case SIZE -> Kind.SIZE;
    };
  }

  private static MachineParameter parameter(
      Machine machine, String path, String text, Number number) {
    return new MachineParameter(
        path,
        text,
        number.kind(),
        step(machine, path, number, true),
        step(machine, path, number, false));
  }

  /** Tries one percent, then twice or half as much. */
  private static Optional<Step> step(Machine machine, String path, Number n, boolean up) {
    BigDecimal value = n.value();
    if (value.signum() == 0) {
      BigDecimal one = n.kind() == Kind.LATENCY ? BigDecimal.valueOf(1000) : BigDecimal.ONE;
      return up ? step(machine, path, n, one) : Optional.empty();
    }
    BigDecimal hundredth = value.multiply(PERCENT).setScale(n.scale(), RoundingMode.HALF_UP);
    BigDecimal least = BigDecimal.ONE.movePointLeft(n.scale());
    BigDecimal by = hundredth.max(least);
    Optional<Step> small = step(machine, path, n, up ? value.add(by) : value.subtract(by));
    return small.isPresent() || n.kind() == Kind.FRACTION
        ? small
        : step(machine, path, n, up ? value.add(value) : half(value));
  }

  private static BigDecimal half(BigDecimal value) {
    BigInteger[] parts = value.toBigInteger().divideAndRemainder(BigInteger.TWO);
    return parts[1].signum() == 0 ? new BigDecimal(parts[0]) : BigDecimal.ZERO;
  }

  private static Optional<Step> step(Machine machine, String path, Number n, BigDecimal to) {
    if (to.signum() <= 0) {
      return Optional.empty();
    }
    String override = path + "=" + n.text(to);
    try {
      Machine other = machine.with(List.of(override));
      boolean alike =
          other.linkCount() == machine.linkCount()
              && other.nodeCount() == machine.nodeCount()
              && other.peCount() == machine.peCount();
      double change =
          n.value().signum() == 0
              ? 0
              : to.subtract(n.value()).doubleValue() / n.value().doubleValue();
      return alike ? Optional.of(new Step(override, change, other)) : Optional.empty();
    } catch (ConfigException e) {
      return Optional.empty();
    }
  }
}
