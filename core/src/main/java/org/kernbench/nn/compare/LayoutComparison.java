package org.kernbench.nn.compare;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Mistake;
import org.kernbench.nn.compare.LayoutRun.Gradient;
import org.kernbench.nn.compare.LayoutRun.Place;
import org.kernbench.nn.compare.LayoutRun.RankRun;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.NamedValues;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.ModuleRole;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;

/**
 * Compares what a layout computed with what one rank did, tensor by tensor in the order of
 * computation: values forwards, their gradients backwards, gradients of parameters before and after
 * the ranks add theirs. So the first that is wrong is where the mistake is, and {@link Suspects}
 * tell which.
 */
final class LayoutComparison {

  private final LayoutRun subject;
  private final RankRun one;
  private final int ranks;
  private final Map<Place, Map<Long, Integer>> rowsOf = new HashMap<>();

  private LayoutComparison(LayoutRun reference, LayoutRun subject) {
    this.subject = subject;
    this.one = reference.rank(0);
    this.ranks = subject.span();
  }

  /**
   * Compares.
   *
   * @param reference a run on one rank
   * @param subject a run of the same model on the same data
   */
  static LayoutVerdict of(LayoutRun reference, LayoutRun subject) {
    return new LayoutComparison(reference, subject).verdict();
  }

  LayoutRun subject() {
    return subject;
  }

  RankGrid grid(ModuleRole module) {
    return switch (module) {
      case ENCODER -> subject.layout().encoder();
      case LANGUAGE -> subject.layout().language();
    };
  }

  private LayoutVerdict verdict() {
    List<Stage> finished = parameters(Stage.Kind.FINISHED);
    double worst = 0;
    String worstTensor = "";
    int tensors = 0;
    for (Stage stage : finished) {
      for (int r : having(stage.name())) {
        tensors++;
        double error = stage.error(r);
        if (error > worst) {
          worst = error;
          worstTensor = stage.name() + " on rank " + global(r);
        }
      }
    }
    Map<String, Double> ratios = ratios();
    List<String> unequal = unequal();
    Optional<FirstDifference> first = first(finished);
    if (first.isEmpty()) {
      subject.throwFailure(); // no comparison explains it
      first = inconsistent(ratios, unequal);
    }
    Optional<Trained> trained = worstTrained();
    if (first.isEmpty()) {
      first = trained.filter(Trained::isWrong).map(this::finding);
    }
    OptionalDouble stepsError =
        trained.map(t -> OptionalDouble.of(t.error)).orElse(OptionalDouble.empty());
    return new LayoutVerdict(tensors, worst, worstTensor, ratios, unequal, stepsError, first);
  }

  /** A parameter on a rank after training, beside that of one rank. */
  private record Trained(
      String name, ModuleRole module, int rank, double[] got, double[] expected, double error) {
    boolean isWrong() {
      return !(error <= LayoutVerdict.STEPS_TOLERANCE);
    }
  }

  /** The parameter that is furthest from that of one rank after training. */
  private Optional<Trained> worstTrained() {
    if (subject.isFailed() || subject.steps() == 0) {
      return Optional.empty();
    }
    @Nullable Trained worst = null;
    for (Map.Entry<String, double[]> e : one.trained.entrySet()) {
      String name = e.getKey();
      Gradient whole = one.gradients.get(name);
      double size = Vectors.norm(e.getValue());
      for (int r : having(name)) {
        double[] got = subject.rank(r).trained.getOrDefault(name, new double[0]);
        ModuleRole module =
            whole == null ? ModuleRole.ENCODER : whole.module(); // only the encoder is frozen
        double[] expected =
            whole == null ? got : cut(e.getValue(), gradient(r, name), grid(module), global(r));
        double error = Vectors.error(got, expected, size);
        if (worst == null || error > worst.error) {
          worst = new Trained(name, module, r, got, expected, error);
        }
      }
    }
    return Optional.ofNullable(worst);
  }

  private FirstDifference finding(Trained t) {
    int at = Vectors.worst(t.got, t.expected);
    return new FirstDifference(
        t.name + " after " + subject.steps() + " steps",
        coordinates(t.module, t.rank) + ", element " + at,
        global(t.rank),
        t.got[at],
        t.expected[at],
        t.error,
        Mistake.UNKNOWN,
        "all gradients of the first step are right");
  }

