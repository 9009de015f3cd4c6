package org.kernbench.machine.spec;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kernbench.config.Quantity;
import org.kernbench.sim.Rate;

/**
 * A link between two packages that is not as the others: slower, farther, or dead.
 *
 * @param from package it leaves, or {@link #switchOf} a dimension
 * @param to package it enters, or {@link #switchOf} a dimension
 * @param both whether the link back is so as well
 * @param dead whether nothing can pass; routes then go round it
 * @param rate if it differs
 * @param latencyPs if it differs
 */
public record LinkOverride(
    int from, int to, boolean both, boolean dead, Optional<Rate> rate, OptionalLong latencyPs) {
  static final String FORM =
      """
      two packages and what is different, e.g. "0-1 50 GB/s", "2->3 dead" (that direction only) \
      or "4-5 100 GB/s, 400 ns"\
      """;

  private static final String SWITCH = "switch";

  private static final Pattern TEXT =
      Pattern.compile("(\\d{1,6}|switch\\d{0,2})\\s*(->|-)\\s*(\\d{1,6}|switch\\d{0,2})\\s+(.+)");

  /** Which link it is about, alike for the same in both directions from either end. */
  public List<Object> which() {
    return both ? List.of(Math.min(from, to), Math.max(from, to), true) : List.of(from, to, false);
  }

  /**
   * Reads one.
   *
   * @throws IllegalArgumentException if the text has another form
   */
  public static LinkOverride parse(String text) {
    Matcher m = TEXT.matcher(text.trim());
    if (!m.matches()) {
      throw new IllegalArgumentException("got \"" + text + "\"; expected " + FORM);
    }
    boolean dead = false;
    Optional<Rate> rate = Optional.empty();
    OptionalLong latency = OptionalLong.empty();
    for (String part : m.group(4).split(",", -1)) {
      String value = part.trim();
      if (value.equals("dead")) {
        dead = true;
      } else if (value.endsWith("/s")) {
        rate = Optional.of(Rate.ofBytesPerSecond(Quantity.BANDWIDTH.parse(value)));
      } else {
        latency = OptionalLong.of(Quantity.TIME.parse(value));
        if (latency.getAsLong() < 1) {
          throw new IllegalArgumentException("got \"" + value + "\"; expected at least 1 ps");
        }
      }
    }
    return new LinkOverride(
        end(m.group(1)), end(m.group(3)), m.group(2).equals("-"), dead, rate, latency);
  }

  /** The end of a link that is the switch of a dimension. */
  public static int switchOf(int dimension) {
    return -1 - dimension;
  }

  private static int end(String text) {
    if (!text.startsWith(SWITCH)) {
      return Integer.parseInt(text);
    }
    String dimension = text.substring(SWITCH.length());
    return switchOf(dimension.isEmpty() ? 0 : Integer.parseInt(dimension));
  }

  private static String end(int end) {
    return end >= 0 ? String.valueOf(end) : SWITCH + (-1 - end);
  }

  /** What is said here, of a link with other ends. */
  public LinkOverride between(int otherFrom, int otherTo) {
    return new LinkOverride(otherFrom, otherTo, both, dead, rate, latencyPs);
  }

  /** The dimension of the switch at one end; negative without one. */
  public int switchDimension() {
    return -1 - Math.min(from, to);
  }

  /** Whether one end is a switch. */
  public boolean isAtSwitch() {
    return from < 0 || to < 0;
  }

  /** As it is written in a configuration. */
  @Override
  public String toString() {
    List<String> what = new ArrayList<>();
    rate.ifPresent(r -> what.add(Quantity.BANDWIDTH.format(r.bytesPerSecond())));
    latencyPs.ifPresent(ps -> what.add(Quantity.TIME.format(ps)));
    String way = both ? "-" : "->";
    return "%s%s%s %s".formatted(end(from), way, end(to), dead ? "dead" : String.join(", ", what));
  }

  /** Whether it speaks of the link from one package to another. */
  public boolean concerns(int fromSip, int toSip) {
    return (from == fromSip && to == toSip) || (both && from == toSip && to == fromSip);
  }

  public LinkSpec over(LinkSpec usual) {
    return new LinkSpec(rate.orElse(usual.rate()), latencyPs.orElse(usual.latencyPs()));
  }
}
