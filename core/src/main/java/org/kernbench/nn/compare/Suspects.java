package org.kernbench.nn.compare;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntFunction;
import org.kernbench.nn.autograd.Mistake;
import org.kernbench.nn.layers.ColumnParallelLinear;
import org.kernbench.nn.layers.RowParallelLinear;
import org.kernbench.nn.layers.SelfAttention;
import org.kernbench.nn.multimodal.NamedValues;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.ModuleRole;
import org.kernbench.nn.parallel.RankGrid;

/**
 * Tells why a tensor is wrong, by trying: each known mistake predicts what a rank would have, from
 * what other ranks have recorded; the one whose prediction agrees is named.
 */
final class Suspects {
  private static final String DP_CP = "dp x cp";
  private static final double AGREE = 1e-8;
  private static final double[] NOTHING = {};

  private final LayoutComparison runs;
  private final LayoutRun subject;

  /** A cause and what speaks for it. */
  record Verdict(Mistake cause, String evidence) {}

  Suspects(LayoutComparison runs) {
    this.runs = runs;
    this.subject = runs.subject();
  }

  /** Why a tensor is wrong on a rank, while all that was computed before is right. */
  Verdict of(Stage stage, int rank) {
    Optional<Verdict> found =
        switch (stage.kind()) {
          case FORWARD -> forward(stage, rank);
          case BACKWARD -> backward(stage, rank);
          case OWN -> Optional.<Verdict>empty();
          case FINISHED -> finished(stage, rank);
        };
    return found.orElse(new Verdict(Mistake.UNKNOWN, "tried sums over groups, factors and orders"));
  }

  private static Optional<Verdict> verdict(Mistake cause, String evidence) {
    return Optional.of(new Verdict(cause, evidence));
  }

  /** An explanation of one rank counts only if it explains every rank that is wrong. */
  private static Optional<Verdict> everywhere(
      Stage stage, int rank, IntFunction<Optional<Verdict>> why) {
    Optional<Verdict> here = why.apply(rank);
    for (int r = 0; r < stage.ranks() && here.isPresent(); r++) {
      Optional<Mistake> there =
          stage.isWrong(r) ? why.apply(r).map(Verdict::cause) : Optional.empty();
      if (stage.isWrong(r) && !there.equals(here.map(Verdict::cause))) {
        return Optional.empty();
      }
    }
    return here;
  }

  // ---- groups ----

  private int global(int rank) {
    return rank + subject.layout().encoder().offset();
  }

  /** Ranks, counted from the first of the layout, that differ from one in some dimensions only. */
  private List<Integer> group(RankGrid grid, int rank, Dim... dims) {
    int offset = grid.offset();
    for (List<Integer> group : grid.enumerate(Arrays.stream(dims).map(Dim::token).toList())) {
      if (group.contains(rank + offset)) {
        return group.stream().map(r -> r - offset).toList();
      }
    }
    throw new IllegalStateException("bug: rank " + rank + " in no group of " + grid);
  }

  /** Dimensions of a grid, and both that data is divided over, of which there is more than one. */
  private static Map<String, Dim[]> dimensions(RankGrid grid) {
    Map<String, Dim[]> dims = new LinkedHashMap<>();
    for (Dim dim : List.of(Dim.CP, Dim.TP, Dim.DP)) {
      if (grid.size(dim) > 1) {
        dims.put(dim.token(), new Dim[] {dim});
      }
    }
    if (grid.size(Dim.CP) > 1 && grid.size(Dim.DP) > 1) {
      dims.put(DP_CP, new Dim[] {Dim.CP, Dim.DP});
    }
    return dims;
  }

  private static double[] sum(IntFunction<double[]> of, List<Integer> ranks) {
    double[] sum = of.apply(ranks.getFirst()).clone();
    for (int r : ranks.subList(1, ranks.size())) {
      double[] more = of.apply(r);
      if (more.length != sum.length) {
        return new double[0];
      }
      Vectors.add(sum, more);
    }
    return sum;
  }