  private int global(int rank) {
    return rank + subject.layout().firstRank();
  }

  // ---- the first that is wrong ----

  private Optional<FirstDifference> first(List<Stage> finished) {
    for (int m = 0; m < subject.microbatches().size(); m++) {
      List<Stage> forward = new ArrayList<>();
      List<Stage> backward = new ArrayList<>();
      for (String name : places(m)) {
        Place whole = find(one, m, name);
        if (!whole.what().isGradOnly()) {
          forward.add(place(m, name, false));
        }
        if (whole.grad() != null) {
          backward.addFirst(place(m, name, true));
        }
      }
      forward.addAll(backward);
      Optional<FirstDifference> found = firstOf(forward);
      if (found.isPresent()) {
        return found;
      }
    }
    Optional<FirstDifference> own = firstOf(parameters(Stage.Kind.OWN));
    return own.isPresent() ? own : firstOf(finished);
  }

  private Optional<FirstDifference> firstOf(List<Stage> stages) {
    for (Stage stage : stages) {
      for (int r = 0; r < ranks; r++) {
        if (stage.isWrong(r)) {
          return Optional.of(finding(stage, r));
        }
      }
    }
    return Optional.empty();
  }

  private FirstDifference finding(Stage stage, int rank) {
    Suspects.Verdict why =
        subject.layout().isApart()
            ? new Suspects.Verdict(
                Mistake.UNKNOWN, "causes are looked for where the modules share their ranks")
            : new Suspects(this).of(stage, rank);
    double[] got = stage.got()[rank];
    double[] expected = stage.expected()[rank];
    String where = coordinates(stage.module(), rank);
    double gotElement = Double.NaN;
    double expectedElement = Double.NaN;
    if (got.length == expected.length) {
      int at = Vectors.worst(got, expected);
      gotElement = got[at];
      expectedElement = expected[at];
      NamedValues.Rows[] rows = stage.rows();
      if (rows != null) {
        int row = at / stage.columns(rank);
        where +=
            ", microbatch %s, sample %s, position %s, column %s"
                .formatted(
                    stage.microbatch(),
                    rows[rank].sample(row),
                    rows[rank].position(row),
                    at % stage.columns(rank));
      } else {
        where += ", element " + at;
      }
    } else {
      where += ", microbatch " + stage.microbatch();
    }
    return new FirstDifference(
        stage.tensor(),
        where,
        global(rank),
        gotElement,
        expectedElement,
        stage.error(rank),
        why.cause(),
        why.evidence());
  }

  private String coordinates(ModuleRole module, int rank) {
    RankGrid grid = grid(module);
    StringBuilder text = new StringBuilder("rank " + global(rank) + " (" + module);
    for (Dim dim : List.of(Dim.TP, Dim.CP, Dim.DP)) {
      if (grid.has(dim)) {
        text.append(' ').append(dim).append(' ').append(grid.coordinate(global(rank), dim));
      }
    }
    return text.append(')').toString();
  }

  /** What no tensor by itself shows. */
  private static Optional<FirstDifference> inconsistent(
      Map<String, Double> ratios, List<String> unequal) {
    for (Map.Entry<String, Double> e : ratios.entrySet()) {
      if (!(Math.abs(e.getValue() - 1) <= LayoutVerdict.RATIO_TOLERANCE)) {
        return Optional.of(
            new FirstDifference(
                "norm of the gradients of " + e.getKey(),
                "all ranks",
                0,
                e.getValue(),
                1,
                Math.abs(e.getValue() - 1),
                Mistake.UNKNOWN,
                "each tensor is within its tolerance"));
      }
    }
    return unequal.stream().findFirst().map(FirstDifference::ofReplicas);
  }

  // ---- values at places ----

  private List<String> places(int microbatch) {
    return one.places.stream().filter(p -> p.microbatch() == microbatch).map(Place::name).toList();
  }

