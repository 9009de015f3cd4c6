package org.kernbench.device.log;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.kernbench.machine.Machine;

/**
 * What differs between the logs of two runs of one program, row by row: operations by PE and in the
 * order of its commands, with the chunks that they moved and what each link served before these;
 * launches in the order of the host's calls. Numbers of operations may differ, which are given in
 * the order in which the simulator looks at things; and of launches that are done in one picosecond
 * it is not compared which of them the host waited for.
 */
public final class LogDifference {
  private final OpLog a;
  private final OpLog b;
  private final Places inA;
  private final Places inB;

  /** By PE its operations in order, and where each operation is. */
  private static final class Places {
    final List<List<Integer>> byPe = new ArrayList<>();
    final int[] pe;
    final int[] place;

    Places(OpLog log, Machine machine) {
      for (int i = 0; i < machine.peCount(); i++) {
        byPe.add(new ArrayList<>());
      }
      pe = new int[log.size()];
      place = new int[log.size()];
      for (int id = 0; id < log.size(); id++) {
        if (log.has(id)) {
          List<Integer> there = byPe.get(machine.peIndex(log.pe(id)));
          pe[id] = machine.peIndex(log.pe(id));
          place[id] = there.size();
          there.add(id);
        }
      }
    }

    String of(int id) {
      return id < 0 ? "none" : "command " + place[id] + " of PE " + pe[id];
    }
  }

  private LogDifference(OpLog a, OpLog b, Machine machine) {
    this.a = a;
    this.b = b;
    this.inA = new Places(a, machine);
    this.inB = new Places(b, machine);
  }

  /**
   * The first difference.
   *
   * @param a of one run, complete
   * @param b of another on the same machine, complete
   * @return where, and both values; empty if all rows are the same
   */
  public static Optional<String> between(OpLog a, OpLog b, Machine machine) {
    return new LogDifference(a, b, machine).first(machine);
  }

  private Optional<String> first(Machine machine) {
    for (int pe = 0; pe < machine.peCount(); pe++) {
      List<Integer> idsA = inA.byPe.get(pe);
      List<Integer> idsB = inB.byPe.get(pe);
      for (int i = 0; i < Math.min(idsA.size(), idsB.size()); i++) {
        String rowA = row(a, inA, idsA.get(i));
        String rowB = row(b, inB, idsB.get(i));
        if (!rowA.equals(rowB)) {
          return Optional.of(
              "%s, command %s: %s".formatted(machine.peAt(pe), i, differ(rowA, rowB)));
        }
      }
      if (idsA.size() != idsB.size()) {
        return Optional.of(
            "%s: %s commands; then %s".formatted(machine.peAt(pe), idsA.size(), idsB.size()));
      }
    }
    return launches();
  }

  /** What a row is, and where another differs first. */
  private static String differ(String rowA, String rowB) {
    String[] x = rowA.split("; ");
    String[] y = rowB.split("; ");
    int i = 0;
    while (i < Math.min(x.length, y.length) - 1 && x[i].equals(y[i])) {
      i++;
    }
    return (i == 0 ? "" : x[0] + ": ") + x[i] + "; then " + y[i];
  }

  private static String row(OpLog log, Places places, int id) {
    StringBuilder s = new StringBuilder();
    s.append(log.kind(id)).append(' ').append(log.bytes(id)).append(" bytes, launch ");
    s.append(log.launch(id)).append(", issued ").append(log.issuePs(id));
    s.append(", started ").append(log.startPs(id)).append(", ended ").append(log.endPs(id));
    s.append(" ps, after ").append(log.cause(id)).append(" of ").append(places.of(log.causeOp(id)));
    s.append(", contention ").append(log.contentionPs(id)).append(", serialisation ");
    s.append(log.serialisationPs(id)).append(", translation ").append(log.translationPs(id));
    s.append(" ps, link ").append(log.link(id)).append(", line ").append(log.line(id));
    s.append(log.isScheduled(id) ? ", scheduled, " : ", ").append(log.work(id));
    moves(s, log, places, id);
    return s.toString();
  }

  private static void moves(StringBuilder s, OpLog log, Places places, int id) {
    TransferLog t = log.transfers();
    for (int part = t.lastPart(id); part != TransferLog.NONE; part = t.previous(part)) {
      s.append("; part ").append(t.number(part)).append(' ').append(t.bytes(part));
      s.append(" bytes from ").append(t.startPs(part)).append(" to ").append(t.endPs(part));
      s.append(" by ").append(places.of(t.by(part))).append(" after part ");
      s.append(
          t.writtenAfter(part) == TransferLog.NONE
              ? "none"
              : places.of(t.op(t.writtenAfter(part))));
      for (int v = t.lastService(part); v != TransferLog.NONE; v = t.from(v)) {
        int before = t.before(v);
        s.append("; link ").append(t.link(v)).append(' ').append(t.chunkBytes(v)).append(" bytes ");
        s.append(t.headPs(v)).append(' ').append(t.startPsOf(v)).append(' ').append(t.tailPs(v));
        s.append(" behind ");
        s.append(before == TransferLog.NONE ? "none" : places.of(t.op(t.partOf(before))));
      }
    }
  }

  private Optional<String> launches() {
    LaunchLog x = a.launches();
    LaunchLog y = b.launches();
    for (int i = 0; i < Math.min(x.size(), y.size()); i++) {
      String rowX = launch(x, inA, i);
      String rowY = launch(y, inB, i);
      if (!Objects.equals(rowX, rowY)) {
        return Optional.of("launch %s: %s".formatted(i, differ(rowX, rowY)));
      }
    }
    return x.size() == y.size()
        ? Optional.empty()
        : Optional.of("%s launches; then %s".formatted(x.size(), y.size()));
  }

  private static String launch(LaunchLog log, Places places, int launch) {
    StringBuilder s = new StringBuilder(log.name(launch));
    s.append(", called ").append(log.calledPs(launch)).append(", started ");
    s.append(log.startPs(launch))
        .append(", done ")
        .append(log.donePs(launch))
        .append(" ps, after ");
    s.append(log.after(launch))
        .append(", waited for ")
        .append(
            log.hostWaitedFor(launch) == LaunchLog.NONE
                ? "none"
                : "one done at " + log.donePs(log.hostWaitedFor(launch)));
    for (int row = log.firstRow(launch); row < log.endRow(launch); row++) {
      s.append("; ").append(log.doneTherePs(row)).append(" by ").append(places.of(log.lastOp(row)));
    }
    return s.toString();
  }
}
