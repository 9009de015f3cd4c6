package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What is wrong with a user's program that trains a model names the group by its dimension and its
 * ranks, the part of the model, and the line of the program.
 */
final class ModelMessagesTest {
  /** A program whose ranks do {@code BODY}, whose last line is the one that goes wrong. */
  private static final String PROGRAM =
      """
      import java.util.List;
      import java.util.Optional;
      import org.kernbench.ccl.library.CclConfig;
      import org.kernbench.ccl.library.CollectiveLibrary;
      import org.kernbench.device.Mode;
      import org.kernbench.machine.Machine;
      import org.kernbench.machine.Machines;
      import org.kernbench.nn.autograd.Graph;
      import org.kernbench.nn.autograd.Variable;
      import org.kernbench.nn.layers.*;
      import org.kernbench.nn.parallel.ParallelLayout;
      import org.kernbench.nn.parallel.SequencePart;
      import org.kernbench.tensor.DType;
      import org.kernbench.tensor.Shape;
      import org.kernbench.torch.Torch;
      import org.kernbench.torch.TorchOptions;
      import org.kernbench.torch.Worker;
      import org.kernbench.torch.collective.ReduceKind;

      public class Train {
        static final int RANKS = 4;

        public static void main(String[] args) {
          Machine machine = Machines.load("ring", List.of("system.sips.count=" + RANKS));
          CclConfig ccl = CclConfig.load(Optional.empty(), List.of(
              "defaults.algorithm=ring", "algorithms.ring.rank_level=sip",
              "algorithms.ring.world_size=" + RANKS));
          try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.VALUES)
              .withCollectives(CollectiveLibrary.open(machine, ccl)))) {
            torch.distributed().initProcessGroup("ahbm");
            torch.multiprocessing().spawn(Train::rank, RANKS);
          }
        }

        static Variable loss(Graph g, Transformer model, ParallelLayout layout) {
          SequencePart whole = new SequencePart(4, 1, 0);
          Variable h = model.embed(g, new int[] {1, 2, 3, 4}, 1, whole);
          Variable logits = model.decode(g, h, whole);
          return g.weightedSum(
          g.crossEntropy(logits, new int[] {2, 3, 4, 5}, layout.tp(), 8, 0), new double[] {1, 1, 1, 1});
        }

        static void rank(Worker w) {
          Torch torch = w.torch();
          int tp = TP;
          ParallelLayout layout = ParallelLayout.create(w.distributed(), tp, 1, RANKS / tp, false);
          TransformerConfig config = new TransformerConfig(
              "small", 8, 4, 4, 4, 2, 8, 8, 8, TransformerConfig.Style.GPT);
          Init init = new Init(torch, DType.F32, 1, 0.1);
          BODY
        }
      }
      """;

  private final ClassLoader before = Thread.currentThread().getContextClassLoader();

  @TempDir private Path directory;

  @AfterEach
  void forgetUserClasses() {
    Thread.currentThread().setContextClassLoader(before);
  }

  /** What the program's end says; {@code LINE} in what is expected is its last line. */
  private void assertSays(int tp, String body, String... expected) throws IOException {
    String text =
        PROGRAM.replace("TP;", tp + ";").replace("    BODY", body.indent(4).stripTrailing());
    int line = (int) text.substring(0, text.indexOf("WRONG")).lines().count();
    Path file = Files.writeString(directory.resolve("Train.java"), text.replace("WRONG ", ""));
    StringWriter err = new StringWriter();
    Terminal terminal =
        Terminal.on(OutputStream.nullOutputStream(), new PrintWriter(err), false, false);
    assertThat(JavaProgram.run(terminal, file.toString())).as(err.toString()).isOne();
    for (String part : List.of(expected)) {
      assertThat(err.toString()).contains(part.replace("LINE", "Train.java:" + line));
    }
  }

  @Test
  void shapesThatDifferInATpGroup_nameItsRanks() throws IOException {
    assertSays(
        2,
        """
        int n = w.rank() == 3 ? 9 : 8;
        WRONG layout.tp().allReduce(torch.zeros(Shape.of(n), DType.F32, "x"), ReduceKind.SUM);
        """,
        "rank 2: allReduce #0 of group tp [2, 3]: f32[8], SUM, at LINE\n",
        "rank 3: allReduce #0 of group tp [2, 3]: f32[9], SUM, at LINE\n");
  }

