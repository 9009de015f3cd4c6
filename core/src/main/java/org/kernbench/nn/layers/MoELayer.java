package org.kernbench.nn.layers;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Mode;
import org.kernbench.nn.autograd.Gating;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.GroupedLinear;
import org.kernbench.nn.autograd.Mapping;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.autograd.WeightedRows;
import org.kernbench.nn.experts.Choices;
import org.kernbench.nn.experts.DispatchPlan;
import org.kernbench.nn.experts.ExpertCosts;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.experts.ExpertsConfig.Scoring;
import org.kernbench.nn.experts.StageTokens;
import org.kernbench.nn.experts.StageTokens.Token;
import org.kernbench.nn.kernels.RowCollectives;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * A mixture of experts in place of a block's feed-forward part ({@code MoELayer} of Megatron-LM): a
 * router scores all experts for each token, copies of the token go to the experts it chose, and
 * their outputs are added, each times its weight.
 *
 * <p>Experts are divided over the {@code ep} ranks, and each of them over the {@code etp} ranks
 * like a feed-forward part over {@code tp}. Every rank of a stage has other tokens: with {@code tp}
 * above 1 sequence parallelism is needed, which divides them. The order of tokens is that of {@link
 * DispatchPlan}.
 */
public final class MoELayer implements Module {
  private final Parts parts = new Parts();
  private final String name;
  private final int layer;
  private final ExpertsConfig config;
  private final int hidden;
  private final ParallelLayout layout;
  private final ExpertGroups groups;
  private final Parameter router;
  private final List<Parameter> ups = new ArrayList<>();
  private final List<Parameter> gates = new ArrayList<>();
  private final List<Parameter> downs = new ArrayList<>();
  private final @Nullable ExpertBalance balance;
  private @Nullable DispatchPlan latest;
  private Dispatched dispatched = Dispatched.NOTHING;

  /**
   * The experts of a block.
   *
   * @param layer number of the block in the model, from 0
   * @throws LayoutException if the layout cannot divide the experts
   */
  public MoELayer(
      String name, int layer, int hidden, ExpertsConfig config, ParallelLayout layout, Init init) {
    this.name = name;
    this.layer = layer;
    this.config = config;
    this.hidden = hidden;
    this.layout = layout;
    this.groups = groups(name, config, layout);
    this.router =
        parts.add(
            init.normal(
                name + ".router.weight",
                Shape.of(config.experts(), hidden),
                layout.sequenceParallel() ? Sharding.SEQUENCE : Sharding.REPLICATED,
                layout.tp()));
    this.balance =
        config.isBalanced()
            ? new ExpertBalance(name + ".router.bias", config.experts(), config.balance(), init)
            : null;
    if (balance != null) {
      parts.add(balance.bias());
    }
    int each = config.experts() / groups.ep().size();
    int first = groups.ep().rank() * each;
    Shape in = Shape.of(config.ffn(), hidden);
    for (int e = first; e < first + each; e++) {
      String expert = name + "." + e;
      ups.add(parts.add(init.normal(expert + ".up.weight", in, Sharding.ofExpert(0), etp())));
      gates.add(parts.add(init.normal(expert + ".gate.weight", in, Sharding.ofExpert(0), etp())));
      Shape out = Shape.of(hidden, config.ffn());
      downs.add(parts.add(init.normal(expert + ".down.weight", out, Sharding.ofExpert(1), etp())));
    }
  }

  private org.kernbench.torch.ProcessGroup etp() {
    return groups.etp();
  }

  private static ExpertGroups groups(String name, ExpertsConfig config, ParallelLayout layout) {
    ExpertGroups groups =
        layout
            .experts()
            .orElseThrow(() ->
                LayoutException.state(
                    name + ": the layout has no groups of experts; give it ExpertGroups.Sizes"));
    if (config.experts() % groups.ep().size() != 0 || config.ffn() % groups.etp().size() != 0) {
      throw LayoutException.argument(
          "%s: %s experts of inner width %s over ep %s, etp %s; expected ep and etp that divide them"
              .formatted(
                  name, config.experts(), config.ffn(), groups.ep().size(), groups.etp().size()));
    }
    if (layout.tp().size() > 1 && !layout.sequenceParallel()) {
      throw LayoutException.argument(
          "%s: experts with tp %s need sequence parallelism, or every tensor-parallel rank would send the same tokens"
              .formatted(name, layout.tp().size()));
    }
    return groups;
  }

  /** How tokens went in the latest forward pass. */
  public Optional<DispatchPlan> latest() {
    return Optional.ofNullable(latest);
  }

