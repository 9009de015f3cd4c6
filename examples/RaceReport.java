/*
 * Checked execution: a kernel that hands data over without order, its report, and the same mended.
 *
 * One PE puts rows into the memory of its neighbour and then sends a message. The message overtakes
 * the put, so the neighbour may read old rows. On this machine, with these sizes, it does; on
 * another it may not, and the values look right. Checked execution does not look at values: nothing
 * orders the two lines, so they race.
 *
 * Run:      scripts/run-java examples/RaceReport.java
 * Expected: (checked by ExamplesTest)
 *   without await:
 *   race: tensor box, bytes [0, 2048) of its part at sip0.cube0.pe1
 *       sip0.cube0.pe0 writes them at RaceReport.java:48 in kernel handover, t=1076.412 ns
 *       sip0.cube0.pe1 reads them at RaceReport.java:52 in kernel handover, t=926.508 ns
 *     remedy: await what must come first, then send or signal; let the other side wait for that
 *   1 findings in 4 accesses and 1 messages
 *   with await:
 *   0 findings in 4 accesses and 1 messages
 */
import java.util.List;
import java.util.Locale;
import org.kernbench.device.check.Finding;
import org.kernbench.device.check.Findings;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Handle;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

public final class RaceReport {
  private static final Shape ROWS = Shape.of(64, 16);
  private static final Pe LEFT = new Pe(0, 0, 0);
  private static final Pe RIGHT = new Pe(0, 0, 1);

  public static void main(String[] args) {
    print("without await:");
    run((tl, box) -> {
      if (tl.pe().equals(LEFT)) {
        tl.put(tl.shard(box, RIGHT).whole(), tl.full(ROWS, 2, DType.F16));
        tl.send("right", tl.full(Shape.of(1), 1, DType.F16)); // go ahead
      } else {
        tl.await(tl.recv("left", Shape.of(1), DType.F16));
        tl.load(box);
      }
    });
    print("with await:");
    run((tl, box) -> {
      if (tl.pe().equals(LEFT)) {
        Handle done = tl.put(tl.shard(box, RIGHT).whole(), tl.full(ROWS, 2, DType.F16));
        tl.await(done);
        tl.send("right", tl.full(Shape.of(1), 1, DType.F16));
      } else {
        Value goAhead = tl.recv("left", Shape.of(1), DType.F16);
        tl.await(goAhead);
        tl.load(box);
      }
    });
  }

  private interface Handover {
    void run(Tl tl, Tensor box);
  }

  private static void run(Handover handover) {
    Machine machine = Machines.load("tiny", List.of());
    Findings findings = new Findings();
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.checkedBy(findings))) {
      Shape both = Shape.of(2 * 64, 16);
      Tensor box = torch.zeros(both, DType.F16, DpPolicy.rowWise().withCubes(1), "box");
      torch
          .simulator()
          .install(
              new QueuePlan(
                  machine.ipcq(), List.of(new QueuePlan.Connection(LEFT, "right", RIGHT, "left"))));
      Kernel kernel = tl -> handover.run(tl, box);
      torch.await(torch.launch("handover", kernel, box));
    }
    for (Finding finding : findings.list()) {
      print("%s", finding.message());
    }
    print(
        "%d findings in %d accesses and %d messages",
        findings.list().size(), findings.accesses(), findings.messages());
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }
}
