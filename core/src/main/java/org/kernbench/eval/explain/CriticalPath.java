package org.kernbench.eval.explain;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.kernbench.config.Suggest;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.Cost;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.LinkKind;

/** The path through a {@link CausalGraph} that is shown: one predecessor of each moment. */
final class CriticalPath {
  private static final int NO_OP = -1;

  private final CausalGraph graph;
  private final Machine machine;
  private final OpLog log;

  CriticalPath(CausalGraph graph, Machine machine, OpLog log) {
    this.graph = graph;
    this.machine = machine;
    this.log = log;
  }

  /**
   * Time on the path that goes round through a message, the slot it freed, and the credit that came
   * back to its sender: time in which a sender had used all its slots. With {@code s + 1} slots
   * instead of {@code s} the same messages take {@code s / (s + 1)} of it, as long as nothing else
   * holds them up.
   */
  long slotLimitedPs() {
    long sum = 0;
    int m = graph.end();
    while (m != CausalGraph.ROOT) {
      int e = graph.firstEdge(m);
      boolean credit =
          graph.cause(e) == PathCause.CREDIT_RETURN
              && (graph.kind(m) == Moment.START || graph.kind(m) == Moment.PART_START);
      int sent = credit ? before(graph.from(e), log.pe(graph.op(e))) : CausalGraph.ROOT;
      if (sent != CausalGraph.ROOT) {
        sum += graph.timePs(m) - graph.timePs(sent);
        m = sent;
      } else {
        m = graph.from(e);
      }
    }
    return sum;
  }

  /** Time on the path in which a kernel was held up by its full window, and how often. */
  record Held(long ps, int times) {}

  /**
   * Time on the path that goes from a command that was started as soon as it was issued, through
   * the commands behind it in the full window, to the next that could be issued then. With twice
   * the window the same commands take half of it, as long as nothing else holds them up.
   */
  Held windowLimited() {
    long ps = 0;
    int times = 0;
    int m = graph.end();
    while (m != CausalGraph.ROOT) {
      if (!startedWhenIssued(m, true)) {
        m = graph.from(graph.firstEdge(m));
        continue;
      }
      int issued = m;
      Pe pe = log.pe(graph.index(m));
      do {
        m = graph.from(graph.firstEdge(m));
      } while (m != CausalGraph.ROOT
          && graph.kind(m) != Moment.STARTED // an earlier kernel has a window of its own
          && !(startedWhenIssued(m, false) && log.pe(graph.index(m)).equals(pe)));
      ps += graph.timePs(issued) - graph.timePs(m);
      times++;
    }
    return new Held(ps, times);
  }

  /** Whether a moment is the start of an operation that waited for nothing but its issue. */
  private boolean startedWhenIssued(int m, boolean byWindow) {
    if (graph.kind(m) != Moment.START) {
      return false;
    }
    return switch (log.cause(graph.index(m))) {
      case WINDOW -> true;
      case KERNEL_START, FENCE, LOOK, SERIAL_ISSUE, TCM_SPACE -> !byWindow;
      case OPERAND, ENGINE, CREDIT, MESSAGE, MEMORY_ORDER -> false;
    };
  }

  /**
   * The last moment on the way to another at which a PE started a message; the root if it did not.
   */
  private int before(int from, Pe sender) {
    int m = from;
    while (m != CausalGraph.ROOT) {
      int op =
          switch (graph.kind(m)) {
            case START -> graph.index(m);
            case PART_START -> log.transfers().op(graph.index(m));
            case BETWEEN,
                END,
                LEFT,
                FREED,
                PART_END,
                HEAD_IN,
                TAIL_IN,
                CALLED,
                STARTED,
                DONE_THERE,
                DONE ->
                NO_OP;
          };
      if (op >= 0 && log.kind(op) == OpKind.SEND && log.pe(op).equals(sender)) {
        return m;
      }
      m = graph.from(graph.firstEdge(m));
    }
    return CausalGraph.ROOT;
  }

  /** Time on the path for which no cost is known. */
  long unexplainedPs() {
    long sum = 0;
    int m = graph.end();
    while (m != CausalGraph.ROOT) {
      int e = graph.firstEdge(m);
      if (graph.cost(e) instanceof Cost.Fixed fixed) {
        sum += fixed.ps();
      }
      m = graph.from(e);
    }
    return sum;
  }

