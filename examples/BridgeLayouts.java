/*
 * Two modules on the same four ranks, divided differently: an encoder with tensor parallelism of 4,
 * a language model with two replicas, each of which has two context-parallel ranks.
 *
 * The encoder's output, two samples of four positions, is on all ranks; each replica of the language
 * model takes one sample. A context-parallel rank works on two positions of it, so its gradient is
 * zero at the others: the bridge sums over those ranks, and gathers the samples of all replicas.
 *
 * Run:      scripts/run-java examples/BridgeLayouts.java
 * Expected: (checked by ExamplesTest)
 *   fan-out 2: encoder tp=4,cp=1,dp=1 -> language tp=1,cp=2,dp=2
 *   rank 0 in slot 0: value 0 1 2 3, gradient in 0 0 0 300, out 0 100 200 300 1000 1100 1200 1300
 *   rank 1 in slot 0: value 0 1 2 3, gradient in 0 100 200 0, out 0 100 200 300 1000 1100 1200 1300
 *   rank 2 in slot 1: value 10 11 12 13, gradient in 1000 0 0 1300, out 0 100 200 300 1000 1100 1200 1300
 *   rank 3 in slot 1: value 10 11 12 13, gradient in 0 1100 1200 0, out 0 100 200 300 1000 1100 1200 1300
 */
import java.util.List;
import java.util.Optional;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.bridge.BridgeOptions;
import org.kernbench.nn.bridge.ColocatedBridgeCommunicator;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

public final class BridgeLayouts {
  private static final int SAMPLES = 2;
  private static final int POSITIONS = 4;

  public static void main(String[] args) {
    Machine machine = Machines.load("ring", List.of("system.sips.count=4"));
    CollectiveLibrary collectives =
        CollectiveLibrary.open(
            machine, CclConfig.load(Optional.empty(), List.of("defaults.algorithm=ring")));
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.VALUES).withCollectives(collectives);
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup("ahbm");
      torch.multiprocessing().spawn(BridgeLayouts::rank, 4);
    }
  }

  private static void rank(Worker worker) {
    List<String> names = List.of("tp", "cp", "dp");
    HyperCommGrid encoder = new HyperCommGrid(worker.distributed(), List.of(4, 1, 1), names, 0);
    HyperCommGrid language = new HyperCommGrid(worker.distributed(), List.of(1, 2, 2), names, 0);
    ProcessGroup context = language.create("cp");
    ColocatedBridgeCommunicator bridge =
        ColocatedBridgeCommunicator.create(encoder, language, BridgeOptions.DEFAULT);
    if (worker.rank() == 0) {
      System.out.println(bridge.plan());
    }
    Torch torch = worker.torch();
    try (Graph graph = Graph.of(torch);
        Tensor x = torch.from(encoded(), Shape.of(SAMPLES, POSITIONS, 1), DType.F32, "x")) {
      Variable in = graph.input(x);
      Variable sample = bridge.communicate(graph, in); // [1, POSITIONS, 1]
      int[] own = new SequencePart(POSITIONS, context.size(), context.rank()).own();
      try (Tensor dy = torch.from(gradient(sample, own), sample.shape(), DType.F32, "dy")) {
        graph.backward(sample, dy);
        System.out.printf(
            "rank %d in slot %d: value %s, gradient in %s, out %s%n",
            worker.rank(),
            bridge.plan().slot(worker.rank()),
            shown(sample.value()),
            shown(dy),
            shown(in.grad().orElseThrow()));
      }
    }
    bridge.destroy();
    language.destroy();
  }

  /** Sample and position as tens and ones. */
  private static float[] encoded() {
    float[] values = new float[SAMPLES * POSITIONS];
    for (int i = 0; i < values.length; i++) {
      values[i] = 10 * (i / POSITIONS) + i % POSITIONS;
    }
    return values;
  }

  /** A hundred times the value at the rank's own positions, nothing at the others. */
  private static float[] gradient(Variable sample, int[] own) {
    float[] gradient = new float[POSITIONS];
    float[] values = sample.value().toFloats();
    for (int position : own) {
      gradient[position] = 100 * values[position];
    }
    return gradient;
  }

  private static String shown(Tensor tensor) {
    StringBuilder text = new StringBuilder();
    for (float value : tensor.toFloats()) {
      text.append(text.isEmpty() ? "" : " ").append((int) value);
    }
    return text.toString();
  }
}
