package org.kernbench.eval.report;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.RankExchange;
import org.kernbench.device.log.TransferLog;
import org.kernbench.eval.output.OutputException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * A run as tracks over simulated time: one for each rank, engine, queue and link, with a flow for
 * each message and counters for slots and the use of links.
 *
 * <p>Slices of a track never overlap: what an engine or a queue does at the same time is spread
 * over several tracks of one name and a number. A link's track shows the exact times at which it
 * took in bytes; chunks of one transfer that follow each other without a gap are one slice.
 */
final class Trace {
  /** Intervals over which the use of a link is averaged. */
  private static final int WINDOWS = 50;

  /** What tracks are grouped under. */
  enum Group {
    /** What each rank ran: its launches, one after the other. */
    RANKS,
    /** Engines of processing elements; one group per package. */
    ENGINES,
    /** Messages from credit to release, one track per slot that was in use at once. */
    QUEUES,
    /** Links between nodes. */
    LINKS
  }

  /**
   * A slice.
   *
   * @param fromPs begin, picoseconds
   * @param toPs end; not before the begin
   * @param name what it shows
   * @param flowOut id of the message that leaves here; 0 for none
   * @param flowIn id of the message that arrives here; 0 for none
   * @param notes more about it, in order
   */
  record Slice(
      long fromPs, long toPs, String name, long flowOut, long flowIn, Map<String, Object> notes) {}

  /** A track: its group, the package it belongs to (or -1), its name, its slices in time order. */
  record Track(Group group, int sip, String name, List<Slice> slices) {}

  /** A value that changes at some times. */
  record Counter(Group group, String name, String unit, List<Sample> samples) {}

  /** A value from a time on. */
  record Sample(long timePs, double value) {}

  private final Machine machine;
  private final OpLog log;
  private final List<Track> tracks = new ArrayList<>();
  private final List<Counter> counters = new ArrayList<>();
  private final Map<Integer, Long> flowOfSend = new LinkedHashMap<>();
  private long endPs;

  private Trace(Machine machine, OpLog log) {
    this.machine = machine;
    this.log = log;
  }

  /**
   * The trace of a run.
   *
   * @throws OutputException if the op log did not keep every operation
   */
  static Trace of(Machine machine, OpLog log) {
    if (!log.isComplete() || !log.transfers().isComplete() || !log.launches().isComplete()) {
      throw new OutputException(
          "--trace: the op log kept %s of %s operations; trace a smaller run"
              .formatted(log.size(), log.completed()));
    }
    Trace trace = new Trace(machine, log);
    trace.messages();
    trace.ranks();
    trace.engines();
    trace.queues();
    trace.links();
    return trace;
  }

  List<Track> tracks() {
    return Collections.unmodifiableList(tracks);
  }

  List<Counter> counters() {
    return Collections.unmodifiableList(counters);
  }

  /** Slices of all tracks. */
  long slices() {
    return tracks.stream().mapToLong(t -> t.slices().size()).sum();
  }

  /** Messages that were sent and received. */
  long flows() {
    return flowOfSend.size();
  }

  /** Values of all counters. */
  long samples() {
    return counters.stream().mapToLong(c -> c.samples().size()).sum();
  }

  /** The sending operation of a receive; -1 if the log names none. */
  private int sender(int receive) {
    TransferLog ways = log.transfers();
    int part = ways.lastPart(receive);
    int by = part == TransferLog.NONE ? -1 : ways.by(part);
    if (by < 0 && log.cause(receive) == org.kernbench.device.log.Cause.MESSAGE) {
      by = log.causeOp(receive);
    }
    return by >= 0 && log.has(by) && log.kind(by) == OpKind.SEND ? by : -1;
  }

  private void messages() {
    for (int id = 0; id < log.size(); id++) {
      if (log.has(id)) {
        endPs = Math.max(endPs, log.endPs(id));
        if (log.kind(id) == OpKind.RECV && sender(id) >= 0) {
          flowOfSend.putIfAbsent(sender(id), flowOfSend.size() + 1L);
        }
      }
    }
  }

  // ---- ranks ----

  /** A launch is a slice of every rank that has one of its PEs, until the last of these is done. */
  private void ranks() {
    LaunchLog launches = log.launches();
    Map<Integer, List<Slice>> all = new TreeMap<>();
    for (int launch = 0; launch < launches.size(); launch++) {
      Map<Integer, List<Integer>> rows = new TreeMap<>();
      for (int row = launches.firstRow(launch); row < launches.endRow(launch); row++) {
        rows.computeIfAbsent(launches.rank(row), rank -> new ArrayList<>()).add(row);
      }
      int id = launch;
      rows.forEach(
          (rank, own) -> all.computeIfAbsent(rank, r -> new ArrayList<>()).add(slice(id, own)));
    }
    all.forEach((rank, slices) ->
        spread(Group.RANKS, -1, rank < 0 ? "host program" : "rank " + rank, slices));
  }

