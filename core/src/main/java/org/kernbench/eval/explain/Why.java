package org.kernbench.eval.explain;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.LinkKind;

/** A critical path in a few sentences. */
public final class Why {
  private static final int MOST_SENTENCES = 3;
  private static final double ENOUGH = 0.75;
  private static final Pattern SIP_LINK = Pattern.compile("sip(\\d+)\\.io.*->sip(\\d+)\\.io.*");
  private static final double WORTH_SAYING = 0.1;

  private Why() {}

  /**
   * Sentences on the causes that took most of the time, the largest first: at most three, fewer if
   * they cover three quarters of it; then what is said of the whole. Empty if the time is 0.
   */
  public static List<String> of(Breakdown path) {
    List<String> sentences = new ArrayList<>();
    Optional<String> window = window(path);
    int causes = MOST_SENTENCES - (window.isPresent() ? 1 : 0);
    double covered = 0;
    for (Breakdown.Share share : path.shares()) {
      if (sentences.size() >= causes || covered >= ENOUGH) {
        break;
      }
      sentences.add(sentence(path, share));
      covered += share.share();
    }
    window.ifPresent(sentences::add);
    detour(path).ifPresent(sentences::add);
    return sentences;
  }

  /** The messages on the path that went round a dead link, if there are any. */
  private static Optional<String> detour(Breakdown path) {
    Machine machine = path.machine();
    if (machine.unequalSipLinks().stream().noneMatch(link -> link.endsWith("dead"))) {
      return Optional.empty();
    }
    Machine whole = machine.with(List.of("system.sips.links=alike"));
    Map<Integer, List<int[]>> hops = new LinkedHashMap<>();
    for (Segment s : path.segments()) {
      Matcher link = SIP_LINK.matcher(s.place());
      if (s.cause() == PathCause.LATENCY && link.matches()) {
        int[] ends = {Integer.parseInt(link.group(1)), Integer.parseInt(link.group(2))};
        hops.computeIfAbsent(s.op(), op -> new ArrayList<>()).add(ends);
      }
    }
    String first = "";
    int times = 0;
    for (List<int[]> way : hops.values()) {
      int usual = hops(whole, way.getFirst()[0], way.getLast()[1]);
      if (way.size() > usual) {
        times++;
        first =
            first.isEmpty()
                ? "from sip%s to sip%s over %s links between packages instead of %s"
                    .formatted(way.getFirst()[0], way.getLast()[1], way.size(), usual)
                : first;
      }
    }
    return times == 0
        ? Optional.empty()
        : Optional.of(
            "%s on this path went round a dead link, %s"
                .formatted(times == 1 ? "one message" : times + " messages", first));
  }

  private static int hops(Machine machine, int from, int to) {
    int count = 0;
    for (int link : machine.route(new Pe(from, 0, 0), new Pe(to, 0, 0)).links()) {
      count += machine.linkKind(link) == LinkKind.SIP_TO_SIP ? 1 : 0;
    }
    return count;
  }

  /**
   * That kernels were held up by their full command window, if that was a tenth of the time: the
   * shares of the path say what the commands in the window took, but not that a larger one would
   * have let more of them go on at once.
   */
  static Optional<String> window(Breakdown path) {
    CriticalPath.Held held = path.windowLimited();
    double share = held.ps() / (double) Math.max(1, path.totalPs());
    if (share < WORTH_SAYING) {
      return Optional.empty();
    }
    return Optional.of(
        String.format(
            Locale.ROOT,
            """
            all in all, %.0f %% of the time a kernel was held up by its full command window; \
            pe.cpu.command_window is %d: with a larger one more commands go on at once\
            """,
            100 * share,
            path.machine().pe().cpu().commandWindow()));
  }

  /** The resource on which a cause took most time, and how often. */
  private record Most(String resource, long ps, int times) {}

  private static String sentence(Breakdown path, Breakdown.Share share) {
    Map<String, Most> byResource = new LinkedHashMap<>();
    for (Segment s : path.segments()) {
      if (s.cause() == share.cause()) {
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
          case LATENCY ->
              "bytes were on their way, " + where + thing(most) + ", " + times + ": " + amount;
          case SERIALISATION ->
              "bytes entered links or memories one after the other, %s%s: %s"
                  .formatted(where, thing(most), amount);
          case CONTENTION ->
              "transfers waited behind others, " + where + thing(most) + ": " + amount;
          case NIC_CONTENTION ->
              "messages waited for NICs that were busy with others, %s%s: %s"
                  .formatted(where, thing(most), amount);
          case NIC_MESSAGE -> "NICs prepared messages, " + times + ": " + amount;
          case COMPUTE ->
              "went into computing, " + where + thing(most) + ": " + amount + ", " + times;
          case PROTOCOL ->
              "the program of the collective library took its time, %s: %s"
                  .formatted(times, amount);
          case CREDIT_RETURN ->
              "senders that had used all their slots waited for credits, " + times + ": " + amount;
          case FLOW_CONTROL ->
              "flits waited for credits or turns, " + where + thing(most) + ": " + amount;
          case DMA_SETUP -> "went into setting up DMAs, " + times + ": " + amount;
          case MESSAGE_OVERHEAD -> "went into starting messages, " + times + ": " + amount;
          case COMMAND_ISSUE -> "a CPU was issuing commands: " + amount;
          case SLOT_ACCESS -> "messages were copied into or out of slots: " + amount;
          case TRANSLATION -> "addresses were translated, " + times + ": " + amount;
          case SLOT_HELD, LOOK, MEMORY, LAUNCH, HOST, OTHER ->
              "is " + share.cause() + ", " + where + thing(most) + ": " + amount;
        };
  }

  private static String thing(Most most) {
    return switch (most.resource()) {
      case "hbm_port" -> "in HBM";
      case "sram_port" -> "in SRAM";
      case "MATH", "GEMM", "CPU", "DMA" -> "by " + most.resource();
      case "slots" -> "at message slots";
      case Segment.TIMER -> "with durations that were said beforehand";
      case "host" -> "at the host";
      case "nic" -> "at NICs";
      default -> "on links " + most.resource();
    };
  }
}
