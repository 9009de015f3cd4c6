/*
 * Dropout that does not depend on the layout: ranks that have the same values have the same mask,
 * and every mask is that of the whole batch.
 *
 * A Graph that is given rates sets values to zero; one that is not, evaluates.
 *
 * Run:      scripts/run-java examples/DropoutLayouts.java
 * Expected: (checked by ExamplesTest)
 *   tp 1, dp 1: loss 3.2379 in step 0, 3.3125 in step 1, 3.3716 without dropout
 *   tp 2, dp 1: loss 3.2379 in step 0, 3.3125 in step 1, 3.3716 without dropout
 *   tp 1, dp 2: loss 3.2379 in step 0, 3.3125 in step 1, 3.3716 without dropout
 */
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.autograd.Dropout;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

public final class DropoutLayouts {
  private static final int TOKENS = 32;
  private static final int SAMPLES = 2;
  private static final TransformerConfig CONFIG =
      new TransformerConfig("small", 32, 2, 4, 4, 8, 64, 16, TOKENS, TransformerConfig.Style.LLAMA);

  /** Rates after attention and feed-forward part, in attention, of embeddings; and a seed. */
  private static final Dropout DROPOUT = new Dropout(0.1, 0.1, 0.05, 2026, 0);

  public static void main(String[] args) {
    run(1, 1);
    run(2, 1);
    run(1, 2);
  }

  private static void run(int tp, int dp) {
    double[] losses = new double[3];
    Machine machine = Machines.load("ring", List.of("system.sips.count=2"));
    CclConfig ccl =
        CclConfig.load(
            Optional.empty(),
            List.of("defaults.algorithm=ring", "algorithms.ring.world_size=" + tp * dp));
    TorchOptions options =
        TorchOptions.DEFAULT
            .withMode(Mode.VALUES)
            .withCollectives(CollectiveLibrary.open(machine, ccl));
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup();
      torch.multiprocessing().spawn(worker -> train(worker, tp, dp, losses), tp * dp);
    }
    System.out.println(
        String.format(
            Locale.ROOT,
            "tp %d, dp %d: loss %.4f in step 0, %.4f in step 1, %.4f without dropout",
            tp, dp, losses[0], losses[1], losses[2]));
  }

  private static void train(Worker worker, int tp, int dp, double[] losses) {
    Torch torch = worker.torch();
    ParallelLayout layout = ParallelLayout.create(worker.distributed(), tp, 1, dp, false);
    Transformer model = new Transformer(CONFIG, layout, new Init(torch, DType.F32, 1, 0.2));
    for (int step = 0; step < 2; step++) {
      try (Graph graph = Graph.of(torch).withDropout(DROPOUT.atStep(step))) {
        double own = loss(graph, model, layout); // other ranks go on meanwhile
        losses[step] += own;
      }
    }
    try (Graph evaluation = Graph.of(torch)) {
      double own = loss(evaluation, model, layout);
      losses[2] += own;
    }
  }

  /** This rank's share of the mean loss; tensor-parallel ranks have the same. */
  private static double loss(Graph graph, Transformer model, ParallelLayout layout) {
    int batch = SAMPLES / layout.dp().size();
    int first = layout.dp().rank() * batch;
    SequencePart part = new SequencePart(TOKENS, 1, 0).ofSamples(first, batch);
    int[] ids = new int[TOKENS * batch];
    Arrays.setAll(ids, i -> (i / batch * 7 + (first + i % batch) * 3) % 16);
    int[] targets = new int[ids.length];
    Arrays.setAll(targets, i -> (ids[i] + 5) % 16);
    double[] each = model.forward(graph, ids, targets, batch, part).value().toDoubles();
    return layout.tp().rank() > 0 ? 0 : Arrays.stream(each).sum() / (TOKENS * SAMPLES);
  }
}