  private Slice slice(int launch, List<Integer> rows) {
    LaunchLog launches = log.launches();
    long done = launches.startPs(launch);
    for (int row : rows) {
      done = Math.max(done, launches.doneTherePs(row));
    }
    endPs = Math.max(endPs, done);
    Map<String, Object> notes = new LinkedHashMap<>();
    notes.put("launch", launch);
    notes.put("pes", rows.size());
    notes.put("called_ps", launches.calledPs(launch));
    Optional<RankExchange> exchange = launches.exchange(launch);
    exchange.ifPresent(what -> {
      notes.put("collective", what.operation());
      notes.put("bytes", what.bytes());
      notes.put("algorithm", what.algorithm());
      notes.put("ranks", what.ranks().size());
    });
    return new Slice(launches.startPs(launch), done, launches.name(launch), 0, 0, notes);
  }

  // ---- engines ----

  private void engines() {
    Map<Pe, Map<Lane, List<Slice>>> all = new TreeMap<>(Comparator.comparingInt(machine::peIndex));
    for (int id = 0; id < log.size(); id++) {
      if (log.has(id)) {
        all.computeIfAbsent(log.pe(id), pe -> new TreeMap<>())
            .computeIfAbsent(new Lane(log.kind(id), lane(id)), lane -> new ArrayList<>())
            .add(slice(id));
      }
    }
    all.forEach((pe, lanes) ->
        lanes.forEach(
            (lane, slices) -> spread(Group.ENGINES, pe.sip(), pe + " " + lane.name, slices)));
  }

  /** What a track of a PE is called, in the order of the kinds of operations. */
  private record Lane(OpKind kind, String name) implements Comparable<Lane> {
    @Override
    public int compareTo(Lane other) {
      int byKind = kind.compareTo(other.kind);
      return byKind != 0 ? byKind : name.compareTo(other.name);
    }
  }

  /** The engine of an operation; of one that only lets time pass, what takes it. */
  private String lane(int id) {
    return log.work(id)
        .filter(ComputeOp.Elapsed.class::isInstance)
        .map(ComputeOp.Elapsed.class::cast)
        .map(elapsed ->
            switch (elapsed.of()) {
              case COMPUTATION -> "timer";
              case PROTOCOL -> "protocol";
            })
        .orElse(log.kind(id).name());
  }

  private Slice slice(int id) {
    OpKind kind = log.kind(id);
    Map<String, Object> notes = new LinkedHashMap<>();
    notes.put("op", id);
    notes.put("bytes", log.bytes(id));
    notes.put("waited_for", log.cause(id).label());
    if (log.causeOp(id) >= 0) {
      notes.put("waited_for_op", log.causeOp(id));
    }
    notes.put("issue_ps", log.issuePs(id));
    if (log.contentionPs(id) > 0) {
      notes.put("contention_ps", log.contentionPs(id));
    }
    if (log.translationPs(id) > 0) {
      notes.put("translation_ps", log.translationPs(id));
    }
    if (!log.line(id).isEmpty()) {
      notes.put("line", log.line(id));
    }
    String name = lane(id) + (log.line(id).isEmpty() ? "" : " " + log.line(id));
    long out = kind == OpKind.SEND ? flowOfSend.getOrDefault(id, 0L) : 0;
    long in = kind == OpKind.RECV && sender(id) >= 0 ? flowOfSend.getOrDefault(sender(id), 0L) : 0;
    return new Slice(log.startPs(id), log.endPs(id), name, out, in, notes);
  }

  /** Puts slices that overlap on tracks of their own, each on the first that is free. */
  private void spread(Group group, int sip, String name, List<Slice> slices) {
    List<Slice> sorted = new ArrayList<>(slices);
    sorted.sort(Comparator.comparingLong(Slice::fromPs).thenComparingLong(Slice::toPs));
    List<List<Slice>> lanes = new ArrayList<>();
    for (Slice slice : sorted) {
      List<Slice> free = null;
      for (List<Slice> lane : lanes) {
        if (lane.getLast().toPs() <= slice.fromPs()) {
          free = lane;
          break;
        }
      }
      if (free == null) {
        free = new ArrayList<>();
        lanes.add(free);
      }
      free.add(slice);
    }
    for (int lane = 0; lane < lanes.size(); lane++) {
      String numbered = lane == 0 ? name : name + " " + (lane + 1);
      tracks.add(new Track(group, sip, numbered, lanes.get(lane)));
    }
  }

