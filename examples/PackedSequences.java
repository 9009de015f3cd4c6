/*
 * Several documents in one sequence: attention stays inside of each, and takes the time of that.
 *
 * A SequencePart that knows its documents is all that a model needs; positions are counted from the
 * beginning of each. Here the same transformer sees 512 tokens as one document and as four.
 *
 * Run:      scripts/run-java examples/PackedSequences.java
 * Expected: (checked by ExamplesTest)
 *   [0, 512]: attention counts 16.8 Mflop, block and head 84.4 us, last logit 0.7904
 *   [0, 100, 128, 384, 512]: attention counts 6.0 Mflop, block and head 58.2 us, last logit 0.8407
 */
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.parallel.Documents;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

public final class PackedSequences {
  private static final int TOKENS = 512;
  private static final TransformerConfig CONFIG =
      new TransformerConfig("small", 32, 1, 4, 4, 8, 64, 16, TOKENS, TransformerConfig.Style.LLAMA);

  public static void main(String[] args) {
    run(Documents.ofLengths(TOKENS));
    run(Documents.ofLengths(100, 28, 256, 128));
  }

  private static void run(Documents documents) {
    Machine machine = Machines.load("ring", List.of("system.sips.count=2"));
    CclConfig ccl =
        CclConfig.load(
            Optional.empty(),
            List.of("defaults.algorithm=ring", "algorithms.ring.world_size=1"));
    TorchOptions options =
        TorchOptions.DEFAULT.withCollectives(CollectiveLibrary.open(machine, ccl));
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup();
      torch.multiprocessing().spawn(worker -> step(worker, documents), 1);
    }
  }

  private static void step(Worker worker, Documents documents) {
    Torch torch = worker.torch();
    ParallelLayout layout = ParallelLayout.create(worker.distributed(), 1, 1, 1, false);
    Transformer model = new Transformer(CONFIG, layout, new Init(torch, DType.F32, 1, 0.2));
    SequencePart part = new SequencePart(TOKENS, 1, 0).ofDocuments(documents);
    int[] ids = new int[TOKENS];
    Arrays.setAll(ids, i -> i * 7 % 16);
    try (Graph graph = Graph.of(torch)) {
      Variable embedded = model.embed(graph, ids, 1, part);
      torch.synchronize();
      long before = torch.simulator().nowPs();
      Variable logits = model.decode(graph, embedded, part);
      double last = logits.value().toDoubles()[(TOKENS - 1) * 16]; // waits for all kernels
      double us = (torch.simulator().nowPs() - before) / 1e6;
      double flops = graph.compute().work().get("layers.0.attention.attention").flops();
      System.out.println(
          String.format(
              Locale.ROOT,
              "%s: attention counts %.1f Mflop, block and head %.1f us, last logit %.4f",
              documents.cumulative(), flops / 1e6, us, last));
    }
  }
}