  private static Place find(RankRun run, int microbatch, String name) {
    for (Place p : run.places) {
      if (p.microbatch() == microbatch && p.name().equals(name)) {
        return p;
      }
    }
    throw new IllegalStateException("bug: place " + name + " of microbatch " + microbatch);
  }

  private static boolean has(RankRun run, int microbatch, String name) {
    return run.places.stream().anyMatch(p -> p.microbatch() == microbatch && p.name().equals(name));
  }

  /** A place on all ranks; ranks that did not come so far are taken as right. */
  Stage place(int microbatch, String name, boolean grad) {
    Place whole = find(one, microbatch, name);
    double[] all = values(whole, grad);
    double[][] got = new double[ranks][];
    double[][] expected = new double[ranks][];
    NamedValues.Rows[] rows = new NamedValues.Rows[ranks];
    for (int r = 0; r < ranks; r++) {
      RankRun run = subject.rank(r);
      boolean came = has(run, microbatch, name) && !(grad && run.failure != null);
      List<Integer> addends = came ? addends(find(run, microbatch, name), r, grad) : List.of();
      if (!came || !addends.stream().allMatch(a -> has(subject.rank(a), microbatch, name))) {
        got[r] = new double[0];
        expected[r] = new double[0];
        rows[r] = NamedValues.Rows.of(0, 0, new int[0]);
        continue;
      }
      Place part = find(run, microbatch, name);
      rows[r] = part.rows();
      got[r] = summed(microbatch, name, addends, grad);
      expected[r] = pick(whole, all, part.rows());
      if (part.what() == Graph.Seen.REGION || part.what() == Graph.Seen.GATHERED) {
        expected[r] = block(expected[r], part.rows(), r, grid(module(name)));
      }
      if (grad && name.equals("bridge.output")) {
        keepOwnPositions(microbatch, r, rows[r], expected[r]);
      }
    }
    Stage.Kind kind = grad ? Stage.Kind.BACKWARD : Stage.Kind.FORWARD;
    return new Stage(
        kind, name, module(name), microbatch, got, expected, 1e-4 * Vectors.norm(all), rows);
  }

  private static ModuleRole module(String place) {
    return place.startsWith("encoder") || place.startsWith("projector")
        ? ModuleRole.ENCODER
        : ModuleRole.LANGUAGE;
  }

  /** The ranks whose parts of a sum are to be added to a rank's; itself if it has no part. */
  private List<Integer> addends(Place part, int rank, boolean grad) {
    boolean overTp = part.what() == (grad ? Graph.Seen.ENTERED : Graph.Seen.PART);
    boolean overCp = part.what() == Graph.Seen.GATHERED && grad;
    RankGrid grid = grid(module(part.name()));
    Dim dim = overTp ? Dim.TP : Dim.CP;
    if (!(overTp || overCp) || !grid.has(dim)) {
      return List.of(rank);
    }
    int mine = global(rank);
    return grid.enumerate(dim).stream()
        .filter(group -> group.contains(mine))
        .findFirst()
        .orElseThrow()
        .stream()
        .map(r -> r - subject.layout().firstRank())
        .toList();
  }

  /** Of parts of a sum, the sum that is to be made of them, made here. */
  private double[] summed(int microbatch, String name, List<Integer> of, boolean grad) {
    double[] sum = values(find(subject.rank(of.getFirst()), microbatch, name), grad).clone();
    for (int r : of.subList(1, of.size())) {
      Vectors.add(sum, values(find(subject.rank(r), microbatch, name), grad));
    }
    return sum;
  }

  /** A tensor-parallel rank's block of columns. */
  private double[] block(double[] rows, NamedValues.Rows of, int rank, RankGrid grid) {
    int tp = grid.size(Dim.TP);
    int t = grid.coordinate(global(rank), Dim.TP);
    int columns = of.count() == 0 ? 0 : rows.length / of.count();
    int width = columns / tp;
    double[] block = new double[of.count() * width];
    for (int i = 0; i < of.count(); i++) {
      System.arraycopy(rows, i * columns + t * width, block, i * width, width);
    }
    return block;
  }

