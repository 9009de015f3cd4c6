package org.kernbench.eval.explain;

import java.util.Optional;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.Cost;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.TransferLog;
import org.kernbench.eval.explain.CausalGraph.Piece;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/** What starts and ends of operations followed from: engines, operands, the issue of commands. */
final class OperationRules {
  private static final Piece[] NOTHING = {};

  private final CausalGraph graph;
  private final Machine machine;
  private final OpLog log;
  private final TransferLog ways;
  private final TransferRules transfers;

  OperationRules(CausalGraph graph, Machine machine, OpLog log, TransferRules transfers) {
    this.graph = graph;
    this.machine = machine;
    this.log = log;
    this.ways = log.transfers();
    this.transfers = transfers;
  }

  private int at(Moment kind, int index) {
    return graph.moment(kind.of(index));
  }

  void end(int m, int op) {
    int part = ways.lastPart(op);
    int start = at(Moment.START, op);
    switch (log.kind(op)) {
      case SEND -> {
        if (part >= 0) {
          graph.same(m, at(Moment.PART_END, transfers.ending(op)), op);
        } else {
          graph.join(m, start, PathCause.OTHER, op);
        }
      }
      case RECV -> {
        if (part < 0) {
          graph.same(m, start, op);
        } else if (log.endPs(op) > ways.endPs(part)) {
          graph.join(
              m, at(Moment.PART_END, part), PathCause.OTHER, op, creditReturn(op, ways.by(part)));
        } else {
          graph.same(m, at(Moment.PART_END, part), op);
        }
      }
      case LOAD -> transfers.arrival(m, op, part);
      case STORE -> transfers.arrival(m, op, part, reply(op, part));
      case MATH, GEMM -> computed(m, start, op);
    }
  }

  private void computed(int m, int start, int op) {
    ComputeOp work = log.work(op).orElse(null);
    if (work == null) {
      graph.join(m, start, PathCause.COMPUTE, op, NOTHING);
      return;
    }
    PathCause cause = causeOf(work);
    graph.join(m, start, cause, op, new Piece(new Cost.Compute(work, engines(op)), cause, op));
  }

  private static PathCause causeOf(ComputeOp work) {
    boolean isProtocol =
        work instanceof ComputeOp.Elapsed e && e.of() == ComputeOp.Elapsed.Of.PROTOCOL;
    return isProtocol ? PathCause.PROTOCOL : PathCause.COMPUTE;
  }

  /** A package with the engines that an operation ran on; one for all that are alike. */
  private int engines(int op) {
    return machine.computesLike(log.pe(op).sip());
  }

  private Piece creditReturn(int receive, int send) {
    Pe to = log.has(send) ? log.pe(send) : log.pe(receive);
    return new Piece(new Cost.CreditReturn(log.pe(receive), to), PathCause.CREDIT_RETURN, receive);
  }

  private Piece[] reply(int op, int part) {
    int service = part < 0 ? -1 : ways.lastService(part);
    if (service < 0) {
      return NOTHING;
    }
    int memory = machine.link(ways.link(service)).toNode();
    return new Piece[] {new Piece(new Cost.Reply(log.pe(op), memory), PathCause.LATENCY, op)};
  }

  void start(int m, int op) {
    int by = log.causeOp(op);
    if (by < 0 || !log.has(by)) {
      issued(m, launchOf(op), op, PathCause.OTHER);
      return;
    }
    switch (log.cause(op)) {
      case CREDIT -> transfers.credit(m, op, by);
      case MESSAGE -> {
        int sent = transfers.arriving(by, 0, op);
        if (sent >= 0) {
          graph.same(m, at(Moment.PART_END, sent), op);
        } else {
          graph.same(m, at(Moment.END, by), op);
        }
      }
      case OPERAND, MEMORY_ORDER -> graph.same(m, at(ended(by, m), by), op);
      case ENGINE -> graph.same(m, at(released(by, m), by), op);
      case SERIAL_ISSUE ->
          issued(
              m,
              at(log.kind(by) == OpKind.SEND ? Moment.START : Moment.END, by),
              op,
              PathCause.OTHER);
      case TCM_SPACE, FENCE, WINDOW -> issued(m, at(released(by, m), by), op, PathCause.OTHER);
      case LOOK -> issued(m, at(Moment.END, by), op, PathCause.LOOK);
      case KERNEL_START -> issued(m, at(Moment.END, by), op, PathCause.OTHER);
    }
  }

