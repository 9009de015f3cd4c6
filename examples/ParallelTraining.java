/*
 * One transformer in several parallel layouts: none of them changes what it learns.
 *
 * Every rank has its part of the weights (tensor parallel), of the sequence (context parallel) and of
 * the samples (data parallel). First values depend on the name and the index of a weight only, the
 * loss is a sum over tokens, and gradients are divided by the number of tokens at the end: so losses
 * agree step by step, up to the order of sums in f32.
 *
 * Run:      scripts/run-java examples/ParallelTraining.java
 * Expected: (checked by ExamplesTest)
 *   one rank               loss per token 3.4014 2.7491 2.3059
 *   tensor parallel x 4    loss per token 3.4014 2.7491 2.3059
 *   context parallel x 4   loss per token 3.4014 2.7491 2.3059
 *   data parallel x 4      loss per token 3.4014 2.7491 2.3059
 *   2 x 2 x 2              loss per token 3.4014 2.7491 2.3059
 */
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.GradientSync;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

public final class ParallelTraining {
  private static final int SEQUENCE = 16;
  private static final int SAMPLES = 4;
  private static final TransformerConfig MODEL =
      new TransformerConfig(
          "small", 16, 1, 4, 4, 4, 32, 32, SEQUENCE, TransformerConfig.Style.LLAMA);

  public static void main(String[] args) {
    train("one rank", 1, 1, 1, false);
    train("tensor parallel x 4", 4, 1, 1, true);
    train("context parallel x 4", 1, 4, 1, false);
    train("data parallel x 4", 1, 1, 4, false);
    train("2 x 2 x 2", 2, 2, 2, true);
  }

  private static void train(String name, int tp, int cp, int dp, boolean sequenceParallel) {
    int ranks = tp * cp * dp;
    Machine machine = Machines.load("ring", List.of("system.sips.count=8"));
    CollectiveLibrary collectives =
        CollectiveLibrary.open(
            machine,
            CclConfig.load(
                Optional.empty(),
                List.of(
                    "defaults.algorithm=ring",
                    "algorithms.ring.rank_level=sip",
                    "algorithms.ring.world_size=" + ranks)));
    StringBuilder losses = new StringBuilder();
    TorchOptions options =
        TorchOptions.DEFAULT.withMode(Mode.VALUES).withCollectives(collectives);
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup("ahbm");
      torch
          .multiprocessing()
          .spawn(
              worker -> {
                ParallelLayout layout =
                    ParallelLayout.create(worker.distributed(), tp, cp, dp, sequenceParallel);
                rank(worker, layout, losses);
              },
              ranks);
    }
    System.out.printf(Locale.ROOT, "%-22s loss per token%s%n", name, losses);
  }

  private static void rank(Worker worker, ParallelLayout layout, StringBuilder losses) {
    Torch torch = worker.torch();
    Transformer model = new Transformer(MODEL, layout, new Init(torch, DType.F32, 1, 0.1));
    SequencePart part = new SequencePart(SEQUENCE, layout.cp().size(), layout.cp().rank());
    int batch = SAMPLES / layout.dp().size();
    int[] at = part.own();
    int[] ids = new int[at.length * batch];
    int[] targets = new int[ids.length];
    double[] mask = new double[ids.length];
    for (int i = 0; i < ids.length; i++) {
      int sample = layout.dp().rank() * batch + i % batch;
      ids[i] = (at[i / batch] * 3 + sample) % MODEL.vocabulary();
      targets[i] = (at[i / batch] * 3 + 3 + sample) % MODEL.vocabulary();
      mask[i] = 1;
    }
    List<Parameter> parameters = model.parameters();
    GradientSync gradients = new GradientSync(torch, layout);
    try (Optimizer optimizer = new AdamW(torch, parameters, AdamW.Settings.of(0.02))) {
      for (int step = 0; step < 3; step++) {
        model.zeroGrad();
        try (Graph graph = Graph.of(torch)) {
          Variable perToken = model.forward(graph, ids, targets, batch, part);
          Variable sum = graph.weightedSum(perToken, mask);
          graph.backward(sum);
          gradients.sum(parameters);
          gradients.divideByTokens(parameters, ids.length);
          gradients.clip(parameters, 1);
          optimizer.step();
          report(worker, layout, sum.value(), losses);
        }
      }
    }
  }

  /** The loss of all ranks, which the first prints. */
  private static void report(
      Worker worker, ParallelLayout layout, Tensor sum, StringBuilder losses) {
    if (layout.dpCp().size() > 1) {
      layout.dpCp().allReduce(sum, ReduceKind.SUM);
    }
    double loss = sum.get(0) / (SEQUENCE * SAMPLES);
    if (worker.rank() == 0) {
      losses.append(String.format(Locale.ROOT, " %.4f", loss));
    }
  }
}