  private static boolean agree(double[] a, double[] b, double floor) {
    return a.length == b.length && Vectors.error(a, b, floor) <= AGREE;
  }

  private static String names(List<Integer> ranks, int offset) {
    return ranks.stream().map(r -> r + offset).toList().toString();
  }

  // ---- values ----

  private Optional<Verdict> forward(Stage stage, int rank) {
    return everywhere(stage, rank, r -> rowSum(stage, r))
        .or(() -> everywhere(stage, rank, r -> slices(stage, r)))
        .or(() -> everywhere(stage, rank, r -> bias(stage, r)))
        .or(() -> everywhere(stage, rank, r -> factor(stage, r)));
  }

  /** The rank's own part of the sum of a row-parallel layer, of which all parts are right. */
  private Optional<Verdict> rowSum(Stage stage, int rank) {
    double[] part = runs.partOf(stage, rank, stage.name() + RowParallelLinear.PART, false);
    double[] bias = subject.rank(rank).parameters.getOrDefault(stage.name() + ".bias", NOTHING);
    for (int i = 0; i < part.length && bias.length > 0; i++) {
      part[i] += bias[i % bias.length];
    }
    return ownPart(Mistake.ROW_SUM_MISSING, stage, rank, part, Dim.TP);
  }

  private Optional<Verdict> columnSum(Stage stage, int rank) {
    String input = ColumnParallelLinear.INPUT;
    if (!stage.name().endsWith(input)) {
      return Optional.empty();
    }
    String layer = stage.name().substring(0, stage.name().length() - input.length());
    double[] part = runs.partOf(stage, rank, layer + ColumnParallelLinear.ENTERED, true);
    return ownPart(Mistake.COLUMN_SUM_MISSING, stage, rank, part, Dim.TP);
  }

  private Optional<Verdict> contextSum(Stage stage, int rank) {
    double[] part = runs.partOf(stage, rank, stage.name() + SelfAttention.GATHERED, true);
    return ownPart(Mistake.CONTEXT_SUM_MISSING, stage, rank, part, Dim.CP);
  }

  private Optional<Verdict> ownPart(Mistake cause, Stage stage, int rank, double[] part, Dim dim) {
    RankGrid grid = runs.grid(stage.module());
    if (part.length == 0 || grid.size(dim) == 1) {
      return Optional.empty();
    }
    return agree(stage.got()[rank], part, stage.floor())
        ? verdict(
            cause,
            """
            the rank has its own part; the sum of the parts of its %s group %s is right\
            """
                .formatted(dim, names(group(grid, rank, dim), grid.offset())))
        : Optional.empty();
  }

  /** A constant row more than there should be: a bias that was added several times. */
  private Optional<Verdict> bias(Stage stage, int rank) {
    double[] got = stage.got()[rank];
    double[] expected = stage.expected()[rank];
    int columns = stage.columns(rank);
    int tp = runs.grid(stage.module()).size(Dim.TP);
    if (got.length != expected.length || tp == 1) {
      return Optional.empty();
    }
    double[] more = Vectors.minus(got, expected);
    double[] once = Vectors.times(1.0 / (tp - 1), Arrays.copyOf(more, columns));
    for (Map.Entry<String, double[]> e : subject.rank(rank).parameters.entrySet()) {
      double[] b = e.getValue();
      if (b.length == columns && agree(once, b, 0) && repeats(more, columns)) {
        return verdict(
            Mistake.BIAS_BEFORE_SUM,
            "every row has " + (tp - 1) + " x " + e.getKey() + " too much (tp is " + tp + ")");
      }
    }
    return Optional.empty();
  }

  private static boolean repeats(double[] rows, int columns) {
    for (int i = columns; i < rows.length; i += columns) {
      double[] row = Arrays.copyOfRange(rows, i, i + columns);
      if (!agree(row, Arrays.copyOf(rows, columns), 0)) {
        return false;
      }
    }
    return true;
  }