  /**
   * How tokens of this rank, and of others to its experts, went in all forward passes that have
   * been backwards: each counts once, also if it is made again for that.
   *
   * @param copies tokens times choices
   * @param dropped of these, those that an expert had no room for
   * @param mostSent copies that one dispatch sent to other ranks, at most
   * @param mostGot copies that one dispatch got from others, at most
   * @param perExpert copies that each of this rank's experts computed
   * @param padded these and what fills up arrays of the engine
   */
  public record Dispatched(
      long copies, long dropped, int mostSent, int mostGot, List<Long> perExpert, long padded) {
    /** No pass has been backwards. */
    public static final Dispatched NOTHING = new Dispatched(0, 0, 0, 0, List.of(), 0);

    private Dispatched plus(DispatchPlan plan, DispatchPlan.Place place, int tile) {
      int[] each = plan.perExpert();
      List<Long> sums = new ArrayList<>();
      for (int e = 0; e < each.length; e++) {
        sums.add(each[e] + (perExpert.isEmpty() ? 0 : perExpert.get(e)));
      }
      return new Dispatched(
          copies + plan.places().length,
          dropped + plan.dropped(),
          Math.max(mostSent, plan.sentAway(place)),
          Math.max(mostGot, plan.gotFromOthers(place)),
          List.copyOf(sums),
          padded + ExpertCosts.paddedRows(each, tile));
    }
  }

  /** What has gone to experts so far. */
  public Dispatched dispatched() {
    return dispatched;
  }

  /** Weights of experts that nothing came to in the latest forward pass. */
  public List<Parameter> idle() {
    List<Parameter> idle = new ArrayList<>();
    int[] each = latest == null ? new int[0] : latest.perExpert();
    for (int i = 0; i < each.length; i++) {
      if (each[i] == 0) {
        idle.addAll(List.of(ups.get(i), gates.get(i), downs.get(i)));
      }
    }
    return idle;
  }

  /**
   * The bias that makes experts equally busy, {@code [experts]}, where the shape has one and scores
   * choose.
   */
  public Optional<Parameter> bias() {
    return Optional.ofNullable(balance).map(ExpertBalance::bias);
  }

  /**
   * Tokens of all ranks and microbatches that chose each expert and have been backwards since the
   * last {@link #balance}; empty without a bias.
   */
  public long[] loads() {
    return balance == null ? new long[0] : balance.loads();
  }

  /**
   * Changes the bias, if there is one, by what tokens chose since the last time; to be called after
   * each step of the optimizer, by all ranks.
   */
  public void balance(Torch torch) {
    if (balance != null) {
      balance.step(torch);
    }
  }

  private void count(Choices chosen, StageTokens tokens) {
    if (balance != null) {
      balance.count(chosen, tokens, groups.stage().size());
    }
  }

  /** The shape. */
  public ExpertsConfig config() {
    return config;
  }

  /**
   * The sum of what each token's experts make of it.
   *
   * @param x {@code [positions, batch, hidden]}, this rank's rows
   * @param part which tokens they are
   * @return as x
   */
  public Variable forward(Graph graph, Variable x, SequencePart part) {
    try (Graph.Section section = graph.section(name)) {
      return mixed(graph, x, part);
    }
  }

  private Variable mixed(Graph graph, Variable x, SequencePart part) {
    int batch = x.dim(1);
    StageTokens tokens = StageTokens.of(layout, part, batch);
    Variable logits = graph.linear(x, router);
    Choices chosen = chosen(graph, logits, tokens);
    Choices kept = DispatchPlan.within(sent(graph.recipe(), chosen), config, part.sequence());
    DispatchPlan plan = plan(tokens, kept);
    latest = plan;
    Token[] own = tokens.of(groups.stage().rank());
    Variable weights =
        gating()
            .weights(
                graph,
                logits,
                choicesOf(chosen, own),
                auxiliary(chosen, tokens, own, part),
                () -> {
                  count(chosen, tokens);
                  int tile = GroupedLinear.tileRows(graph.torch());
                  dispatched = dispatched.plus(plan, place(), tile);
                });
    Variable outputs = through(graph, plan, graph.reshape(x, Shape.of(x.rows(), hidden)));
    Variable copies = graph.selectRows(outputs, plan.places());
    return graph.reshape(WeightedRows.apply(graph, copies, weights), x.shape());
  }

  private Gating gating() {
    return new Gating(
        config.experts(),
        config.topK(),
        config.scoring() == Scoring.SOFTMAX,
        config.normalised(),
        config.scale(),
        config.groups().count(),
        config.groups().taken());
  }

  private static int[][] choicesOf(Choices choices, Token[] tokens) {
    int[][] of = new int[tokens.length][];
    for (int i = 0; i < of.length; i++) {
      of[i] = choices.of(tokens[i].sample(), tokens[i].position());
    }
    return of;
  }

  // ---- which experts ----

  private Choices chosen(Graph graph, Variable logits, StageTokens tokens) {
    if (!config.routing().isKnown()) {
      return byScore(graph, logits, tokens);
    }
    Map<Token, int[]> known = new HashMap<>();
    int length = tokens.part().sequence();
    return (sample, position) ->
        known.computeIfAbsent(
            new Token(sample, position),
            t -> config.routing().of(config, layer, sample, position, length));
  }

