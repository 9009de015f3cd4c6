/*
 * Linear layers that multiply in 8 bits: with scales from what tensors are now, on which ranks
 * agree, and with scales from the largest values of earlier steps, which nothing waits for.
 *
 * Run:      scripts/run-java examples/EightBits.java
 * Expected: (checked by ExamplesTest)
 *   f32 products:   loss 3.4903 2.3522 1.7153
 *   current scales: loss 3.4234 2.3881 1.8253
 *   delayed scales: loss 3.5084 2.3721 1.7110
 */
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.autograd.F8;
import org.kernbench.nn.autograd.F8History;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.Sgd;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

public final class EightBits {
  private static final int TOKENS = 32;
  private static final int STEPS = 3;
  private static final TransformerConfig CONFIG =
      new TransformerConfig("small", 32, 2, 4, 4, 8, 64, 16, TOKENS, TransformerConfig.Style.LLAMA);

  public static void main(String[] args) {
    System.out.println("f32 products:   loss" + run(EightBits::inFull));
    System.out.println("current scales: loss" + run(EightBits::withCurrentScales));
    System.out.println("delayed scales: loss" + run(EightBits::withDelayedScales));
  }

  private static String run(Function<Training, double[]> training) {
    double[][] losses = new double[1][];
    Machine machine = Machines.load("ring", List.of("system.sips.count=2"));
    CclConfig ccl =
        CclConfig.load(
            Optional.empty(), List.of("defaults.algorithm=ring", "algorithms.ring.world_size=2"));
    TorchOptions options =
        TorchOptions.DEFAULT
            .withMode(Mode.VALUES)
            .withCollectives(CollectiveLibrary.open(machine, ccl));
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup();
      torch
          .multiprocessing()
          .spawn(
              worker -> {
                double[] own = training.apply(new Training(worker));
                if (worker.rank() == 0) {
                  losses[0] = own;
                }
              },
              2);
    }
    StringBuilder line = new StringBuilder();
    Arrays.stream(losses[0]).forEach(l -> line.append(String.format(Locale.ROOT, " %.4f", l)));
    return line.toString();
  }

  private static double[] inFull(Training of) {
    double[] losses = new double[STEPS];
    for (int step = 0; step < STEPS; step++) {
      try (Graph graph = Graph.of(of.torch)) {
        losses[step] = of.step(graph);
      }
    }
    return losses;
  }

  private static double[] withCurrentScales(Training of) {
    double[] losses = new double[STEPS];
    ParallelLayout layout = of.layout;
    F8 f8 = new F8(List.of(layout.dpCp()), List.of(layout.tp()));
    for (int step = 0; step < STEPS; step++) {
      try (Graph graph = Graph.of(of.torch).withF8(Optional.of(f8))) {
        losses[step] = of.step(graph);
      }
    }
    return losses;
  }

  private static double[] withDelayedScales(Training of) {
    double[] losses = new double[STEPS];
    ParallelLayout layout = of.layout;
    try (F8History history = new F8History(of.torch, 16)) {
      for (int step = 0; step < STEPS; step++) {
        try (Graph graph = Graph.of(of.torch).withF8(Optional.of(F8.delayed(history)))) {
          losses[step] = of.step(graph);
        }
        history.step(List.of(layout.tp(), layout.dpCp()));
      }
    }
    return losses;
  }

  /** One rank's model of two that divide its layers. */
  private static final class Training {
    final Torch torch;
    final ParallelLayout layout;
    private final Transformer model;
    private final Sgd optimizer;

    Training(Worker worker) {
      this.torch = worker.torch();
      this.layout = ParallelLayout.create(worker.distributed(), 2, 1, 1, false);
      this.model = new Transformer(CONFIG, layout, new Init(torch, DType.F32, 1, 0.2));
      this.optimizer = new Sgd(torch, model.parameters(), 0.1);
    }

    /** The mean loss before the step. */
    double step(Graph graph) {
      int[] ids = new int[TOKENS];
      Arrays.setAll(ids, i -> i * 7 % 16);
      int[] targets = new int[TOKENS];
      Arrays.setAll(targets, i -> (ids[i] + 5) % 16);
      model.zeroGrad();
      Variable each = model.forward(graph, ids, targets, 1, new SequencePart(TOKENS, 1, 0));
      double[] mean = new double[TOKENS];
      Arrays.fill(mean, 1.0 / TOKENS);
      graph.backward(graph.weightedSum(each, mean));
      optimizer.step();
      return Arrays.stream(each.value().toDoubles()).sum() / TOKENS;
    }
  }
}
