package org.kernbench.machine.spec;

import java.math.BigDecimal;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kernbench.sim.Rate;

/**
 * Packages of which some parts are slower than those of the others. Never faster, so that every
 * lower bound of the machine without it holds.
 *
 * @param first first package
 * @param last last package
 * @param factors what remains of the speed of a part: above 0, at most 1
 */
public record SlowPackage(int first, int last, Map<Part, BigDecimal> factors) {
  static final String FORM =
      """
      a package, or first-last, and what is left of the speed of its parts (hbm, links, \
      compute), e.g. "3 hbm 0.5" or "4-5 compute 0.8, links 0.25"\
      """;

  private static final Pattern TEXT =
      Pattern.compile("(\\d{1,6})(?:\\s*-\\s*(\\d{1,6}))?\\s+([a-z].*)");
  private static final Pattern FACTOR = Pattern.compile("([a-z]+)\\s+(\\d{1,3}(?:\\.\\d{1,9})?)");

  /** What of a package may be slow. */
  public enum Part {
    /** The rate of the HBM behind its controllers. */
    HBM,
    /** The rate of all links inside the package. */
    LINKS,
    /** The clocks of GEMM and MATH. */
    COMPUTE;

    /** Whether it is about links of a kind. */
    boolean slows(LinkKind kind) {
      return switch (kind) {
        case HBM_PORT -> this == HBM;
        case NOC, PE_TO_ROUTER, ROUTER_TO_PE, HBM_LINK, SRAM_LINK, M_CPU_LINK -> this == LINKS;
        case CUBE_TO_CUBE, CUBE_TO_IO -> this == LINKS;
        case SRAM_PORT, SIP_TO_SIP, SIP_TO_NIC, NIC, HOST_LINK -> false;
      };
    }
  }

  /**
   * Reads one.
   *
   * @throws IllegalArgumentException if the text has another form
   */
  public static SlowPackage parse(String text) {
    Matcher m = TEXT.matcher(text.trim());
    if (!m.matches()) {
      throw refused(text);
    }
    Map<Part, BigDecimal> factors = new EnumMap<>(Part.class);
    for (String one : m.group(3).split(",", -1)) {
      Matcher part = FACTOR.matcher(one.trim());
      if (!part.matches()) {
        throw refused(text);
      }
      BigDecimal factor = new BigDecimal(part.group(2));
      if (factor.signum() <= 0 || factor.compareTo(BigDecimal.ONE) > 0) {
        throw new IllegalArgumentException(
            """
            got %s in "%s"; expected what is left of the speed, above 0 and at most 1\
            """
                .formatted(part.group(2), text));
      }
      if (factors.put(part(part.group(1), text), factor) != null) {
        throw new IllegalArgumentException("got " + part.group(1) + " twice in \"" + text + "\"");
      }
    }
    int first = Integer.parseInt(m.group(1));
    return new SlowPackage(
        first, m.group(2) == null ? first : Integer.parseInt(m.group(2)), factors);
  }

  private static Part part(String word, String text) {
    for (Part part : Part.values()) {
      if (part.name().toLowerCase(Locale.ROOT).equals(word)) {
        return part;
      }
    }
    throw refused(text);
  }

  private static IllegalArgumentException refused(String text) {
    return new IllegalArgumentException("got \"" + text + "\"; expected " + FORM);
  }

  public boolean concerns(int sip) {
    return first <= sip && sip <= last;
  }

  public boolean slowsHbm() {
    return factors.containsKey(Part.HBM);
  }

  /** Rate and latency of a link of a kind in such a package. */
  public LinkSpec over(LinkKind kind, LinkSpec usual) {
    LinkSpec spec = usual;
    for (var each : factors.entrySet()) {
      if (each.getKey().slows(kind)) {
        long rate = scaled(usual.rate().bytesPerSecond(), each.getValue());
        spec = new LinkSpec(Rate.ofBytesPerSecond(rate), usual.latencyPs());
      }
    }
    return spec;
  }

  /** A PE of such a package. */
  public PeSpec over(PeSpec usual) {
    BigDecimal factor = factors.get(Part.COMPUTE);
    if (factor == null) {
      return usual;
    }
    GemmSpec gemm = usual.gemm();
    MathSpec math = usual.math();
    return new PeSpec(
        usual.cpu(),
        usual.dma(),
        math.atClock(scaled(math.clockHz(), factor)),
        gemm.atClock(scaled(gemm.clockHz(), factor)),
        usual.accelSlot(),
        usual.tcm(),
        usual.mmu());
  }

  private static long scaled(long value, BigDecimal factor) {
    return Math.max(1, BigDecimal.valueOf(value).multiply(factor).longValue());
  }

  /** As it would be written. */
  @Override
  public String toString() {
    StringBuilder s = new StringBuilder();
    factors.forEach((part, factor) ->
        s.append(s.isEmpty() ? "" : ", ")
            .append(part.name().toLowerCase(Locale.ROOT))
            .append(' ')
            .append(factor.toPlainString()));
    return (first == last ? "" + first : first + "-" + last) + " " + s;
  }
}
