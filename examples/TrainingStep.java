/*
 * What hides communication in a training step: the same step of one transformer on 2 x 2 ranks, first
 * with everything one after the other, then with weight gradients computed beside the sums of input
 * gradients and buckets of gradients summed beside the backward pass, then with an optimizer that is
 * divided over the data-parallel ranks. What it learns is the same to the last bit, and so is the
 * file that training can go on from, which ranks of another layout load.
 *
 * "communicates" adds up all collectives of a rank, "exposed" the part of them in which the rank
 * computes nothing. A collective that shares its PE with computation takes longer; what counts is
 * the step.
 *
 * Run:      scripts/run-java examples/TrainingStep.java
 * Expected: (checked by ExamplesTest)
 *   one after the other  step  113.321 us, communicates   17.442 us, exposed  16.820 us
 *   overlapping          step  107.174 us, communicates   17.744 us, exposed   9.951 us
 *   divided optimizer    step   95.038 us, communicates   19.581 us, exposed  13.010 us
 *   weights and state of the optimizer after the step: equal
 *   loaded by four tensor-parallel ranks, steps taken: 1
 */
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.Checkpoint;
import org.kernbench.nn.optim.Communication;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

public final class TrainingStep {
  private static final int SEQUENCE = 64;
  private static final TransformerConfig MODEL =
      new TransformerConfig(
          "small", 64, 2, 4, 4, 16, 128, 64, SEQUENCE, TransformerConfig.Style.GPT);

  public static void main(String[] args) throws Exception {
    DataParallel.Options buckets = DataParallel.DEFAULT.withBucketBytes(64 << 10);
    Path folder = Files.createTempDirectory("training-step");
    byte[] first = step("one after the other", folder, buckets.withOverlap(false));
    byte[] second = step("overlapping", folder, buckets);
    byte[] third = step("divided optimizer", folder, buckets.withDistributedOptimizer(true));
    System.out.println(
        "weights and state of the optimizer after the step: "
            + (Arrays.equals(first, second) && Arrays.equals(first, third) ? "equal" : "differ"));
    try (Torch torch = open()) {
      torch.distributed().initProcessGroup("ahbm");
      torch.multiprocessing().spawn(w -> resume(w, folder.resolve("step.safetensors")), 4);
    }
  }

  private static Torch open() {
    Machine machine = Machines.load("ring", List.of("system.sips.count=4"));
    CollectiveLibrary collectives =
        CollectiveLibrary.open(
            machine,
            CclConfig.load(
                Optional.empty(),
                List.of("defaults.algorithm=ring", "algorithms.ring.rank_level=sip")));
    return Torch.open(machine, TorchOptions.DEFAULT.withCollectives(collectives));
  }

  private static byte[] step(String name, Path folder, DataParallel.Options options)
      throws Exception {
    Path checkpoint = folder.resolve("step.safetensors");
    try (Torch torch = open()) {
      long[] end = new long[1];
      torch.distributed().initProcessGroup("ahbm");
      torch.multiprocessing().spawn(w -> rank(w, options, checkpoint, end), 4);
      long time = 0;
      long exposed = 0;
      for (Communication.Line line : Communication.of(torch).lines()) {
        if (!line.place().startsWith("gathered")) { // not what saving gathers
          time += line.timePs() * line.groupSize() / 4;
          exposed += line.exposedPs() * line.groupSize() / 4;
        }
      }
      System.out.printf(
          Locale.ROOT,
          "%-20s step %8.3f us, communicates %8.3f us, exposed %7.3f us%n",
          name,
          end[0] / 1e6,
          time / 1e6,
          exposed / 1e6);
    }
    return Files.readAllBytes(checkpoint);
  }

  private static void rank(Worker w, DataParallel.Options options, Path checkpoint, long[] end) {
    Torch torch = w.torch();
    ParallelLayout layout = ParallelLayout.create(w.distributed(), 2, 1, 2, false);
    Transformer model = new Transformer(MODEL, layout, new Init(torch, DType.F32, 1, 0.1));
    int[] ids = new int[SEQUENCE];
    int[] targets = new int[SEQUENCE];
    double[] mask = new double[SEQUENCE];
    for (int i = 0; i < SEQUENCE; i++) {
      ids[i] = (i * 3 + layout.dp().rank()) % MODEL.vocabulary();
      targets[i] = (i * 3 + 3 + layout.dp().rank()) % MODEL.vocabulary();
      mask[i] = 1;
    }
    DataParallel data = new DataParallel(torch, layout, model.parameters(), options);
    try (Graph graph = Graph.of(torch).withOverlap(options.overlap());
        Optimizer optimizer = new AdamW(torch, data.owned(), AdamW.Settings.of(0.01))) {
      Variable perToken =
          model.forward(graph, ids, targets, 1, new SequencePart(SEQUENCE, 1, 0));
      data.zeroGrad();
      data.backward(graph, graph.weightedSum(perToken, mask));
      data.divideByTokens(SEQUENCE);
      optimizer.step();
      data.gather();
      torch.synchronize();
      end[0] = torch.simulator().nowPs();
      new Checkpoint(torch, layout).with(model).with(optimizer, data).save(checkpoint);
    }
  }

  /** With a whole optimizer, where the others had one in parts. */
  private static void resume(Worker w, Path checkpoint) {
    Torch torch = w.torch();
    ParallelLayout layout = ParallelLayout.create(w.distributed(), 4, 1, 1, false);
    Transformer model = new Transformer(MODEL, layout, new Init(torch, DType.F32, 2, 0.1));
    try (Optimizer optimizer =
        new AdamW(torch, model.parameters(), AdamW.Settings.of(0.01))) {
      new Checkpoint(torch, layout).with(model).with(optimizer).load(checkpoint);
      if (w.rank() == 0) {
        System.out.println(
            "loaded by four tensor-parallel ranks, steps taken: " + optimizer.steps());
      }
    }
  }
}