  @Test
  void wrongTensorOfACall_namesTheGroupAndTheLine() throws IOException {
    assertSays(
        2,
        """
        var part = torch.zeros(Shape.of(4), DType.F32, "part");
        var whole = torch.zeros(Shape.of(6), DType.F32, "whole");
        WRONG layout.dp().allGather(whole, part);
        """,
        "rank 1: allGather in group dp [1, 3]: tensor whole has shape [6], the part part has [4], in"
            + " a group of 2; expected 8 rows; called at LINE");
  }

  @Test
  void groupOfOwnDescription_isNamedByIt() throws IOException {
    assertSays(
        2,
        """
        var mine = w.distributed().newGroup(List.of(0, 2), "mine");
        WRONG if (mine.isMember()) mine.broadcast(torch.zeros(Shape.of(4), DType.F32, "x"), 1);
        """,
        "rank 0: broadcast in group mine [0, 2]: root 1; expected the global rank of a member, of"
            + " [0, 2]; called at LINE");
  }

  @Test
  void aRankThatLeaves_isNamedWithGroupLayerAndLine() throws IOException {
    assertSays(
        2,
        """
        Transformer model = new Transformer(config, layout, init);
        if (w.rank() == 1) return;
        Graph g = Graph.of(torch);
        SequencePart whole = new SequencePart(4, 1, 0);
        Variable h = g.constant(torch.zeros(Shape.of(4, 1, 8), DType.F32, "h"));
        WRONG model.decode(g, h, whole);
        """,
        "deadlock",
        "rank 0: allReduce #0 of group tp [0, 1]: f32[4, 8], SUM, which waits for rank 1; called"
            + " at LINE, in layers.0.attention.output",
        "rank 1: ended");
  }

  @Test
  void aRankThatSkipsTheBackwardPass_isNamedWithTheLayerThatWaits() throws IOException {
    assertSays(
        2,
        """
        Transformer model = new Transformer(config, layout, init);
        Graph g = Graph.of(torch);
        Variable loss = loss(g, model, layout);
        if (w.rank() == 2) return;
        WRONG g.backward(loss);
        """,
        "of group tp [2, 3]: f32[4, 8], SUM, which waits for rank 2; called at LINE, in head.grad",
        "rank 2: ended");
  }

  @Test
  void anotherCollectiveThanTheModels_isToldBesideTheLayer() throws IOException {
    assertSays(
        2,
        """
        Transformer model = new Transformer(config, layout, init);
        if (w.rank() == 1) layout.tp().barrier();
        Graph g = Graph.of(torch);
        WRONG Variable h = model.embed(g, new int[] {1, 2, 3, 4}, 1, new SequencePart(4, 1, 0));
        """,
        "rank 0: allReduce #0 of group tp [0, 1]: f32[4, 8], SUM, at LINE, in embedding\n",
        "rank 1: barrier #0 of group tp [0, 1], at Train.java:");
  }

  @Test
  void aProductOfWrongShapes_namesLayerAndLine() throws IOException {
    assertSays(
        2,
        """
        TransformerBlock third = new TransformerBlock("layers.3", config, layout, init);
        Graph g = Graph.of(torch);
        Variable h = g.constant(torch.zeros(Shape.of(4, 1, 6), DType.F32, "h"));
        WRONG third.forward(g, h, new SequencePart(4, 1, 0));
        """,
        "ranks 0 to 3: layers.3.attention",
        "; called at LINE");
  }

  @Test
  void headsThatDoNotDivide_nameLayerGroupAndLine() throws IOException {
    assertSays(
        4,
        """
        TransformerConfig odd = new TransformerConfig(
            "odd", 6, 4, 4, 6, 2, 6, 8, 8, TransformerConfig.Style.GPT);
        WRONG new Transformer(odd, layout, init);
        """,
        "ranks, group tp [0, 1, 2, 3]",
        "; called at LINE");
  }
}