  /** Every rank finds the experts of its tokens, and tells all others of the stage. */
  private Choices byScore(Graph graph, Variable logits, StageTokens tokens) {
    if (graph.torch().simulator().mode() == Mode.TIME) {
      throw LayoutException.state(
          """
          %s: without values there are no scores to choose experts by; expected another routing \
          in mode time, e.g. drawn\
          """
              .formatted(name));
    }
    Tensor own = gating().choose(graph, logits, bias());
    int ranks = groups.stage().size();
    Tensor all = own;
    if (ranks > 1) {
      Shape shape = Shape.of(own.shape().dim(0) * ranks, config.topK());
      all = graph.compute().empty(graph.name("routing"), shape, own.dtype());
      new RowCollectives(graph.compute(), groups.stage())
          .allGather(graph.name("routing"), all, own, List.of());
    }
    double[] values = all.toDoubles();
    Map<Token, int[]> found = new HashMap<>();
    int at = 0;
    for (int rank = 0; rank < ranks; rank++) {
      for (Token token : tokens.of(rank)) {
        int[] experts = new int[config.topK()];
        for (int j = 0; j < experts.length; j++) {
          experts[j] = (int) values[at++];
        }
        found.put(token, experts);
      }
    }
    return (sample, position) -> {
      int[] experts = found.get(new Token(sample, position));
      if (experts == null) {
        throw new IllegalStateException("bug: no rank has sample " + sample + " at " + position);
      }
      return experts;
    };
  }

  private Choices sent(Recipe recipe, Choices chosen) {
    return (sample, position) -> {
      int[] to = chosen.of(sample, position).clone();
      for (int j = 0; j < to.length; j++) {
        to[j] = recipe.expert(name, sample, position, j, to[j], config.experts());
      }
      return to;
    };
  }

  private DispatchPlan.Place place() {
    return new DispatchPlan.Place(
        groups.etp().size(), groups.etp().rank(), groups.ep().size(), groups.ep().rank());
  }

  private DispatchPlan plan(StageTokens tokens, Choices kept) {
    return DispatchPlan.of(
        config.experts(), place(), (m, q) -> choicesOf(kept, tokens.of(groups.inStage(m, q))));
  }

  /** What the auxiliary loss adds to the gradient of each score. */
  private Optional<Supplier<double[]>> auxiliary(
      Choices chosen, StageTokens tokens, Token[] own, SequencePart part) {
    if (config.auxiliary() == 0) {
      return Optional.empty();
    }
    return Optional.of(() -> {
      int length = part.sequence();
      Map<Integer, int[]> counts = new HashMap<>();
      for (int sample : tokens.samples()) {
        int[] of = new int[config.experts()];
        for (int position = 0; position < length; position++) {
          for (int e : chosen.of(sample, position)) {
            of[e]++;
          }
        }
        counts.put(sample, of);
      }
      double[] all = new double[own.length * config.experts()];
      for (int i = 0; i < all.length; i++) {
        int[] of = counts.getOrDefault(own[i / config.experts()].sample(), new int[0]);
        all[i] = config.auxiliaryPer(of[i % config.experts()], length);
      }
      return all;
    });
  }

  // ---- to the experts and back ----

  private Variable through(Graph graph, DispatchPlan plan, Variable rows) {
    Variable arrived;
    try (Graph.Section section = graph.section("dispatch")) {
      Variable sent = graph.selectRows(rows, plan.sent());
      Variable received = graph.allToAll(sent, groups.ep(), plan.fromPeers(), plan.toPeers());
      Variable gathered =
          graph.map(Mapping.GATHER_FROM_SEQUENCE, received, groups.etp(), plan.gathered());
      arrived = graph.selectRows(gathered, plan.byExpert());
    }
    Variable made = experts(graph, plan.perExpert(), arrived);
    try (Graph.Section section = graph.section("combine")) {
      Variable inOrder = graph.selectRows(made, plan.back());
      Variable summed =
          graph.map(Mapping.REDUCE_SCATTER_TO_SEQUENCE, inOrder, groups.etp(), plan.gathered());
      return graph.allToAll(summed, groups.ep(), plan.toPeers(), plan.fromPeers());
    }
  }

  private Variable experts(Graph graph, int[] counts, Variable rows) {
    Variable up;
    Variable gate;
    try (Graph.Section section = graph.section("up")) {
      up = GroupedLinear.apply(graph, rows, counts, ups);
    }
    try (Graph.Section section = graph.section("gate")) {
      gate = GroupedLinear.apply(graph, rows, counts, gates);
    }
    Variable active = graph.swiglu(gate, up);
    try (Graph.Section section = graph.section("down")) {
      return GroupedLinear.apply(graph, active, counts, downs);
    }
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
