package org.kernbench.device;

/** Tells a {@link DeadlockReport} what the programs of a machine in simulated time wait for. */
final class TimedWaits {
  private final TimedExecutor world;
  private final DeadlockReport.Builder report;

  TimedWaits(TimedExecutor world, DeadlockReport.Builder report) {
    this.world = world;
    this.report = report;
  }

  /** Everything that the program of a PE waits for. */
  void describe(TimedPe p) {
    if (p.running == null) {
      return;
    }
    if (p.program.looks()) {
      report.waits(p.pe, "looks at a value" + world.atLine(p.program.lookLine()), null);
    }
    for (QueueEnd end : p.queueEnds()) {
      Engine receiver = end.receiver();
      if (receiver.head != null && receiver.busy == 0) {
        describeReceive(p, receiver.head);
      }
      if (end.receiving != null) {
        describeReceive(p, end.receiving);
      }
    }
    for (Engine channel : p.messageChannels()) {
      Op head = channel.head;
      if (head != null
          && channel.busy == 0
          && head.missingOperands == 0
          && !head.end().hasCredit()) {
        describeSend(p, head, channel);
      }
    }
    for (QueueEnd end : p.queueEnds()) {
      Op sending = end.sending;
      if (sending != null && sending.waitsForCredit) {
        describeSend(p, sending, sending.engine());
      }
    }
    Op stalled = p.cpu.waitsForTcm();
    if (stalled != null) {
      report.waits(
          p.pe,
          "needs "
              + stalled.out.bytes
              + " bytes of TCM"
              + world.atLine(stalled.line)
              + "; "
              + p.tcm.free()
              + " are free beside live values "
              + p.registers.describeLive(),
          null);
      report.tcmIsFull();
    }
  }

  private void describeReceive(TimedPe p, Op op) {
    QueueEnd end = op.end();
    report.waits(
        p.pe,
        "recv "
            + end.direction
            + " of "
            + op.bytes
            + " B"
            + world.atLine(op.line)
            + ": no message from "
            + end.peer().pe
            + " ("
            + end.peer().direction
            + ")",
        end.peer().pe);
  }

  private void describeSend(TimedPe p, Op op, Engine channel) {
    QueueEnd end = op.end();
    int waiting = op.fragments - op.fragmentsStarted;
    for (Op o = channel.head; o != null; o = o.next) {
      if (o != op && o.end == end) {
        waiting += o.fragments;
      }
    }
    QueueEnd peer = end.peer();
    int held = world.pe(peer.peIndex).registers.slotsHeld(peer);
    report.waits(
        p.pe,
        "send "
            + end.direction
            + " of "
            + op.bytes
            + " B"
            + world.atLine(op.line)
            + ": "
            + end.slotsInUse(world.sim.nowPs())
            + " of "
            + end.slots
            + " slots in use at "
            + peer.pe
            + " ("
            + peer.direction
            + ")"
            + (held > 0 ? ", " + held + " of them held by received values" : ""),
        peer.pe);
    if (held > 0) {
      report.valuesHoldSlots();
    }
    report.needsSlots(end.slots + waiting, end.slots);
  }
}