  /** What a rank has of a part of a sum, on the rows of a tensor; nothing if it has no such. */
  double[] partOf(Stage stage, int rank, String place, boolean grad) {
    RankRun run = subject.rank(rank);
    NamedValues.Rows[] rows = stage.rows();
    if (rows == null || !has(run, stage.microbatch(), place)) {
      return new double[0];
    }
    Place part = find(run, stage.microbatch(), place);
    return pick(part, values(part, grad), rows[rank]);
  }

  private static double[] values(Place place, boolean grad) {
    double[] g = place.grad();
    return !grad ? place.value() : g == null ? new double[place.value().length] : g;
  }

  private double[] pick(Place whole, double[] all, NamedValues.Rows rows) {
    int columns = whole.rows().count() == 0 ? 0 : all.length / whole.rows().count();
    double[] picked = new double[rows.count() * columns];
    for (int i = 0; i < rows.count(); i++) {
      int from = row(whole, rows.sample(i), rows.position(i));
      if (from < 0) {
        return new double[0];
      }
      System.arraycopy(all, from * columns, picked, i * columns, columns);
    }
    return picked;
  }

  /** The row of a sample and position in the run on one rank; -1 if there is none. */
  private int row(Place whole, int sample, int position) {
    return rowsOf
        .computeIfAbsent(
            whole,
            p -> {
              Map<Long, Integer> at = new HashMap<>();
              for (int i = 0; i < p.rows().count(); i++) {
                at.put(key(p.rows().sample(i), p.rows().position(i)), i);
              }
              return at;
            })
        .getOrDefault(key(sample, position), -1);
  }

  /** A row of the run on one rank; empty if there is no such sample and position. */
  double[] reference(Stage stage, int sample, int position) {
    Place whole = find(one, stage.microbatch(), stage.name());
    double[] all = values(whole, stage.kind() == Stage.Kind.BACKWARD);
    int row = row(whole, sample, position);
    int columns = all.length / whole.rows().count();
    return row < 0 ? new double[0] : Arrays.copyOfRange(all, row * columns, (row + 1) * columns);
  }

  private static long key(int sample, int position) {
    return ((long) sample << 32) | position;
  }

  /** A context-parallel rank finds gradients of its own positions only; others are zero. */
  private void keepOwnPositions(
      int microbatch, int rank, NamedValues.Rows rows, double[] expected) {
    RankGrid grid = subject.layout().language();
    if (grid.size(Dim.CP) == 1 || rows.count() == 0) {
      return;
    }
    Microbatch data = subject.microbatches().get(microbatch);
    SequencePart part =
        new SequencePart(data.sequence(), grid.size(Dim.CP), grid.coordinate(global(rank), Dim.CP));
    Set<Integer> own = new HashSet<>();
    Arrays.stream(part.own()).forEach(own::add);
    int columns = expected.length / rows.count();
    for (int i = 0; i < rows.count(); i++) {
      int token = rows.position(i);
      int[] ids = data.ids(rows.sample(i), 1);
      int position = 0;
      for (int seen = -1; position < ids.length; position++) {
        seen += ids[position] == subject.config().placeholder() ? 1 : 0;
        if (seen == token) {
          break;
        }
      }
      if (!own.contains(position)) {
        Arrays.fill(expected, i * columns, (i + 1) * columns, 0);
      }
    }
  }

  // ---- gradients of parameters ----

  private double typical() {
    return one.gradients.values().stream()
        .mapToDouble(g -> Vectors.norm(g.finished()))
        .max()
        .orElse(0);
  }

  /** Gradients of all parameters: finished ones, or the sum of what ranks have by themselves. */
  List<Stage> parameters(Stage.Kind kind) {
    List<Stage> stages = new ArrayList<>();
    if (subject.isFailed()) {
      return stages;
    }
    boolean own = kind == Stage.Kind.OWN;
    double tokens = Math.max(1, one.tokens);
    double floor = 1e-4 * typical() * (own ? tokens : 1);
    one.gradients.forEach((name, whole) -> {
      double[][] got = new double[ranks][];
      double[][] expected = new double[ranks][];
      Arrays.fill(got, new double[0]);
      Arrays.fill(expected, new double[0]);
      for (int r : having(name)) {
        Gradient part = gradient(r, name);
        got[r] = own ? summed(name, r) : part.finished();
        double[] all = own ? whole.own() : whole.finished();
        expected[r] = cut(all, part, grid(whole.module()), global(r));
      }
      stages.add(new Stage(kind, name, whole.module(), -1, got, expected, floor, null));
    });
    return stages;
  }

