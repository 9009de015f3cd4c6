package org.kernbench.eval.benches;

import java.util.List;
import java.util.Optional;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.output.Digest;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.MachineException;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.RankLevel;

/** {@code hello-send}: one PE loads a vector and sends it, another receives and stores it. */
final class HelloSendBench implements Bench {
  private static final Param<Pe> FROM = Param.pe("from", new Pe(0, 0, 0), "the PE that sends");
  private static final Param<Optional<Pe>> TO =
      Param.pe("to", new Pe(0, 0, 1), "the PE that receives").orFrom("the sender: the PE after it");
  private static final Param<Integer> N_ELEM =
      Param.integer("n_elem", 128, 1, 1 << 20, "elements of the message");

  @Override
  public String name() {
    return "hello-send";
  }

  @Override
  public String description() {
    return "one message between two PEs: load, send, receive, store";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(FROM, TO, N_ELEM, CollectiveParams.DTYPE);
  }

  @Override
  public Outcome run(BenchContext context) {
    Machine machine = context.machine();
    Pe from = context.param(FROM);
    check(machine, "from", from);
    Pe to =
        context
            .param(TO)
            .orElseGet(() -> machine.peAt((machine.peIndex(from) + 1) % machine.peCount()));
    check(machine, "to", to);
    if (from.equals(to)) {
      throw new UsageException("from and to are both " + from + "; expected two different PEs");
    }
    TorchOptions options =
        new TorchOptions(
            context.mode(),
            context.recording().withLines(),
            Optional.of(new NoGroups(machine, RankLevel.PE)));
    try (Torch torch = Torch.open(machine, options)) {
      return run(context, torch, from, to);
    }
  }

  private static void check(Machine machine, String param, Pe pe) {
    try {
      machine.peIndex(pe);
    } catch (MachineException e) {
      throw new UsageException("--param " + param + ": " + e.getMessage());
    }
  }

  private static Outcome run(BenchContext context, Torch torch, Pe from, Pe to) {
    Machine machine = torch.machine();
    int n = context.param(N_ELEM);
    DType dtype = CollectiveParams.dtype(context);
    Shape shape = Shape.of(n);
    torch.ahbm().setDevice(machine.peIndex(from));
    Tensor x = torch.from(() -> Pattern.MIXED.values(0, n, 2, dtype), shape, dtype, "x");
    torch.ahbm().setDevice(machine.peIndex(to));
    Tensor y = torch.zeros(shape, dtype, "y");
    torch
        .simulator()
        .install(
            new QueuePlan(
                machine.ipcq(), List.of(new QueuePlan.Connection(from, "out", to, "in"))));
    Launch launch = torch.launch("hello-send", kernel(from, x, y), x, y);
    torch.await(launch);

    Outcome outcome = Outcome.on(machine);
    long bytes = (long) n * dtype.sizeBytes();
    outcome.condition("to", to.toString()).condition("bytes", bytes);
    OpLog log = torch.simulator().opLog();
    outcome.simulated(
        torch.simulator().eventCount(), context.mode() == Mode.VALUES ? "" : log.hash());
    if (context.mode() != Mode.TIME) {
      ValueCheck.Comparison comparison = new ValueCheck.Comparison(0);
      double[] got = y.toDoubles();
      comparison.add(1, got, (rank, i) -> dtype.round(Pattern.MIXED.at(0, i, 2)));
      Digest digest = new Digest();
      digest.add(got);
      outcome.values(comparison.result(), digest.text());
    }
    if (context.mode() != Mode.VALUES) {
      outcome.time(launch.criticalPs(), boundPs(machine, from, to, bytes), "message");
      outcome.metric("message_ns", Numbers.ns(messagePs(log)));
      outcome.metric("launch_ns", Numbers.ns(launch.startPs() - launch.enqueuedPs()));
      outcome.explained(log, launch, machine.ipcq());
    }
    return outcome;
  }

  private static Kernel kernel(Pe from, Tensor x, Tensor y) {
    return tl -> {
      if (tl.pe().equals(from)) {
        tl.send("out", tl.load(x));
      } else {
        tl.store(y, tl.recv("in", y.shape(), y.dtype()));
      }
    };
  }

  /** The message alone, with nothing in its way. */
  private static long boundPs(Machine machine, Pe from, Pe to, long bytes) {
    return machine.route(from, to).messagePs(bytes);
  }

  private static long messagePs(OpLog log) {
    for (int id = 0; id < log.size(); id++) {
      if (log.has(id) && log.kind(id) == OpKind.SEND) {
        return log.endPs(id) - log.startPs(id);
      }
    }
    return 0;
  }
}
