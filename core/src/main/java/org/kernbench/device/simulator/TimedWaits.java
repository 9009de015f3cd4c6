package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.machine.Pe;

/** Tells a {@link DeadlockReport} what the programs of a machine in simulated time wait for. */
final class TimedWaits {
  private final MachineParts parts;
  private final long latestPs;
  private final DeadlockReport.Builder report;

  TimedWaits(MachineParts parts, long latestPs, DeadlockReport.Builder report) {
    this.latestPs = latestPs;
    this.parts = parts;
    this.report = report;
  }

  /** Everything that the programs of a PE wait for. */
  void describe(TimedPe p) {
    for (ProgramContext c : p.contexts()) {
      if (c != null && (c.running != null || c.scheduler != null)) {
        describe(p, c);
      }
    }
    for (Engine channel : p.messageChannels()) {
      for (CommandQueue queue = channel.first; queue != null; queue = queue.after) {
        if (queue.head instanceof MessageOp head
            && channel.busy == 0
            && head.missingOperands == 0
            && !head.end().hasCredit()) {
          describeSend(p, head, queue);
        }
      }
    }
  }

  private void describe(TimedPe p, ProgramContext c) {
    if (c.program.looks()) {
      report.waits(p.pe, "looks at a value" + parts.atLine(c.program.lookLine()), null);
    }
    List<QueueEnd> any = c.program.selects();
    if (!any.isEmpty()) {
      report.waits(
          p.pe,
          DeadlockReport.anyOf(
              any.stream()
                  .map(e -> new DeadlockReport.Source(e.direction, e.peer().pe, e.peer().direction))
                  .toList(),
              parts.atLine(c.program.lookLine())),
          null);
    }
    MessageUnit queues = c.queues;
    for (QueueEnd end : queues == null ? List.<QueueEnd>of() : queues.ends(p.index)) {
      Engine receiver = end.receiver();
      for (CommandQueue queue = receiver.first; queue != null; queue = queue.after) {
        if (queue.head != null && receiver.busy == 0) {
          describeReceive(p, (MessageOp) queue.head);
        }
      }
      if (end.receiving != null) {
        describeReceive(p, end.receiving);
      }
      MessageOp sending = end.sending;
      if (sending != null && sending.waitsForCredit) {
        describeSend(p, sending, sending.queue());
      }
    }
    Op stalled = c.cpu.waitsForTcm();
    if (stalled != null) {
      report.waits(
          p.pe,
          "needs %s bytes of TCM%s; %s are free beside %s"
              .formatted(
                  stalled.out.bytes, parts.atLine(stalled.line), p.tcm.free(), describeLive(p)),
          null);
      report.wantsTcm(stalled.out.bytes);
    }
  }

  /** The values of all programs of a PE, of which those of one may starve another. */
  private static String describeLive(TimedPe p) {
    List<String> live = new ArrayList<>();
    for (ProgramContext c : p.contexts()) {
      String values = c == null ? "" : c.registers.describeLive();
      if (!values.isEmpty()) {
        live.add(values);
      }
    }
    return live.isEmpty() ? "message slots" : "live values " + String.join("; ", live);
  }

  private int slotsHeld(QueueEnd end) {
    int held = 0;
    for (ProgramContext c : ((TimedPe) end.receiver().pe).contexts()) {
      held += c == null ? 0 : c.registers.slotsHeld(end);
    }
    return held;
  }

  /** Where the slots are that a send waits for: of a switch's takers the one that is behind. */
  private static QueueEnd holder(QueueEnd end) {
    MessageUnit.Station station = end.station;
    if (station == null || end.peer().isUsed()) {
      return end.peer();
    }
    QueueEnd first = station.takers.getFirst();
    return station.takers.stream().filter(QueueEnd::hasMessage).findFirst().orElse(first);
  }

  private void describeReceive(TimedPe p, MessageOp op) {
    QueueEnd end = op.end();
    MessageUnit.Station station = end.peer().station;
    if (station != null && !station.of.isCopy()) {
      List<Pe> missing = station.missing(end.fragmentsDelivered());
      report.waits(
          p.pe,
          "recv %s of %s B%s: no sum, to which %s gives nothing"
              .formatted(end.direction, op.bytes, parts.atLine(op.line), missing.getFirst()),
          missing.getFirst());
      return;
    }
    QueueEnd from = station == null ? end.peer() : station.ups.getFirst();
    report.waits(
        p.pe,
        "recv %s of %s B%s: no message from %s (%s)"
            .formatted(end.direction, op.bytes, parts.atLine(op.line), from.pe, from.direction),
        from.pe);
  }

  private void describeSend(TimedPe p, MessageOp op, CommandQueue queue) {
    QueueEnd end = op.end();
    int waiting = op.fragments - op.fragmentsStarted;
    for (Op o = queue.head; o != null; o = o.next) {
      if (o != op && o instanceof MessageOp message && message.end() == end) {
        waiting += message.fragments;
      }
    }
    QueueEnd peer = holder(end);
    int held = slotsHeld(peer);
    report.waits(
        p.pe,
        "send %s of %s B%s: %s of %s slots in use at %s (%s)%s"
            .formatted(
                end.direction,
                op.bytes,
                parts.atLine(op.line),
                end.slotsInUse(latestPs),
                end.slots,
                peer.pe,
                peer.direction,
                held > 0 ? ", " + held + " of them held by received values" : ""),
        peer.pe);
    if (held > 0) {
      report.valuesHoldSlots();
    }
    report.needsSlots(end.slots + waiting, end.slots);
  }
}