  /** Rows of other samples than the rank should have. */
  private Optional<Verdict> slices(Stage stage, int rank) {
    NamedValues.Rows[] rows = stage.rows();
    if (rows == null) {
      return Optional.empty();
    }
    double[] got = stage.got()[rank];
    int columns = stage.columns(rank);
    if (got.length != stage.expected()[rank].length) {
      return verdict(
          Mistake.SLICE_BY_CANONICAL_RANK,
          "%s rows instead of %s; ranks with %s have too many"
              .formatted(got.length / columns, rows[rank].count(), wrongCoordinates(stage)));
    }
    List<Integer> found = samplesOf(stage, rank);
    List<Integer> expected = samples(rows[rank].samples());
    if (found.isEmpty() || found.equals(expected)) {
      return Optional.empty();
    }
    return verdict(
        Mistake.SLOTS_SWAPPED,
        "the rows are those of samples " + found + " instead of " + expected);
  }

  /** The samples, in order, whose rows these are to the last digit or so; empty if unknown. */
  private List<Integer> samplesOf(Stage stage, int rank) {
    NamedValues.Rows[] rows = stage.rows();
    if (rows == null) {
      return List.of();
    }
    double[] got = stage.got()[rank];
    int columns = stage.columns(rank);
    List<Integer> found = new ArrayList<>();
    int total = subject.microbatches().get(stage.microbatch()).samples();
    int[] previous = {-1};
    for (int i = 0; i < rows[rank].count(); i++) {
      double[] row = Arrays.copyOfRange(got, i * columns, (i + 1) * columns);
      int position = rows[rank].position(i);
      int sample = -1;
      for (int k = 0; k < total && sample < 0; k++) {
        int s = (previous[0] + k + total) % total;
        double[] other = runs.reference(stage, s, position);
        sample = other.length > 0 && agree(row, other, stage.floor() * 1e-6) ? s : -1;
      }
      if (sample < 0) {
        return List.of();
      }
      previous[0] = sample;
      if (found.isEmpty() || found.getLast() != sample) {
        found.add(sample);
      }
    }
    return found;
  }

  private static List<Integer> samples(int[] ofRows) {
    List<Integer> samples = new ArrayList<>();
    for (int s : ofRows) {
      if (samples.isEmpty() || samples.getLast() != s) {
        samples.add(s);
      }
    }
    return samples;
  }

  private String wrongCoordinates(Stage stage) {
    RankGrid language = subject.layout().language();
    Set<Integer> wrong = new TreeSet<>();
    for (int r = 0; r < stage.ranks(); r++) {
      if (stage.isWrong(r)) {
        wrong.add(language.coordinate(global(r), Dim.CP));
      }
    }
    return "cp " + wrong;
  }

  private Optional<Verdict> factor(Stage stage, int rank) {
    double[] expected = stage.expected()[rank];
    double[] got = stage.got()[rank];
    if (got.length != expected.length) {
      return Optional.empty();
    }
    double factor = Vectors.factor(got, expected);
    return agree(got, Vectors.times(factor, expected), stage.floor())
        ? named(factor)
            .map(name -> new Verdict(Mistake.FACTOR, "all elements are multiplied by " + name))
        : Optional.empty();
  }

  // ---- gradients of values ----

  private Optional<Verdict> backward(Stage stage, int rank) {
    return bridgeSum(stage, rank)
        .or(() -> everywhere(stage, rank, r -> columnSum(stage, r)))
        .or(() -> everywhere(stage, rank, r -> contextSum(stage, r)))
        .or(() -> everywhere(stage, rank, r -> zeros(stage, r)))
        .or(() -> everywhere(stage, rank, r -> partial(stage, r)))
        .or(() -> everywhere(stage, rank, r -> slices(stage, r)))
        .or(() -> everywhere(stage, rank, r -> factor(stage, r)));
  }

