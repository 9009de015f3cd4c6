package org.kernbench.nn.pipeline;

import java.util.List;
import java.util.function.Supplier;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.RowCollectives;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Work;

/**
 * Messages between two ranks that have neighbouring stages, in a layout that is the same for both.
 *
 * @param pair the two ranks
 */
record StageMessages(Torch torch, ProcessGroup pair) implements Hop {
  private record Message(Tensor tensor, Work work) implements Arrival {
    @Override
    public Tensor await() {
      work.await();
      return tensor;
    }

    @Override
    public List<Work> works() {
      return List.of(work);
    }

    @Override
    public long bytes() {
      return tensor.sizeBytes();
    }

    @Override
    public void close() {
      tensor.close();
    }
  }

  private int peer() {
    return pair.globalRank(1 - pair.rank());
  }

  private List<Work> send(Tensor tensor) {
    return List.of(pair.isend(RowCollectives.asRows(tensor), peer()));
  }

  private Arrival receive(String name, Shape shape, DType dtype) {
    Tensor home = Compute.spread(torch, PipelineStep.NAME + name, shape, dtype);
    return new Message(home, pair.irecv(RowCollectives.asRows(home), peer()));
  }

  @Override
  public List<Work> sendActivation(Graph graph, Variable out) {
    return send(out.value());
  }

  @Override
  public Arrival receiveActivation(Supplier<Graph> graph, Shape shape, DType dtype) {
    return receive(".activation", shape, dtype);
  }

  @Override
  public List<Work> sendGradient(Graph graph, Variable in, Tensor grad) {
    return send(grad);
  }

  @Override
  public Arrival receiveGradient(Graph graph, Variable out) {
    return receive(".grad.activation", out.shape(), out.dtype());
  }
}