  /** The ranks that have a part of a parameter: all, unless modules have ranks of their own. */
  private List<Integer> having(String parameter) {
    List<Integer> having =
        IntStream.range(0, ranks)
            .filter(r -> subject.rank(r).parameters.containsKey(parameter))
            .boxed()
            .toList();
    if (having.isEmpty() && !subject.isFailed()) {
      throw new IllegalStateException("bug: no rank has " + parameter);
    }
    return having;
  }

  private Gradient gradient(int rank, String name) {
    Gradient found = subject.rank(rank).gradients.get(name);
    if (found == null) {
      throw new IllegalStateException("bug: rank " + rank + " has no gradient of " + name);
    }
    return found;
  }

  /** The sum that finishing is to make, made here. */
  private double[] summed(String name, int rank) {
    Gradient mine = gradient(rank, name);
    RankGrid grid = grid(mine.module());
    double[] sum = new double[mine.own().length];
    for (int r : having(name)) {
      boolean sameTp = grid.coordinate(global(r), Dim.TP) == grid.coordinate(global(rank), Dim.TP);
      if (sameTp || mine.sharding().sequenceParallel()) {
        Vectors.add(sum, gradient(r, name).own());
      }
    }
    return sum;
  }

  /** A rank's part of a whole gradient. */
  private static double[] cut(double[] whole, Gradient part, RankGrid grid, int rank) {
    if (part.sharding().axis().isEmpty()) {
      return whole;
    }
    int axis = part.sharding().axis().getAsInt();
    Shape shape = part.shape();
    int run = (int) shape.inner(axis) * shape.dim(axis);
    int tp = grid.size(Dim.TP);
    int t = grid.coordinate(rank, Dim.TP);
    double[] own = new double[(int) shape.elements()];
    for (int o = 0; o < shape.outer(axis); o++) {
      System.arraycopy(whole, (o * tp + t) * run, own, o * run, run);
    }
    return own;
  }

  private Map<String, Double> ratios() {
    Map<String, Double> ratios = new LinkedHashMap<>();
    if (subject.isFailed()) {
      return ratios;
    }
    for (ModuleRole module : ModuleRole.values()) {
      double expected = 0;
      double got = 0;
      for (Map.Entry<String, Gradient> e : one.gradients.entrySet()) {
        if (e.getValue().module() == module) {
          expected += StrictMath.pow(Vectors.norm(e.getValue().finished()), 2);
          boolean whole = e.getValue().sharding().axis().isEmpty();
          for (int r : having(e.getKey())) {
            RankGrid grid = grid(module);
            int rank = global(r);
            boolean first =
                grid.coordinate(rank, Dim.DP) == 0
                    && grid.coordinate(rank, Dim.CP) == 0
                    && (!whole || grid.coordinate(rank, Dim.TP) == 0);
            if (first) {
              Gradient g = gradient(r, e.getKey());
              got += StrictMath.pow(Vectors.norm(g.finished()), 2);
            }
          }
        }
      }
      ratios.put(module.token(), expected == got ? 1 : Math.sqrt(got / expected));
    }
    return ratios;
  }

  /** Ranks that have the same part of a parameter must have the same bits. */
  private List<String> unequal() {
    List<String> unequal = new ArrayList<>();
    if (subject.isFailed()) {
      return unequal;
    }
    one.gradients.forEach((name, whole) -> {
      RankGrid grid = grid(whole.module());
      Map<Integer, double[]> first = new HashMap<>();
      for (int r : having(name)) {
        Gradient g = gradient(r, name);
        int part = g.sharding().axis().isEmpty() ? 0 : grid.coordinate(global(r), Dim.TP);
        double[] before = first.putIfAbsent(part, g.finished());
        if (before != null && !Arrays.equals(before, g.finished())) {
          unequal.add(name + " on rank " + global(r));
        }
      }
    });
    return unequal;
  }
}
