package org.kernbench.cli.text;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.explain.MachineParameter;
import org.kernbench.eval.explain.Sensitivity;
import org.kernbench.eval.explain.Utilisation;
import org.kernbench.eval.report.Explanation;

/** An explanation for people. */
public final class ExplanationText {
  private final Explanation e;
  private final int rows;
  private final StringBuilder out = new StringBuilder();

  private ExplanationText(Explanation e, int rows) {
    this.e = e;
    this.rows = rows;
  }

  /**
   * @param rows of each table
   */
  public static String write(Explanation e, int rows) {
    ExplanationText text = new ExplanationText(e, rows);
    text.out.append(ResultText.head(e.result()));
    text.kernels();
    text.path();
    text.waits();
    text.engines();
    text.links();
    text.sensitivities();
    return text.out.toString();
  }

  private void table(String heading, List<List<String>> table) {
    out.append('\n').append(heading).append('\n');
    ResultText.table(out, table, 2);
  }

  private void more(int all, String what) {
    if (all > rows) {
      out.append("  … and ").append(all - rows).append(' ').append(what).append(" (--rows 0)\n");
    }
  }

  private void kernels() {
    List<Breakdown.KernelShare> kernels = e.breakdown().kernels();
    if (kernels.size() < 2) {
      return;
    }
    List<List<String>> table = new ArrayList<>();
    table.add(List.of("share", "time", "launches", "kernel"));
    List<Long> ps =
        new ArrayList<>(kernels.stream().map(Breakdown.KernelShare::ps).limit(rows).toList());
    long rest = withRest(ps);
    List<String> percent = Percent.of(ps);
    for (int i = 0; i < Math.min(rows, kernels.size()); i++) {
      Breakdown.KernelShare k = kernels.get(i);
      String launches = String.format(Locale.ROOT, "%,d", k.launches());
      table.add(List.of(percent.get(i), ns(k.ps()), launches, k.kernel()));
    }
    if (rest > 0) {
      String more = "(" + (kernels.size() - rows) + " more)";
      table.add(List.of(percent.getLast(), ns(rest), "", more));
    }
    table("critical path, by kernel", table);
  }

  private void path() {
    shares("critical path, by cause and resource", "resource", e.breakdown().resources());
    shares("critical path, by cause, place and kernel line", "place", e.breakdown().places());
  }

  private void shares(String heading, String what, List<Breakdown.Share> shares) {
    List<List<String>> table = new ArrayList<>();
    table.add(List.of("share", "time", "cause", what, what.equals("place") ? "kernel line" : ""));
    List<Long> ps = new ArrayList<>(shares.stream().map(Breakdown.Share::ps).limit(rows).toList());
    long rest = withRest(ps);
    List<String> percent = Percent.of(ps);
    for (int i = 0; i < Math.min(rows, shares.size()); i++) {
      Breakdown.Share s = shares.get(i);
      table.add(List.of(percent.get(i), ns(s.ps()), s.cause().text(), s.place(), s.line()));
    }
    if (rest > 0) {
      String more = "(" + (shares.size() - rows) + " more)";
      table.add(List.of(percent.getLast(), ns(rest), more, "", ""));
    }
    table(heading, table);
  }

  /** Adds what is missing to the time of the path, and says how much that is. */
  private long withRest(List<Long> ps) {
    long rest = e.breakdown().totalPs() - ps.stream().mapToLong(Long::longValue).sum();
    if (rest > 0) {
      ps.add(rest);
    }
    return rest;
  }

  private void waits() {
    if (e.waits().isEmpty()) {
      return;
    }
    List<List<String>> table = new ArrayList<>();
    table.add(List.of("waited", "operations", "longest", "who", "for", "of"));
    for (Explanation.Wait w : e.waits().stream().limit(rows).toList()) {
      table.add(
          List.of(
              ns(w.ps()),
              String.format(Locale.ROOT, "%,d", w.operations()),
              ns(w.longestPs()),
              w.who(),
              w.cause(),
              w.by()));
    }
    table("who waited, between issue and start, over all operations", table);
    more(e.waits().size(), "kinds of waits");
  }

  private void engines() {
    Map<String, List<Utilisation.EngineUse>> byEngine = new LinkedHashMap<>();
    for (Utilisation.EngineUse u : e.utilisation().engines()) {
      byEngine.computeIfAbsent(u.engine(), k -> new ArrayList<>()).add(u);
    }
    if (byEngine.isEmpty()) {
      return;
    }
    List<List<String>> table = new ArrayList<>();
    table.add(List.of("busy", "at the busiest", "mean busy", "engines", "engine"));
    byEngine.forEach((engine, uses) -> {
      Utilisation.EngineUse most = uses.getFirst();
      double mean = uses.stream().mapToLong(Utilisation.EngineUse::busyPs).average().orElse(0);
      table.add(
          List.of(
              share(e.utilisation().share(most.busyPs())),
              most.pe().toString(),
              share(e.utilisation().share(Math.round(mean))),
              String.format(Locale.ROOT, "%,d", uses.size()),
              engine));
    });
    table("engines, over the time of the critical path", table);
  }

  private void links() {
    List<Utilisation.LinkUse> links = e.utilisation().links();
    if (links.isEmpty()) {
      return;
    }
    List<List<String>> table = new ArrayList<>();
    table.add(List.of("busy", "bytes", "waits for it", "link"));
    for (Utilisation.LinkUse u : links.stream().limit(rows).toList()) {
      table.add(
          List.of(
              share(e.utilisation().share(u.busyPs())),
              String.format(Locale.ROOT, "%,d", u.bytes()),
              ns(u.waitedPs()),
              u.link().name()));
    }
    table("links", table);
    more(links.size(), "links");
  }