  // ---- queues ----

  /** A message holds its slot from the start of its send to the end of its receive. */
  private void queues() {
    Map<String, List<Slice>> all = new LinkedHashMap<>();
    for (int id = 0; id < log.size(); id++) {
      if (log.has(id) && log.kind(id) == OpKind.RECV && sender(id) >= 0) {
        int send = sender(id);
        Map<String, Object> notes = new LinkedHashMap<>();
        notes.put("send_op", send);
        notes.put("recv_op", id);
        notes.put("bytes", log.bytes(send));
        notes.put("visible_ps", log.endPs(send));
        long from = log.startPs(send);
        all.computeIfAbsent(log.pe(send) + " to " + log.pe(id), name -> new ArrayList<>())
            .add(new Slice(from, Math.max(from, log.endPs(id)), "message " + send, 0, 0, notes));
      }
    }
    all.forEach((name, slices) -> {
      spread(Group.QUEUES, -1, name, slices);
      counters.add(new Counter(Group.QUEUES, "slots " + name, "messages", level(slices)));
    });
  }

  /** How many slices are open, from each change on. */
  private static List<Sample> level(List<Slice> slices) {
    TreeMap<Long, Integer> changes = new TreeMap<>();
    for (Slice s : slices) {
      changes.merge(s.fromPs(), 1, Integer::sum);
      changes.merge(s.toPs(), -1, Integer::sum);
    }
    List<Sample> samples = new ArrayList<>();
    int open = 0;
    for (Map.Entry<Long, Integer> change : changes.entrySet()) {
      open += change.getValue();
      samples.add(new Sample(change.getKey(), open));
    }
    return samples;
  }

  // ---- links ----

  private void links() {
    TransferLog ways = log.transfers();
    Map<Integer, List<Integer>> all = new TreeMap<>();
    for (int service = 0; service < ways.services(); service++) {
      if (ways.link(service) < machine.linkCount()) {
        all.computeIfAbsent(ways.link(service), link -> new ArrayList<>()).add(service);
      }
    }
    all.forEach((link, services) -> {
      services.sort(Comparator.comparingLong(ways::startPsOf).thenComparingLong(ways::tailPs));
      List<Slice> slices = merged(services);
      String name = machine.link(link).name();
      spread(Group.LINKS, -1, name, slices);
      counters.add(new Counter(Group.LINKS, "use " + name, "%", use(slices)));
    });
  }

  private List<Slice> merged(List<Integer> services) {
    TransferLog ways = log.transfers();
    List<Slice> slices = new ArrayList<>();
    int begin = 0;
    while (begin < services.size()) {
      int part = ways.partOf(services.get(begin));
      long bytes = 0;
      int end = begin;
      while (end < services.size()
          && ways.partOf(services.get(end)) == part
          && (end == begin
              || ways.startPsOf(services.get(end)) <= ways.tailPs(services.get(end - 1)))) {
        bytes += ways.chunkBytes(services.get(end));
        end++;
      }
      int op = ways.op(part);
      Map<String, Object> notes = new LinkedHashMap<>();
      notes.put("op", op);
      notes.put("bytes", bytes);
      String name = log.has(op) ? log.pe(op) + " " + log.kind(op) : "operation " + op;
      slices.add(
          new Slice(
              ways.startPsOf(services.get(begin)),
              ways.tailPs(services.get(end - 1)),
              name,
              0,
              0,
              notes));
      begin = end;
    }
    return slices;
  }

  /** Percent of each interval in which a link took bytes in; one value per interval. */
  private List<Sample> use(List<Slice> slices) {
    long window = Math.max(1, Math.ceilDiv(endPs, WINDOWS));
    long[] busy = new long[WINDOWS + 1];
    for (Slice s : slices) {
      for (long at = s.fromPs(); at < s.toPs(); ) {
        int w = (int) Math.min(WINDOWS, at / window);
        long until = w == WINDOWS ? s.toPs() : Math.min(s.toPs(), (w + 1) * window);
        busy[w] += until - at;
        at = until;
      }
    }
    List<Sample> samples = new ArrayList<>();
    double before = -1;
    for (int w = 0; w < WINDOWS && w * window < endPs; w++) {
      double percent = Math.min(100, Math.round(1000.0 * busy[w] / window) / 10.0);
      if (percent != before) {
        samples.add(new Sample(w * window, percent));
        before = percent;
      }
    }
    samples.add(new Sample(endPs, 0));
    return samples;
  }
}