  /** Where the program of an operation began. */
  private int launchOf(int op) {
    int launch = log.launch(op);
    return launch < 0 ? CausalGraph.ROOT : at(Moment.STARTED, launch);
  }

  /** When the engine of a computation is free for the next. */
  long freedPs(int op) {
    return log.startPs(op)
        + log.work(op).map(w -> graph.psOf(new Cost.Occupancy(w, engines(op)))).orElse(0L);
  }

  void freed(int m, int op) {
    Optional<ComputeOp> work = log.work(op);
    PathCause cause = work.map(OperationRules::causeOf).orElse(PathCause.COMPUTE);
    Piece[] pieces =
        work.map(w -> new Piece(new Cost.Occupancy(w, engines(op)), cause, op))
            .map(piece -> new Piece[] {piece})
            .orElse(NOTHING);
    graph.join(m, at(Moment.START, op), cause, op, pieces);
  }

  /**
   * The end that others wait for; of what ends after they began that of its engine's use: a product
   * whose sums they take on, or a time that passes on an engine without using it.
   */
  private Moment ended(int by, int m) {
    OpKind kind = log.kind(by);
    boolean computes = kind == OpKind.GEMM || kind == OpKind.MATH;
    return computes && log.endPs(by) > graph.timePs(m) ? Moment.FREED : Moment.END;
  }

  /** The moment at which an operation was done with what it took. */
  private Moment released(int by, int m) {
    return log.kind(by) == OpKind.SEND ? Moment.LEFT : ended(by, m);
  }

  /** Commands were issued one after the other from {@code from} on. */
  private void issued(int m, int from, int op, PathCause rest) {
    long length = graph.timePs(m) - graph.timePs(from);
    long dispatch = machine.pe().cpu().dispatchPs();
    if (length == 0) {
      graph.same(m, from, op);
    } else if (length > 0 && dispatch > 0) {
      graph.join(m, from, rest, op, dispatches(length, dispatch, op, rest));
    } else {
      graph.join(m, from, rest, op);
    }
  }

  /**
   * What issued commands for a time: of a tile command its composite's dispatch, then those of tile
   * commands; only those if the tile scheduler itself had waited for room.
   */
  private Piece[] dispatches(long length, long dispatch, int op, PathCause rest) {
    long tile = machine.pe().cpu().schedulerDispatchPs();
    boolean scheduled = log.isScheduled(op) && tile > 0;
    boolean waited = length < dispatch || log.cause(op) == Cause.TCM_SPACE;
    if (scheduled && waited && length % tile == 0) {
      Cost issue = new Cost.TileDispatch(length / tile);
      return new Piece[] {new Piece(issue, PathCause.COMMAND_ISSUE, op)};
    }
    long tiles = scheduled && length >= dispatch ? length - dispatch : 0;
    if (tiles > 0 && tiles % tile == 0) {
      return new Piece[] {
        new Piece(new Cost.Dispatch(1), PathCause.COMMAND_ISSUE, op),
        new Piece(new Cost.TileDispatch(tiles / tile), PathCause.COMMAND_ISSUE, op),
      };
    }
    boolean whole = rest == PathCause.OTHER || length % dispatch == 0;
    long commands = whole ? length / dispatch : 1;
    return new Piece[] {new Piece(new Cost.Dispatch(commands), PathCause.COMMAND_ISSUE, op)};
  }
}
