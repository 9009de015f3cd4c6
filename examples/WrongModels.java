/*
 * What three wrong programs with a model on four ranks are told: which group of which ranks, which
 * part of the model, which line (its number is left out here).
 *
 * Run:      scripts/run-java examples/WrongModels.java
 * Expected: (checked by ExamplesTest)
 *   rank 1 leaves
 *     deadlock at t=0.000 ns: no event is queued and 3 of 4 ranks wait
 *       rank 0: allReduce #0 of group tp [0, 1]: f32[4, 8], SUM, which waits for rank 1; called at WrongModels.java, in layers.2.attention.output
 *       ranks 2-3: allReduce #1 of group tp [2, 3]: f32[4, 8], SUM, which waits for its kernel; called at WrongModels.java, in layers.2.mlp.down
 *       rank 1: ended
 *       remedy: every rank must make the same collective calls, equally often
 *   rank 3 sums another vector
 *     1 of 4 ranks failed
 *       rank 3: ranks disagree on what they do together:
 *           rank 2: allReduce #0 of group tp [2, 3]: f32[8], SUM, at WrongModels.java
 *           rank 3: allReduce #0 of group tp [2, 3]: f32[9], SUM, at WrongModels.java
 *           expected the same operation, shape, dtype and reduction on every rank of the group, in the same order
 *   rows of another width
 *     4 of 4 ranks failed
 *       ranks 0 to 3: layers.3.attention.key: linear of layers.3.attention_norm.layernorm f32[4, 1, 6] with weight layers.3.attention.key.weight f32[4, 8]: expected [..., in] and [out, in] of one type; called at WrongModels.java
 */
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.SimulationException;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.TransformerBlock;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

public final class WrongModels {
  private static final int RANKS = 4;
  private static final TransformerConfig MODEL =
      new TransformerConfig("small", 8, 4, 4, 4, 2, 8, 8, 8, TransformerConfig.Style.GPT);
  private static final SequencePart WHOLE = new SequencePart(4, 1, 0);

  private WrongModels() {}

  public static void main(String[] args) {
    show("rank 1 leaves", WrongModels::leaves);
    show("rank 3 sums another vector", WrongModels::sums);
    show("rows of another width", WrongModels::multiplies);
  }

  private static void leaves(Worker w, ParallelLayout layout) {
    if (w.rank() != 1) {
      forward(w, layout, "layers.2", 8);
    }
  }

  private static void sums(Worker w, ParallelLayout layout) {
    int elements = w.rank() == 3 ? 9 : 8;
    layout.tp().allReduce(w.torch().zeros(Shape.of(elements), DType.F32, "x"));
  }

  private static void multiplies(Worker w, ParallelLayout layout) {
    forward(w, layout, "layers.3", 6);
  }

  private static void forward(Worker w, ParallelLayout layout, String name, int width) {
    Init init = new Init(w.torch(), DType.F32, 1, 0.1);
    TransformerBlock block = new TransformerBlock(name, MODEL, layout, init);
    try (Graph graph = Graph.of(w.torch())) {
      Variable h = graph.constant(w.torch().zeros(Shape.of(4, 1, width), DType.F32, "h"));
      block.forward(graph, h, WHOLE);
    }
  }

  private static void show(String what, BiConsumer<Worker, ParallelLayout> body) {
    Machine machine = Machines.load("ring", List.of("system.sips.count=" + RANKS));
    CclConfig ccl =
        CclConfig.load(
            Optional.empty(),
            List.of(
                "defaults.algorithm=ring",
                "algorithms.ring.rank_level=sip",
                "algorithms.ring.world_size=" + RANKS));
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.VALUES);
    System.out.println(what);
    try (Torch torch =
        Torch.open(machine, options.withCollectives(CollectiveLibrary.open(machine, ccl)))) {
      torch.distributed().initProcessGroup("ahbm");
      torch
          .multiprocessing()
          .spawn(
              w -> body.accept(w, ParallelLayout.create(w.distributed(), 2, 1, 2, false)), RANKS);
    } catch (SimulationException e) {
      String told = String.valueOf(e.getMessage()).replaceAll("\\.java:\\d+", ".java");
      System.out.println(told.indent(2).stripTrailing());
    }
  }
}