  /** The sum over a group of what its ranks have is right. */
  private Optional<Verdict> partial(Stage stage, int rank) {
    RankGrid own = runs.grid(stage.module());
    RankGrid language = subject.layout().language();
    // gradients of values are divided by the language model, whatever module they belong to
    List<RankGrid> grids = stage.rows() == null ? List.of(own) : List.of(language, own);
    for (RankGrid grid : grids) {
      for (Map.Entry<String, Dim[]> dims : dimensions(grid).entrySet()) {
        List<Integer> group = group(grid, rank, dims.getValue());
        double[] sum = sum(r -> stage.got()[r], group);
        if (agree(sum, stage.expected()[rank], stage.floor())) {
          return verdict(
              Mistake.SUM_MISSING,
              "the sum over the %s group %s of what its ranks have is right"
                  .formatted(dims.getKey(), names(group, grid.offset())));
        }
      }
    }
    return Optional.empty();
  }

  /** What the bridge would give if it did not sum, or over other ranks than it should. */
  private Optional<Verdict> bridgeSum(Stage stage, int rank) {
    RankGrid language = subject.layout().language();
    if (!stage.name().equals("projector.output") || language.size(Dim.CP) == 1) {
      return Optional.empty();
    }
    Stage before = runs.place(stage.microbatch(), "bridge.output", true);
    List<Integer> cp = group(language, rank, Dim.CP);
    if (gives(stage, before, r -> before.got()[r])) {
      return verdict(
          Mistake.CP_SUM_MISSING,
          """
          the rank has its own positions' part of what the sum over its cp group %s gives\
          """
              .formatted(names(cp, language.offset())));
    }
    for (Map.Entry<String, Dim[]> dims : dimensions(language).entrySet()) {
      boolean other = !dims.getKey().equals(Dim.CP.token());
      Dim[] names = dims.getValue();
      if (other
          && gives(stage, before, r -> sum(q -> before.got()[q], group(language, r, names)))) {
        return verdict(
            Mistake.SUM_OVER_WRONG_GROUP,
            "a sum over %s, ranks %s, instead of cp gives what the rank has"
                .formatted(dims.getKey(), names(group(language, rank, names), language.offset())));
      }
    }
    return Optional.empty();
  }

  /** Whether all ranks have what the bridge makes of these gradients on its other side. */
  private boolean gives(Stage stage, Stage before, IntFunction<double[]> dest) {
    for (int r = 0; r < stage.ranks(); r++) {
      if (!agree(bridged(stage, r, before, dest), stage.got()[r], stage.floor())) {
        return false;
      }
    }
    return true;
  }

  /** Rows that the source has on a rank, picked from what the destination has on all ranks. */
  private double[] bridged(Stage stage, int rank, Stage before, IntFunction<double[]> dest) {
    NamedValues.Rows[] to = stage.rows();
    NamedValues.Rows[] from = before.rows();
    if (to == null || from == null) {
      return new double[0];
    }
    int columns = stage.columns(rank);
    double[] rows = new double[to[rank].count() * columns];
    RankGrid language = subject.layout().language();
    for (int r = 0; r < stage.ranks(); r++) {
      boolean sibling =
          language.coordinate(global(r), Dim.TP) == language.coordinate(global(rank), Dim.TP)
              && language.coordinate(global(r), Dim.CP)
                  == language.coordinate(global(rank), Dim.CP);
      if (!sibling) {
        continue;
      }
      double[] have = dest.apply(r);
      for (int i = 0; i < to[rank].count(); i++) {
        for (int j = 0; j < from[r].count(); j++) {
          if (to[rank].sample(i) == from[r].sample(j)
              && to[rank].position(i) == from[r].position(j)
              && have.length >= (j + 1) * columns) {
            System.arraycopy(have, j * columns, rows, i * columns, columns);
          }
        }
      }
    }
    return rows;
  }

