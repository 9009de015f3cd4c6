package org.kernbench.nn.optim;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Layouts;
import org.kernbench.nn.autograd.Layouts.Layout;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.TrainingRun.Batch;
import org.kernbench.nn.autograd.TrainingRun.Setup;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.Communication.Line;
import org.kernbench.nn.optim.Communication.Phase;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * Bytes on the wire, counted in the log of operations by part of the model and pass, are those of
 * the inventory of {@code docs/spec/megatron.md} 13, which is computed here from the layout alone.
 */
final class CommunicationTest {
  private static final int WORD = 8; // f64

  /** Bytes by place, pass and call. */
  private static final class Inventory {
    private final Setup s;
    private final Map<String, Long> bytes = new TreeMap<>();
    private final List<String> parameters = new ArrayList<>();

    Inventory(Setup setup) {
      this.s = setup;
    }

    private void add(String place, Phase phase, CollectiveOp op, int ranks, long n) {
      if (ranks > 1) {
        bytes.merge(key(place, phase, op, ranks), n, Long::sum);
      }
    }

    static String key(String place, Phase phase, CollectiveOp op, int ranks) {
      return place + " " + phase + " " + op + " of " + ranks;
    }

    /**
     * Every rank sends (p-1)/p of its group's whole, twice for an all-reduce.
     *
     * @param wholes of all groups together
     */
    private void tp(String place, Phase phase, CollectiveOp op, long wholes) {
      long times = op == CollectiveOp.ALL_REDUCE ? 2 : 1;
      add(place, phase, op, s.tp(), times * (s.tp() - 1) * wholes);
    }

    private void cp(String place, Phase phase, CollectiveOp op, long wholes) {
      add(place, phase, op, s.cp(), (s.cp() - 1) * wholes);
    }

    /** Of all groups between their tensor-parallel regions, each row counted in one group. */
    private long rows() {
      return (long) s.sequence() * s.samples();
    }

    private void enter(String place) {
      long n = rows() * s.config().hidden() * WORD;
      if (s.sp()) {
        tp(place, Phase.FORWARD, CollectiveOp.ALL_GATHER, n);
        tp(place, Phase.BACKWARD, CollectiveOp.ALL_GATHER, n);
        tp(place, Phase.BACKWARD, CollectiveOp.REDUCE_SCATTER, n);
      } else {
        tp(place, Phase.BACKWARD, CollectiveOp.ALL_REDUCE, n);
      }
    }

    private void leave(String place) {
      long n = rows() * s.config().hidden() * WORD;
      if (s.sp()) {
        tp(place, Phase.FORWARD, CollectiveOp.REDUCE_SCATTER, n);
        tp(place, Phase.BACKWARD, CollectiveOp.ALL_GATHER, n);
      } else {
        tp(place, Phase.FORWARD, CollectiveOp.ALL_REDUCE, n);
      }
    }

    private void attention(String place) {
      enter(place);
      TransformerConfig c = s.config();
      long keys = rows() * c.keyHeads() * c.headSize() * WORD; // of all tp ranks, each its heads
      if (s.how().exchange() == ContextExchange.RING) {
        cp(place + ".context", Phase.FORWARD, CollectiveOp.POINT_TO_POINT, 2 * keys);
        cp(place + ".context", Phase.BACKWARD, CollectiveOp.POINT_TO_POINT, 2 * 2 * keys);
      } else {
        cp(place + ".context", Phase.FORWARD, CollectiveOp.ALL_GATHER, 2 * keys);
        cp(place + ".context", Phase.BACKWARD, CollectiveOp.REDUCE_SCATTER, 2 * keys);
      }
      leave(place + ".output");
    }

    private void model() {
      leave("embedding");
      for (int i = 0; i < s.config().layers(); i++) {
        attention("layers." + i + ".attention");
        enter("layers." + i + ".mlp");
        leave("layers." + i + ".mlp.down");
      }
      enter("head");
      tp("cross_entropy", Phase.FORWARD, CollectiveOp.ALL_REDUCE, 3 * rows() * WORD);
    }

    /** The gradient of one parameter or bucket. */
    private void gradients(String place, long elements, boolean sequence, boolean divided) {
      int ranks = s.cp() * s.dp();
      boolean fills = s.how().data().isPresent() && !divided;
      long n = WORD * (fills ? filledUp(elements, ranks * (sequence ? s.tp() : 1)) : elements);
      if (sequence) {
        tp(place, Phase.GRADIENTS, CollectiveOp.ALL_REDUCE, n * ranks);
      }
      if (divided) {
        long whole = Math.ceilDiv(elements, ranks) * ranks * (long) WORD;
        long each = (ranks - 1) * whole * s.tp();
        add(place, Phase.GRADIENTS, CollectiveOp.REDUCE_SCATTER, ranks, each);
        add(
            place.replace("gradients", "parameters"),
            Phase.PARAMETERS,
            CollectiveOp.ALL_GATHER,
            ranks,
            each);
      } else {
        add(place, Phase.GRADIENTS, CollectiveOp.ALL_REDUCE, ranks, 2 * (ranks - 1) * n * s.tp());
      }
    }

