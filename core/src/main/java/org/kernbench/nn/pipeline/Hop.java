package org.kernbench.nn.pipeline;

import java.util.List;
import java.util.function.Supplier;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Work;

/**
 * The way between a stage and the next one, which other ranks have: activations go forwards, their
 * gradients back. Nothing waits here for the other side, so that the order of a schedule's actions
 * alone decides who waits for whom. Within a module it is a message between two ranks ({@link
 * PipelineLayout}); between modules whose ranks are divided otherwise it may be a bridge.
 *
 * <p>Each rank of a stage calls alike, also one that itself sends nothing.
 */
public interface Hop {
  /** Something that is on its way to this rank. */
  interface Arrival {
    /**
     * Waits until the other side has sent it; then kernels may use it. The same tensor each time.
     */
    Tensor await();

    /** The messages that bring it to this rank itself. */
    List<Work> works();

    /** What it holds beside the graph that it was asked for. */
    long bytes();

    /** Gives back what it holds. */
    void close();
  }

  /** A stage's output leaves for the next stage; the graph lives until it has left. */
  List<Work> sendActivation(Graph graph, Variable out);

  /**
   * A stage's input comes from the stage before.
   *
   * @param graph that of the microbatch on this stage, made when it is first asked for
   */
  Arrival receiveActivation(Supplier<Graph> graph, Shape shape, DType dtype);

  /** The gradient of a stage's input leaves for the stage before. */
  List<Work> sendGradient(Graph graph, Variable in, Tensor grad);

  /** The gradient of a stage's output comes from the next stage. */
  Arrival receiveGradient(Graph graph, Variable out);
}
