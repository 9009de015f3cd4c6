package org.kernbench.eval;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A critical path in a few sentences. */
public final class Why {
  private static final int MOST_SENTENCES = 3;
  private static final double ENOUGH = 0.75;

  private Why() {}

  /**
   * Sentences on the causes that took most of the time, the largest first: at most three, fewer if
   * they cover three quarters of it. Empty if the time is 0.
   */
  public static List<String> of(Breakdown path) {
    List<String> sentences = new ArrayList<>();
    double covered = 0;
    for (Breakdown.Share share : path.shares()) {
      if (sentences.size() == MOST_SENTENCES || covered >= ENOUGH) {
        break;
      }
      sentences.add(sentence(path, share));
      covered += share.share();
    }
    return sentences;
  }

  /** The resource on which a cause took most time, and how often. */
  private record Most(String resource, long ps, int times) {}

  private static String sentence(Breakdown path, Breakdown.Share share) {
    Map<String, Most> byResource = new LinkedHashMap<>();
    for (Segment s : path.segments()) {
      if (s.cause().equals(share.cause())) {
        byResource.merge(
            s.resource(),
            new Most(s.resource(), s.ps(), 1),
            (a, b) -> new Most(a.resource, a.ps + b.ps, a.times + 1));
      }
    }
    Most most = byResource.values().stream().max(Comparator.comparingLong(Most::ps)).orElseThrow();
    String percent = String.format(Locale.ROOT, "%.0f %% of the time ", 100 * share.share());
    String amount = String.format(Locale.ROOT, "%,.3f ns", Numbers.ns(most.ps()));
    String where = most.ps() == share.ps() ? "all " : "most ";
    String times = most.times() == 1 ? "once" : most.times() + " times";
    return percent
        + switch (share.cause()) {
          case "latency" ->
              "bytes were on their way, " + where + thing(most) + ", " + times + ": " + amount;
          case "serialisation" ->
              "bytes entered links or memories one after the other, "
                  + where
                  + thing(most)
                  + ": "
                  + amount;
          case "contention" ->
              "transfers waited behind others, " + where + thing(most) + ": " + amount;
          case "compute" ->
              "went into computing, " + where + thing(most) + ": " + amount + ", " + times;
          case "credit return" ->
              "senders that had used all their slots waited for credits, " + times + ": " + amount;
          case "flow control" ->
              "flits waited for credits or turns, " + where + thing(most) + ": " + amount;
          case "DMA setup" -> "went into setting up DMAs, " + times + ": " + amount;
          case "message overhead" -> "went into starting messages, " + times + ": " + amount;
          case "command issue" -> "a CPU was issuing commands: " + amount;
          case "slot access" -> "messages were copied into or out of slots: " + amount;
          case "address translation" -> "addresses were translated, " + times + ": " + amount;
          default -> "is " + share.cause() + ", " + where + thing(most) + ": " + amount;
        };
  }

  private static String thing(Most most) {
    return switch (most.resource()) {
      case "hbm_port" -> "in HBM";
      case "sram_port" -> "in SRAM";
      case "MATH", "GEMM", "CPU", "DMA" -> "by " + most.resource();
      case "slots" -> "at message slots";
      case "host" -> "at the host";
      default -> "on links " + most.resource();
    };
  }
}