    /**
     * Buckets are cut into equal parts of the largest power of two of elements that adds little.
     */
    private static long filledUp(long elements, int ranks) {
      long unit = ranks;
      while (2 * unit * 256 <= elements) {
        unit *= 2;
      }
      return ranks == 1 ? elements : elements + Math.floorMod(-elements, unit);
    }

    /** Counting tokens, one number for each rank, and the norm of all gradients. */
    private void step(boolean divided) {
      int ranks = s.cp() * s.dp();
      long tokens = 2L * (ranks - 1) * ranks * WORD * s.tp();
      add("tokens", Phase.STEP, CollectiveOp.ALL_REDUCE, ranks, tokens);
      tp("norm", Phase.STEP, CollectiveOp.ALL_REDUCE, (long) WORD * ranks);
      if (divided) {
        add("norm", Phase.STEP, CollectiveOp.ALL_REDUCE, ranks, 2L * (ranks - 1) * WORD * s.tp());
      }
    }
  }

  private static void check(Layout layout, int layers) {
    Setup s = Layouts.setup(layout, layers);
    Inventory inventory = new Inventory(s);
    inventory.model();
    boolean[] divided = {false};
    Communication got =
        Ranks.communication(
            s.ranks(),
            w -> {
              ParallelLayout groups = s.layout(w);
              Transformer model =
                  new Transformer(s.config(), groups, new Init(w.torch(), DType.F64, 7, 0.2));
              List<Parameter> all = model.parameters();
              if (w.rank() == 0) {
                divided[0] = expectGradients(inventory, all);
              }
              Batch batch = s.batch(groups);
              try (Graph graph = Graph.of(w.torch()).withOverlap(s.how().overlap())) {
                Variable loss = batch.loss(graph, model);
                if (s.how().data().isPresent()) {
                  DataParallel data =
                      new DataParallel(w.torch(), groups, all, s.how().data().get());
                  data.backward(graph, loss);
                  data.divideByTokens(batch.tokens());
                  data.clip(1);
                  data.gather();
                } else {
                  graph.backward(loss);
                  GradientSync sync = new GradientSync(w.torch(), groups);
                  sync.sum(all);
                  sync.divideByTokens(all, batch.tokens());
                  sync.clip(all, 1);
                }
              }
            });
    inventory.step(divided[0]);
    Map<String, Long> counted = new TreeMap<>();
    for (Line line : got.lines()) {
      counted.merge(
          Inventory.key(line.place(), line.phase(), line.op(), line.groupSize()),
          line.sentBytes().orElseThrow(),
          Long::sum);
    }
    assertThat(counted).isEqualTo(inventory.bytes);
  }

  /** What is summed together follows from the order of parameters and the size of buckets. */
  private static boolean expectGradients(Inventory inventory, List<Parameter> all) {
    if (inventory.s.how().data().isEmpty()) {
      for (Parameter p : all) {
        inventory.gradients(p.name(), p.shape().elements(), p.sharding().sequenceParallel(), false);
      }
      return false;
    }
    DataParallel.Options options = inventory.s.how().data().get();
    boolean divided = options.distributedOptimizer() && inventory.s.cp() * inventory.s.dp() > 1;
    int bucket = 0;
    for (boolean sequence : new boolean[] {false, true}) {
      long elements = 0;
      for (Parameter p : all.reversed()) {
        if (p.sharding().sequenceParallel() == sequence) {
          elements += p.shape().elements();
          if (elements * WORD >= options.bucketBytes()) {
            inventory.gradients("gradients." + bucket++, elements, sequence, divided);
            elements = 0;
          }
        }
      }
      if (elements > 0) {
        inventory.gradients("gradients." + bucket++, elements, sequence, divided);
      }
    }
    return divided;
  }

  @ParameterizedTest
  @MethodSource("org.kernbench.nn.autograd.Layouts#some")
  void layout_bytesOnTheWire_areThoseOfTheInventory(Layout layout) {
    check(layout, 1);
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("org.kernbench.nn.autograd.Layouts#all")
  void layoutGrid_bytesOnTheWire_areThoseOfTheInventory(Layout layout) {
    check(layout, 2);
  }
}