  /** Some samples' rows are right, all others zero. */
  private Optional<Verdict> zeros(Stage stage, int rank) {
    NamedValues.Rows[] rows = stage.rows();
    double[] got = stage.got()[rank];
    double[] expected = stage.expected()[rank];
    if (rows == null || got.length != expected.length) {
      return Optional.empty();
    }
    int columns = stage.columns(rank);
    Set<Integer> zero = new TreeSet<>();
    Set<Integer> right = new HashSet<>();
    for (int i = 0; i < rows[rank].count(); i++) {
      double[] row = Arrays.copyOfRange(got, i * columns, (i + 1) * columns);
      double[] want = Arrays.copyOfRange(expected, i * columns, (i + 1) * columns);
      int sample = rows[rank].sample(i);
      if (agree(row, want, stage.floor() * 1e-6)) {
        if (Vectors.norm(want) > 0) {
          right.add(sample);
        }
      } else if (Vectors.norm(row) == 0) {
        zero.add(sample);
      } else {
        return Optional.empty();
      }
    }
    right.retainAll(zero);
    return zero.isEmpty() || !right.isEmpty()
        ? Optional.empty()
        : verdict(
            Mistake.ZEROS_INSTEAD_OF_GATHER,
            "the gradients of samples " + zero + " are zero, the others right");
  }

  // ---- gradients of parameters ----

  private Optional<Verdict> finished(Stage stage, int rank) {
    return everywhere(stage, rank, r -> scaled(r, this::tokensOverDp))
        .or(() -> everywhere(stage, rank, r -> scaled(r, this::multiplied)))
        .or(() -> everywhere(stage, rank, r -> scaled(r, this::tokensOverAnother)))
        .or(() -> everywhere(stage, rank, r -> partialParameter(stage, r)));
  }

  private Optional<Verdict> partialParameter(Stage stage, int rank) {
    LayoutRun.Gradient g = subject.rank(rank).gradients.get(stage.name());
    Optional<Verdict> sum = partial(stage, rank);
    return g != null && g.sharding().sequenceParallel() && sum.isPresent()
        ? sum.map(v ->
            v.evidence().contains(" tp group")
                ? new Verdict(Mistake.TP_SUM_MISSING, v.evidence())
                : v)
        : sum;
  }

  /** Why gradients of both modules have one factor on a rank. */
  private interface OneFactor {
    Optional<Verdict> why(int rank, double factor);
  }

  /** One factor for all parameters of a module, or of all. */
  private Optional<Verdict> scaled(int rank, OneFactor ofAll) {
    Map<ModuleRole, Double> factors = new EnumMap<>(ModuleRole.class);
    for (Stage each : runs.parameters(Stage.Kind.FINISHED)) {
      if (each.got()[rank].length != each.expected()[rank].length) {
        return Optional.empty();
      }
      double factor = Vectors.factor(each.got()[rank], each.expected()[rank]);
      if (Vectors.norm(each.expected()[rank]) <= each.floor() * 1e-6) {
        continue; // nothing to tell a factor from
      }
      double before = factors.getOrDefault(each.module(), factor);
      double[] as = Vectors.times(before, each.expected()[rank]);
      if (!agree(each.got()[rank], as, each.floor())) {
        return Optional.empty();
      }
      factors.put(each.module(), before);
    }
    if (factors.containsValue(0.0)) {
      return Optional.empty(); // nothing there is no factor
    }
    double encoder =
        factors.getOrDefault(ModuleRole.ENCODER, factors.getOrDefault(ModuleRole.LANGUAGE, 1.0));
    double language = factors.getOrDefault(ModuleRole.LANGUAGE, encoder);
    if (near(encoder, language)) {
      return ofAll.why(rank, encoder);
    }
    ModuleRole module = near(language, 1) ? ModuleRole.ENCODER : ModuleRole.LANGUAGE;
    double own = near(language, 1) ? encoder : language;
    RankGrid grid = runs.grid(module);
    int ranks = grid.size(Dim.DP) * grid.size(Dim.CP);
    if ((near(language, 1) || near(encoder, 1)) && near(own, 1.0 / ranks)) {
      return verdict(
          Mistake.MODULE_AVERAGED,
          """
          all gradients of the module %s are 1/%s of what they should be: dp x cp is %s\
          """
              .formatted(module, ranks, ranks));
    }
    return verdict(
        Mistake.SKEW,
        String.format(
            Locale.ROOT,
            "gradients of the encoder are multiplied by %s, of the language model by %s",
            named(encoder).orElse(Double.toString(encoder)),
            named(language).orElse(Double.toString(language))));
  }