  /** The path in the order of time, without gap or overlap. */
  List<Segment> segments() {
    List<Segment> found = new ArrayList<>();
    int subject = NO_OP;
    int m = graph.end();
    while (m != CausalGraph.ROOT) {
      int e = graph.firstEdge(m);
      int from = graph.from(e);
      int op = graph.op(e);
      boolean waits = graph.kind(m) == Moment.HEAD_IN && graph.kind(from) == Moment.TAIL_IN;
      boolean occupies =
          graph.cause(e) == PathCause.SERIALISATION || graph.cause(e) == PathCause.NIC_MESSAGE;
      boolean others = occupies && subject >= 0 && op != subject;
      if (graph.timePs(m) > graph.timePs(from)) {
        found.add(segment(m, e, others ? subject : NO_OP));
      }
      if (!waits && !others) {
        subject = op;
      }
      m = from;
    }
    Collections.reverse(found);
    return merged(found);
  }

  /**
   * @param waiting the operation that the bytes of another held up; -1 if they are its own
   */
  private Segment segment(int m, int e, int waiting) {
    int op = graph.op(e);
    PathCause cause = graph.cause(e);
    Cost cost = graph.cost(e);
    return new Segment(
        graph.timePs(graph.from(e)),
        graph.timePs(m),
        waiting < 0 ? cause : isAtNic(cost) ? PathCause.NIC_CONTENTION : PathCause.CONTENTION,
        place(cost, cause, op),
        resource(cost, op),
        line(waiting >= 0 ? waiting : op),
        op);
  }

  private boolean isAtNic(Cost cost) {
    return cost instanceof Cost.NicMessage
        || (cost instanceof Cost.LinkBytes l && machine.linkKind(l.link()) == LinkKind.NIC);
  }

  private String line(int op) {
    return op >= 0 && log.has(op) ? log.line(op) : "";
  }

  private String place(Cost cost, PathCause cause, int op) {
    return switch (cost) {
      case Cost.LinkLatency l -> machine.link(l.link()).name();
      case Cost.LinkBytes l -> machine.link(l.link()).name();
      case Cost.NicMessage l -> machine.link(l.link()).name();
      case Cost.SwitchSum sum ->
          machine.node(machine.link(sum.ports().getFirst()).toNode()).name() + " sums";
      case Cost.CreditReturn c -> c.from() + "->" + c.to();
      case Cost.Dispatch d -> log.pe(op) + " CPU";
      case Cost.TileDispatch d -> log.pe(op) + " scheduler";
      case Cost.LaunchCall _,
          Cost.Request _,
          Cost.Reply _,
          Cost.DmaSetup _,
          Cost.Translation _,
          Cost.MessageOverhead _,
          Cost.SlotCopy _,
          Cost.SlotAccess _,
          Cost.Compute _,
          Cost.Occupancy _,
          Cost.Fixed _ ->
          op < 0 || !log.has(op)
              ? "host"
              : cause == PathCause.COMMAND_ISSUE || cause == PathCause.LOOK
                  ? log.pe(op) + " CPU"
                  : log.pe(op) + engine(op);
    };
  }

  private String resource(Cost cost, int op) {
    return switch (cost) {
      case Cost.LinkLatency l -> Suggest.fold(machine.linkKind(l.link()).name());
      case Cost.LinkBytes l -> Suggest.fold(machine.linkKind(l.link()).name());
      case Cost.NicMessage l -> Suggest.fold(machine.linkKind(l.link()).name());
      case Cost.SwitchSum sum -> "switch sums";
      case Cost.CreditReturn c -> "slots";
      case Cost.SlotCopy c -> "slots";
      case Cost.SlotAccess c -> "slots";
      case Cost.Dispatch d -> "CPU";
      case Cost.TileDispatch d -> "CPU";
      case Cost.LaunchCall _,
          Cost.Request _,
          Cost.Reply _,
          Cost.DmaSetup _,
          Cost.Translation _,
          Cost.MessageOverhead _,
          Cost.Compute _,
          Cost.Occupancy _,
          Cost.Fixed _ ->
          op < 0 || !log.has(op)
              ? "host"
              : switch (log.kind(op)) {
                case MATH, GEMM -> isElapsed(op) ? Segment.TIMER : log.kind(op).name();
                case LOAD, STORE, SEND, RECV -> "DMA";
              };
    };
  }

  /** What follows the name of a PE where an operation is placed. */
  private String engine(int op) {
    return isElapsed(op) ? "" : " " + log.kind(op);
  }

  private boolean isElapsed(int op) {
    return log.work(op).filter(ComputeOp.Elapsed.class::isInstance).isPresent();
  }

  private static List<Segment> merged(List<Segment> segments) {
    List<Segment> result = new ArrayList<>();
    for (Segment s : segments) {
      if (!result.isEmpty()) {
        Segment last = result.getLast();
        if (last.cause() == s.cause()
            && last.place().equals(s.place())
            && last.line().equals(s.line())
            && last.op() == s.op()) {
          result.set(
              result.size() - 1,
              new Segment(
                  last.fromPs(), s.toPs(), s.cause(), s.place(), s.resource(), s.line(), s.op()));
          continue;
        }
      }
      result.add(s);
    }
    return result;
  }
}
