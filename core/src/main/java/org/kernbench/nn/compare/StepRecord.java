package org.kernbench.nn.compare;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;
import java.util.zip.CRC32C;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.multimodal.TwoModuleTraining;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.Division;
import org.kernbench.nn.optim.GradientSync;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.torch.Tensor;

/**
 * What the ranks of a layout have at the end of one step, read on the host: outputs or losses,
 * gradients, parameters. Each rank's part knows which elements of the whole tensor it holds, so
 * that {@link StepCheck} can lay it beside a run on one rank.
 */
public final class StepRecord {
  private final Map<Kind, Map<String, Whole>> tensors = new LinkedHashMap<>();
  private final Map<String, Whole> first = new LinkedHashMap<>();
  private final Set<String> matrices = new HashSet<>();

  /** What {@link #largestNorm} found since something was added last. */
  private final Map<Kind, Double> largest = new EnumMap<>(Kind.class);

  /** What sort of tensor it is. */
  public enum Kind {
    /** What the part of the model computes. */
    OUTPUT("outputs"),
    /** The sum of the losses of all tokens that count. */
    LOSS("loss"),
    /** The gradient of what the part of the model was given. */
    INPUT_GRADIENT("gradients of inputs"),
    /** The gradient of a parameter, as the optimizer gets it. */
    GRADIENT("gradients of parameters"),
    /** The norm of all gradients before they are shrunk to a common one. */
    NORM("norm of all gradients"),
    /** A parameter after the step. */
    PARAMETER("stepped parameters");

    private final String words;

    Kind(String words) {
      this.words = words;
    }

    /** For reports. */
    public String words() {
      return words;
    }
  }

  /** A rank's part; {@code at} is the element of the whole that an element is. */
  record Part(int rank, double[] values, IntUnaryOperator at) {}

  /** A tensor of so many elements, and what the ranks have of it. */
  record Whole(int elements, List<Part> parts) {
    /** All elements, each from the first rank that has it; NaN where no rank has one. */
    double[] values() {
      double[] whole = new double[elements];
      Arrays.fill(whole, Double.NaN);
      boolean[] found = new boolean[elements];
      for (Part part : parts) {
        for (int i = 0; i < part.values.length; i++) {
          int to = part.at.applyAsInt(i);
          if (!found[to]) {
            found[to] = true;
            whole[to] = part.values[i];
          }
        }
      }
      return whole;
    }
  }

  /** Nothing yet. */
  public StepRecord() {}

  /** The tensors of a kind, by name, in the order in which they came. */
  Map<String, Whole> of(Kind kind) {
    return tensors.getOrDefault(kind, Map.of());
  }

  /** The largest norm of a tensor of a kind; 0 if there is none. */
  double largestNorm(Kind kind) {
    return largest.computeIfAbsent(
        kind,
        k -> of(k).values().stream().mapToDouble(w -> Vectors.norm(w.values())).max().orElse(0));
  }

  /**
   * A digest of all that was recorded, by name and rank: runs with the same bits have the same,
   * whichever rank came to its end first.
   */
  public String hash() {
    CRC32C bits = new CRC32C();
    ByteBuffer one = ByteBuffer.allocate(Double.BYTES);
    for (Map<String, Whole> ofKind : new TreeMap<>(tensors).values()) {
      for (Whole whole : new TreeMap<>(ofKind).values()) {
        for (Part part : byRank(whole)) {
          for (double v : part.values) {
            bits.update(one.clear().putDouble(v).flip());
          }
        }
      }
    }
    return String.format(Locale.ROOT, "%08x", bits.getValue());
  }

  /** Ranks come to their ends in another order without time. */
  private static List<Part> byRank(Whole whole) {
    return whole.parts.stream().sorted(Comparator.comparingInt(Part::rank)).toList();
  }

  /**
   * Adds a rank's part of a tensor.
   *
   * @param elements of the whole tensor
   * @param at which element of the whole an element is
   */
  public void add(
      Kind kind, String name, int rank, double[] values, int elements, IntUnaryOperator at) {
    largest.remove(kind);
    add(
        tensors.computeIfAbsent(kind, k -> new LinkedHashMap<>()),
        name,
        new Part(rank, values.clone(), at),
        elements);
  }

  private static void add(Map<String, Whole> to, String name, Part part, int elements) {
    to.computeIfAbsent(name, n -> new Whole(elements, new ArrayList<>())).parts.add(part);
  }

  /** Adds a number that ranks have parts of a sum of. */
  public void addToSum(Kind kind, String name, double more) {
    largest.remove(kind);
    Map<String, Whole> ofKind = tensors.computeIfAbsent(kind, k -> new LinkedHashMap<>());
    Whole before = ofKind.get(name);
    double sum = (before == null ? 0 : before.parts.getFirst().values[0]) + more;
    ofKind.put(name, new Whole(1, List.of(new Part(0, new double[] {sum}, i -> i))));
  }