  private Optional<Verdict> multiplied(int rank, double factor) {
    return named(factor)
        .map(name -> new Verdict(Mistake.FACTOR, "all gradients are multiplied by " + name));
  }

  private Optional<Verdict> tokensOverDp(int rank, double factor) {
    Optional<Verdict> also = multiplied(rank, factor);
    return tokens(rank, factor, true)
        .map(v ->
            new Verdict(
                v.cause(), v.evidence() + also.map(a -> "; as well, " + a.evidence()).orElse("")));
  }

  private Optional<Verdict> tokensOverAnother(int rank, double factor) {
    return tokens(rank, factor, false);
  }

  /** Dividing by the tokens of some ranks only: of the dp group, or of another. */
  private Optional<Verdict> tokens(int rank, double factor, boolean overDp) {
    RankGrid language = subject.layout().language();
    double all = 0;
    for (int r : group(language, rank, both(language))) {
      all += subject.rank(r).tokens;
    }
    Map<String, Dim[]> some = dimensions(language);
    some.putIfAbsent(Dim.DP.token(), new Dim[] {Dim.DP}); // also of one rank
    some.remove(DP_CP); // as it should be
    some.keySet().removeIf(dim -> dim.equals(Dim.DP.token()) != overDp);
    for (Map.Entry<String, Dim[]> dims : some.entrySet()) {
      double counted = 0;
      List<Integer> group = group(language, rank, dims.getValue());
      for (int r : group) {
        counted += subject.rank(r).tokens;
      }
      if (near(factor, all / Math.max(1, counted))) {
        return verdict(
            overDp ? Mistake.TOKENS_OVER_DP_ONLY : Mistake.FACTOR,
            String.format(
                Locale.ROOT,
                "divided by the %.0f tokens of the %s group %s instead of all %.0f",
                counted,
                dims.getKey(),
                names(group, language.offset()),
                all));
      }
    }
    return Optional.empty();
  }

  private static Dim[] both(RankGrid grid) {
    return grid.has(Dim.CP) ? new Dim[] {Dim.CP, Dim.DP} : new Dim[] {Dim.DP};
  }

  private static boolean near(double a, double b) {
    return Math.abs(a - b) <= AGREE * Math.abs(b);
  }

  /** A factor by the size of a group, or of several of the same size. */
  private Optional<String> named(double factor) {
    Map<String, Integer> sizes = new LinkedHashMap<>();
    RankGrid language = subject.layout().language();
    RankGrid encoder = subject.layout().encoder();
    sizes.put(Dim.CP.token(), language.size(Dim.CP));
    sizes.put(Dim.TP.token(), language.size(Dim.TP));
    sizes.put(Dim.DP.token(), language.size(Dim.DP));
    sizes.put(DP_CP, language.size(Dim.DP) * language.size(Dim.CP));
    sizes.put("encoder dp", encoder.size(Dim.DP));
    sizes.put("encoder tp", encoder.size(Dim.TP));
    for (boolean isInverse : new boolean[] {false, true}) {
      List<String> names = new ArrayList<>();
      int size = 1;
      for (Map.Entry<String, Integer> e : sizes.entrySet()) {
        if (e.getValue() > 1 && near(factor, isInverse ? 1.0 / e.getValue() : e.getValue())) {
          size = e.getValue();
          names.add((isInverse ? "1/" : "") + e.getKey());
        }
      }
      if (!names.isEmpty()) {
        return Optional.of(
            String.join(" or ", names) + " (" + (isInverse ? "1/" : "") + size + ")");
      }
    }
    return Optional.empty();
  }
}