  private void sensitivities() {
    List<Sensitivity> all = e.sensitivities();
    Optional<String> leftOut = Sensitivity.leftOut(e.breakdown().machine());
    List<Sensitivity> shown = new ArrayList<>(all.stream().filter(this::matters).toList());
    List<Sensitivity> counts =
        shown.stream().filter(s -> s.parameter().kind() == MachineParameter.Kind.COUNT).toList();
    shown.removeAll(counts);
    sensitivities("what 1 % of a number of the machine does to the time", "1 %", shown);
    sensitivities(
        "and one more or less of what it counts, a guess where work is then cut otherwise",
        "one",
        counts);
    out.append('\n');
    if (shown.size() + counts.size() < all.size()) {
      out.append(
          String.format(
              Locale.ROOT,
              "  The other %d numbers of the machine have no computed effect.%n",
              all.size() - shown.size() - counts.size()));
    }
    leftOut.ifPresent(what -> out.append("  Note: ").append(what).append(".\n"));
    if (isVerified(all)) {
      verified("changes of 1 %", all, true);
      verified("larger steps", all, false);
    }
  }

  private void verified(String what, List<Sensitivity> list, boolean onePercent) {
    Map<Sensitivity.Verdict, Integer> counts = new EnumMap<>(Sensitivity.Verdict.class);
    for (Sensitivity s : list) {
      for (Optional<Sensitivity.Effect> effect : List.of(s.more(), s.less())) {
        effect
            .filter(x -> x.isOnePercent() == onePercent)
            .flatMap(x -> s.verdict(x, e.breakdown().totalPs()))
            .ifPresent(v -> counts.merge(v, 1, Integer::sum));
      }
    }
    int sum = counts.values().stream().mapToInt(Integer::intValue).sum();
    out.append(String.format(Locale.ROOT, "  %,d %s simulated", sum, what));
    String separator = ": ";
    for (Map.Entry<Sensitivity.Verdict, Integer> each : counts.entrySet()) {
      String words = each.getKey().words();
      out.append(String.format(Locale.ROOT, "%s%,d %s", separator, each.getValue(), words));
      separator = ", ";
    }
    out.append(".\n");
  }

  private boolean matters(Sensitivity s) {
    return moves(s.more()) || moves(s.less()) || !agrees(s, e.breakdown().totalPs());
  }

  private void sensitivities(String heading, String step, List<Sensitivity> list) {
    if (list.isEmpty()) {
      return;
    }
    boolean verified = isVerified(list);
    long time = e.breakdown().totalPs();
    List<List<String>> table = new ArrayList<>();
    List<String> head = new ArrayList<>(List.of(step + " more", step + " less", "of", "is"));
    if (verified) {
      head.addAll(List.of("simulated: more", "less", ""));
    }
    table.add(head);
    for (Sensitivity s : list.stream().limit(rows).toList()) {
      List<String> row =
          new ArrayList<>(
              List.of(
                  effect(s.more(), time),
                  effect(s.less(), time),
                  s.parameter().path(),
                  s.parameter().value()));
      if (verified) {
        row.add(simulated(s.more(), time));
        row.add(simulated(s.less(), time));
        row.add(agrees(s, time) ? "" : verdict(s, time));
      }
      table.add(row);
    }
    table(heading, table);
    more(list.size(), "numbers");
  }

  /** The worse of the two. */
  private static String verdict(Sensitivity s, long time) {
    return Stream.of(s.more(), s.less())
        .flatMap(Optional::stream)
        .flatMap(x -> s.verdict(x, time).stream())
        .max(Comparator.naturalOrder())
        .map(Sensitivity.Verdict::words)
        .orElse("");
  }

  private static boolean isVerified(List<Sensitivity> all) {
    return all.stream().anyMatch(ExplanationText::isVerified);
  }

  private static boolean isVerified(Sensitivity s) {
    return s.more().filter(x -> x.simulatedPs().isPresent()).isPresent()
        || s.less().filter(x -> x.simulatedPs().isPresent()).isPresent();
  }

  private static boolean agrees(Sensitivity s, long time) {
    return s.more().map(x -> x.agrees(time)).orElse(true)
        && s.less().map(x -> x.agrees(time)).orElse(true);
  }

  private static boolean moves(Optional<Sensitivity.Effect> effect) {
    return effect.map(x -> x.computedPs() != 0).orElse(false);
  }

  private static String effect(Optional<Sensitivity.Effect> effect, long time) {
    return effect.map(x -> change(x.computedPs(), time) + step(x)).orElse("-");
  }

  /** Says how large the step was where it could not be one percent. */
  private static String step(Sensitivity.Effect x) {
    double percent = x.step().change() * 100;
    if (Math.abs(Math.abs(percent) - 1) < 0.05) {
      return "";
    }
    return " (" + x.step().override().replaceFirst(".*=", "") + ")";
  }

  private static String simulated(Optional<Sensitivity.Effect> effect, long time) {
    return effect
        .filter(x -> x.simulatedPs().isPresent())
        .map(x -> change(x.simulatedPs().getAsLong(), time))
        .orElse("-");
  }

  private static String change(long ps, long time) {
    return String.format(
        Locale.ROOT, "%+,.3f ns %+.2f %%", ps / 1e3, time == 0 ? 0.0 : 100.0 * ps / time);
  }

  private static String share(double share) {
    return String.format(Locale.ROOT, "%.1f %%", 100 * share);
  }

  private static String ns(long ps) {
    return String.format(Locale.ROOT, "%,.3f ns", BigDecimal.valueOf(ps, 3));
  }
}