  /** Adds the norm of all gradients, given its square, as a rank has it. */
  public void addNorm(int rank, Tensor square) {
    double[] norm = {Math.sqrt(square.get(0))};
    add(Kind.NORM, "all gradients", rank, norm, 1, i -> i);
  }

  /** Adds the gradients of a model on a rank, after they have been summed over ranks. */
  public void addGradients(int rank, DataParallel data) {
    for (Parameter p : data.owned()) {
      int from = p.whole().isPresent() ? start(p, data) : 0;
      Parameter part = p.whole().orElse(p);
      double[] values = GradientSync.gradient(p).toDoubles();
      IntUnaryOperator at = inWhole(part, data.layout());
      int elements = whole(part, data.layout());
      add(Kind.GRADIENT, p.name(), rank, values, elements, i -> at.applyAsInt(i + from));
    }
  }

  /** The first element of a parameter that a rank's piece of it has. */
  private static int start(Parameter piece, DataParallel data) {
    for (Division division : data.divisions()) {
      if (piece.whole().filter(w -> w == division.parameter()).isPresent()) {
        return division.from(division.group().rank());
      }
    }
    throw new IllegalStateException("bug: " + piece.name() + " is a piece of nothing");
  }

  /** Adds the parameters of a model on a rank, gathered if ranks divide them. */
  public void addParameters(int rank, DataParallel data) {
    for (Parameter p : data.parameters()) {
      add(
          Kind.PARAMETER,
          p.name(),
          rank,
          p.value().toDoubles(),
          whole(p, data.layout()),
          inWhole(p, data.layout()));
    }
  }

  /** Adds what a rank's optimizer has changed of them, for which nothing has to be gathered. */
  public void addOwnParameters(int rank, DataParallel data) {
    for (Parameter p : data.owned()) {
      int from = p.whole().isPresent() ? start(p, data) : 0;
      Parameter part = p.whole().orElse(p);
      IntUnaryOperator at = inWhole(part, data.layout());
      int elements = whole(part, data.layout());
      double[] values = p.value().toDoubles();
      add(Kind.PARAMETER, p.name(), rank, values, elements, i -> at.applyAsInt(i + from));
    }
  }

  /** Keeps the first values of a model's parameters on a rank. */
  public void keepFirst(int rank, DataParallel data) {
    for (Parameter p : data.parameters()) {
      Part part = new Part(rank, p.value().toDoubles(), inWhole(p, data.layout()));
      add(first, p.name(), part, whole(p, data.layout()));
      if (p.shape().rank() > 1) {
        matrices.add(p.name());
      }
    }
  }

  /** Keeps the first values of a parameter that is whole. */
  void keepFirst(String name, double[] values, boolean isMatrix) {
    add(first, name, new Part(0, values.clone(), i -> i), values.length);
    if (isMatrix) {
      matrices.add(name);
    }
  }

  /** Keeps the first values of two modules' parameters. */
  public void keepFirst(int rank, TwoModuleTraining training) {
    training.data().forEach(module -> keepFirst(rank, module));
  }

  /** The value of a parameter before the step; none if it was not kept. */
  double[] first(String parameter) {
    Whole whole = first.get(parameter);
    return whole == null ? new double[0] : whole.values();
  }

  /** What there would be if the optimizer had left parameters as they were at first. */
  public StepRecord unstepped() {
    StepRecord before = new StepRecord();
    before.tensors.put(Kind.PARAMETER, first);
    return before;
  }

  /** Whether it is a matrix, which decays, and no vector. */
  boolean isMatrix(String parameter) {
    return matrices.contains(parameter);
  }

  /** Adds gradients, their norm and the parameters of two modules after a step. */
  public void add(int rank, TwoModuleTraining training) {
    for (DataParallel data : training.data()) {
      addGradients(rank, data);
      addParameters(rank, data);
    }
    training.squareOfNorm().ifPresent(square -> addNorm(rank, square));
  }

  // ---- parts of parameters ----

  private static int whole(Parameter p, ParallelLayout layout) {
    int ranks = p.sharding().axis().isPresent() ? p.sharding().over(layout).size() : 1;
    return Math.toIntExact(p.shape().elements() * ranks);
  }

  /** Ranks have runs of the whole in turn, as {@link Init} deals them out. */
  private static IntUnaryOperator inWhole(Parameter p, ParallelLayout layout) {
    if (p.sharding().axis().isEmpty()) {
      return i -> i;
    }
    int axis = p.sharding().axis().getAsInt();
    int run = Math.toIntExact(p.shape().inner(axis) * p.shape().dim(axis) / p.sharding().stride());
    int ranks = p.sharding().over(layout).size();
    int rank = p.sharding().over(layout).rank();
    return i -> (i / run * ranks + rank) * run + i % run;
  }
}
