package org.kernbench.nn.multimodal;

import java.util.List;
import java.util.function.Supplier;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.bridge.BridgeCommunicator;
import org.kernbench.nn.bridge.SampleTokens;
import org.kernbench.nn.pipeline.Hop;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Work;

/** The bridge as the way from the encoder's last stage to the language model's first. */
record BridgeHop(BridgeCommunicator bridge, SampleTokens tokens) implements Hop {
  private static final String FORWARD = "bridge";

  /** By which reports know what goes back. */
  private static final String BACKWARD = FORWARD + ".grad";

  /** What it holds is the graph's. */
  private record Came(Graph graph, String place, BridgeCommunicator.Receipt receipt)
      implements Arrival {
    @Override
    public Tensor await() {
      return in(graph, place, receipt::await);
    }

    @Override
    public List<Work> works() {
      return receipt.works();
    }

    @Override
    public long bytes() {
      return 0;
    }

    @Override
    public void close() {}
  }

  private static <T> T in(Graph graph, String place, Supplier<T> work) {
    try (Graph.Section section = graph.section(place)) {
      return work.get();
    }
  }

  @Override
  public List<Work> sendActivation(Graph graph, Variable out) {
    return in(graph, FORWARD, () -> bridge.isendForward(graph, out, tokens));
  }

  @Override
  public Arrival receiveActivation(Supplier<Graph> graphs, Shape shape, DType dtype) {
    Graph graph = graphs.get();
    return new Came(
        graph, FORWARD, in(graph, FORWARD, () -> bridge.irecvForward(graph, shape, dtype, tokens)));
  }

  @Override
  public List<Work> sendGradient(Graph graph, Variable in, Tensor grad) {
    return in(graph, BACKWARD, () -> bridge.isendBackward(graph, in, grad, tokens));
  }

  @Override
  public Arrival receiveGradient(Graph graph, Variable out) {
    return new Came(
        graph, BACKWARD, in(graph, BACKWARD, () -> bridge.irecvBackward(graph, out, tokens)));
  }
}
