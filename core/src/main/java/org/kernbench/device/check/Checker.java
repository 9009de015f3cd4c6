package org.kernbench.device.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueueSet;
import org.kernbench.device.Register;
import org.kernbench.device.Steps;
import org.kernbench.device.Watch;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.CountedLanes;
import org.kernbench.device.memory.PageMap;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;

/**
 * Checked execution of one simulator: finds accesses to the same bytes that nothing orders, reads
 * of memory that nobody has written, and messages that are left over.
 *
 * <p>Two things are kept apart. <em>What comes after what</em> is known from the programs alone: a
 * {@link CheckedPort} sees every command and links it to its operands, to what was waited for, to
 * the message it takes, to the slot it needs ({@link OrderPoint}). <em>What happened</em> comes
 * from the timed machine, which tells of every load, store and message when it ends. Accesses end
 * in an order that agrees with all links, so each is compared with what {@link ShadowMemory} says
 * was there before: a conflict is fine if its moment can be reached backwards, and a race if not.
 *
 * <p>Why no vector clocks: commands of one program overlap, so a program is no chain, and a clock
 * would need an entry for each command that is under way. A search is made only where two programs
 * meet at the same bytes and their launches are not ordered, which is rare, and it leaves out what
 * ended before the first access did. (Clocks per thread: Flanagan and Freund, FastTrack, 2009;
 * overlap by explicit tokens as here: asynchronous copies of GPUs.)
 *
 * <p>Costs nothing when off: the machine asks for it once per operation that ends.
 */
final class Checker implements Watch {
  private static final String HOST = "the host program";

  private final Machine machine;
  private final PageMap map;
  private final OpLog log;
  private final boolean values;
  private final Findings findings;
  private final ShadowMemory shadow = new ShadowMemory();

  /** Counts launches and accesses. */
  private long counter = 1;

  /** What is older came before everything that is still to come: the machine stood still. */
  private long calm;

  private long searches;
  private List<OrderPoint> moments = new ArrayList<>();

  /** Launches that were not done when the host looked last. */
  private final Map<Launch, CheckedLaunch> pending = new IdentityHashMap<>();

  private final Map<Integer, Map<Pe, CheckedLaunch>> streams = new HashMap<>();
  private final Map<QueueSet, CheckedQueues> queues = new IdentityHashMap<>();
  private final Map<PePort, CheckedProgram> running = new IdentityHashMap<>();

  /** Loads and stores under way, by what they make. */
  private final Map<Register, OrderPoint> underWay = new IdentityHashMap<>();

  private boolean failed;

  Checker(Machine machine, PageMap map, OpLog log, Mode mode, Findings findings) {
    this.machine = machine;
    this.map = map;
    this.log = log;
    this.values = mode == Mode.FULL;
    this.findings = findings;
  }

  // ---- queues and launches ----

  @Override
  public void installed(QueueSet set) {
    queues.put(set, new CheckedQueues(set.plan()));
  }

  @Override
  public void uninstalled(QueueSet set) {
    CheckedQueues removed = queues.remove(set);
    if (removed != null) {
      leftIn(removed);
    }
  }

  @Override
  public OfLaunch launches(LaunchRequest spec) {
    look();
    List<CheckedLaunch> after = new ArrayList<>();
    for (Launch l : spec.after()) {
      CheckedLaunch earlier = pending.get(l);
      if (earlier != null) {
        after.add(earlier);
      }
    }
    Map<Pe, CheckedLaunch> last = streams.computeIfAbsent(spec.stream(), s -> new HashMap<>());
    Map<Pe, CheckedLaunch> before = new HashMap<>();
    for (Pe pe : spec.pes()) {
      CheckedLaunch earlier = last.get(pe);
      if (earlier != null && !earlier.isDone()) {
        before.put(pe, earlier);
      }
    }
    CheckedQueues ends = spec.queues().map(queues::get).orElse(null);
    CheckedLaunch launch = new CheckedLaunch(spec, counter++, ends, after, before);
    for (Pe pe : spec.pes()) {
      last.put(pe, launch);
    }
    return new OfLaunch() {
      @Override
      public Function<PePort, Runnable> watched(Function<PePort, Runnable> program) {
        return Checker.this.watched(launch, program);
      }

      @Override
      public void launched(Launch started) {
        launch.is(started);
        pending.put(started, launch);
      }
    };
  }

  private Function<PePort, Runnable> watched(
      CheckedLaunch launch, Function<PePort, Runnable> program) {
    return port -> {
      CheckedProgram checked = new CheckedProgram(this, launch, port.pe(), null);
      runs(port, checked);
      Runnable body = program.apply(new CheckedPort(port, checked, this));
      if (body instanceof Steps steps) {
        return (Steps)
            () -> {
              boolean more = steps.next();
              if (!more) {
                checked.ends();
              }
              return more;
            };
      }
      return () -> {
        body.run();
        checked.ends();
      };
    };
  }

  /** A program runs in a context from now on. */
  void runs(PePort port, CheckedProgram program) {
    running.put(port, program);
  }

  /** The host sees what is done. If everything is, the past need not be searched any more. */
  private void look() {
    pending
        .values()
        .removeIf(l -> {
          if (l.isDone()) {
            l.doneNumber = counter++;
          }
          return l.doneNumber >= 0;
        });
    if (pending.isEmpty()) {
      calm = counter++;
      moments.forEach(OrderPoint::forgetCauses);
      moments = new ArrayList<>();
      running.clear();
    }
  }

  // ---- what comes after what ----

  OrderPoint moment(CheckedProgram program, long sequence, @Nullable OrderPoint task) {
    OrderPoint moment = new OrderPoint(program, sequence, task);
    moments.add(moment);
    return moment;
  }

  String line(int id) {
    return log.lineAt(id);
  }

  /** A load or store is under way that makes {@code out}. */
  void watches(Register out, OrderPoint moment, Region region) {
    underWay.put(out, moment);
    if (region.bytes() > 0 && !(region.address() instanceof PhysicalAddress)) {
      List<PageMap.Piece> pieces = map.split(region, "");
      if (pieces.size() > 1) {
        checkOneTensor(pieces, moment, line(out.line()));
      }
    }
  }

  private void checkOneTensor(List<PageMap.Piece> pieces, OrderPoint moment, String line) {
    long first = pieces.getFirst().region().address().value();
    PageMap.Range begin = map.require(first, "");
    for (PageMap.Piece piece : pieces) {
      PageMap.Range range = map.require(piece.region().address().value(), "");
      if (!range.name.equals(begin.name)) {
        Finding.Bytes bytes =
            new Finding.Bytes(
                begin.name,
                machine.peAt(begin.holders[0]).toString(),
                first - begin.start,
                piece.region().address().value() - begin.start);
        String does = "goes on into tensor " + range.name;
        findings.add(
            new Finding(
                Finding.Kind.OUTSIDE,
                Optional.of(bytes),
                party(Objects.requireNonNull(moment.program), does, line, -1),
                Optional.empty(),
                ""),
            begin.name);
        return;
      }
    }
  }

  /** Whether an earlier access was over before a later one began, on every machine. */
  private boolean ordered(MemoryAccess a, MemoryAccess b) {
    if (a.number < calm) {
      return true;
    }
    CheckedProgram p = a.program();
    CheckedProgram q = b.program();
    if (p == null) {
      return q == null || q.launch.number > a.number;
    }
    if (q == null) {
      return p.launch.isDone();
    }
    if (p == q || q.launch.beginsAfter(p)) {
      return true;
    }
    OrderPoint from = Objects.requireNonNull(a.moment);
    OrderPoint to = Objects.requireNonNull(b.moment);
    boolean handedOverLater = q.owner == p && to.task != null && from.sequence < to.task.sequence;
    return handedOverLater || reaches(from, p, to);
  }

  /** Whether {@code to} comes after {@code from}, of another program. */
  private boolean reaches(OrderPoint from, CheckedProgram program, OrderPoint to) {
    long search = ++searches;
    List<OrderPoint> stack = new ArrayList<>();
    stack.add(to);
    while (!stack.isEmpty()) {
      OrderPoint m = stack.removeLast();
      if (m == from) {
        return true;
      }
      if (m.visited == search || (m.number >= 0 && m.number < from.number)) {
        continue; // been there, or over before
      }
      m.visited = search;
      CheckedProgram of = m.program;
      if (of != null && of.launch != program.launch && of.launch.beginsAfter(program)) {
        return true;
      }
      for (int i = 0; i < m.causes(); i++) {
        stack.add(m.cause(i));
      }
    }
    return false;
  }

  // ---- what happened ----

  @Override
  public void arrived(PePort program, int queue, int bytes, int line, long endPs) {
    findings.sawMessage();
    CheckedProgram sender = running.get(program);
    if (sender != null && sender.launch.queues != null) {
      sender
          .launch
          .queues
          .from(queue)
          .arrived(new CheckedQueues.Arrival(sender.launch.name, line(line), bytes, endPs));
    }
  }

  @Override
  public void accessed(PePort program, Access a) {
    OrderPoint moment = underWay.get(a.value());
    if (moment == null) {
      // a part of it has ended before the whole is issued
      moment = Objects.requireNonNull(running.get(program)).issuing;
    } else if (a.isWhole()) {
      underWay.remove(a.value());
    }
    if (a.bytes() == 0 || moment == null || (a.mask() != null && !values)) {
      return;
    }
    long time = a.writes() ? a.endPs() : a.startPs();
    MemoryAccess access = new MemoryAccess(moment, a.writes(), counter++, time, line(a.line()));
    moment.number = access.number;
    Judging judging = new Judging(access, place(new PhysicalAddress(a.physical()), a.range()));
    Region region = a.region();
    CountedLanes mask = a.mask();
    if (mask != null) {
      mask.runs(region, a.firstLane(), (at, value, n) -> judging.judge(a.physical() + at, n));
    } else if (region.rows() == 1 || region.strideBytes() == region.rowBytes()) {
      judging.judge(a.physical(), region.bytes());
    } else {
      for (int row = 0; row < region.rows(); row++) {
        judging.judge(a.physical() + row * region.strideBytes(), region.rowBytes());
      }
    }
    judging.report();
  }

  @Override
  public void hostAccess(
      boolean writes, PhysicalAddress at, long bytes, PageMap.@Nullable Range range, long nowPs) {
    look();
    MemoryAccess access = new MemoryAccess(null, writes, counter++, nowPs, "");
    Judging judging = new Judging(access, place(at, range));
    judging.judge(at.value(), bytes);
    judging.report();
  }

  @Override
  public void erased(PhysicalAddress at, long bytes) {
    shadow.forget(at.value(), at.value() + bytes);
  }

  // ---- judging ----

  /**
   * Where bytes are.
   *
   * @param base physical address of the first byte of the part of the tensor
   */
  private record Place(String tensor, String part, long base) {}

  private Place place(PhysicalAddress at, PageMap.@Nullable Range range) {
    if (range != null) {
      for (int copy = 0; copy < range.copies(); copy++) {
        long base = range.physical(copy, range.start).value();
        if (at.value() >= base && at.value() < base + range.end - range.start) {
          return new Place(range.name, machine.peAt(range.holders[copy]).toString(), base);
        }
      }
    }
    long base = at.value() - machine.addresses().decode(at).offset();
    return new Place("(none)", node(at), base);
  }

  private String node(PhysicalAddress at) {
    return machine.node(machine.addresses().decode(at).nodeId()).name();
  }

  private static Finding.Party party(
      CheckedProgram program, String does, String line, long timePs) {
    return new Finding.Party(program.pe.toString(), program.launch.name, does, line, timePs);
  }

  private static Finding.Party party(MemoryAccess access) {
    CheckedProgram program = access.program();
    String does = access.writes ? "writes them" : "reads them";
    return program == null
        ? new Finding.Party(HOST, "", does, "", access.timePs)
        : party(program, does, access.line, access.timePs);
  }

  /** One access against all that were before it. */
  private final class Judging implements ShadowMemory.Judge {
    private final MemoryAccess access;
    private final Place place;
    private final Map<MemoryAccess, Boolean> ordered = new IdentityHashMap<>();

    /** The first and last bytes of each race, by the other access, in the order of finding. */
    private final Map<MemoryAccess, long[]> races = new LinkedHashMap<>();

    private long unwritten = -1;
    private long unwrittenEnd;

    Judging(MemoryAccess access, Place place) {
      this.access = access;
      this.place = place;
      findings.sawAccess();
    }

    void judge(long from, long bytes) {
      if (bytes == 0) {
        return;
      }
      if (access.writes) {
        shadow.write(from, from + bytes, access, this);
      } else {
        shadow.read(from, from + bytes, access, this);
      }
    }

    @Override
    public void meets(MemoryAccess earlier, long from, long to) {
      if (earlier == access || (earlier.moment != null && earlier.moment == access.moment)) {
        return;
      }
      if (!ordered.computeIfAbsent(earlier, this::isAfter)) {
        long[] bytes = races.get(earlier);
        if (bytes == null) {
          races.put(earlier, new long[] {from, to});
        } else {
          bytes[0] = Math.min(bytes[0], from);
          bytes[1] = Math.max(bytes[1], to);
        }
      }
    }

    private boolean isAfter(MemoryAccess earlier) {
      boolean after =
          !findings.hasRace(place.tensor, earlier, access) && Checker.this.ordered(earlier, access);
      if (after && access.moment != null && earlier.program() == access.program()) {
        access.moment.after(earlier.moment); // loads and stores of a PE to the same bytes wait
      }
      return after;
    }

    @Override
    public void unwritten(long from, long to) {
      if (values && access.program() != null) {
        unwritten = unwritten < 0 ? from : Math.min(unwritten, from);
        unwrittenEnd = Math.max(unwrittenEnd, to);
      }
    }

    private Optional<Finding.Bytes> bytes(long from, long to) {
      return Optional.of(
          new Finding.Bytes(place.tensor, place.part, from - place.base, to - place.base));
    }

    void report() {
      races.forEach((earlier, range) -> {
        // a load that ended first may have begun before a store that ends after it, or the reverse
        boolean last = access.timePs >= earlier.timePs;
        findings.addRace(
            new Finding(
                Finding.Kind.RACE,
                bytes(range[0], range[1]),
                party(last ? access : earlier),
                Optional.of(party(last ? earlier : access)),
                ""),
            place.tensor,
            access,
            earlier);
      });
      if (unwritten >= 0) {
        findings.add(
            new Finding(
                Finding.Kind.UNWRITTEN,
                bytes(unwritten, unwrittenEnd),
                party(access),
                Optional.empty(),
                ""),
            place.tensor);
      }
    }
  }

  // ---- the end ----

  /** The run has stopped with an error; if in a deadlock, messages may be missing. */
  @Override
  public void failed(boolean deadlock) {
    if (!failed && deadlock) {
      queues.values().forEach(this::missingIn);
    }
    failed = true;
  }

  @Override
  public void closed() {
    if (!failed) {
      queues.values().forEach(this::leftIn);
    }
    queues.clear();
    pending.clear();
    moments = new ArrayList<>();
  }

  private void leftIn(CheckedQueues set) {
    for (CheckedQueues.Queue q : set.all()) {
      CheckedQueues.Arrival left = q.firstLeft();
      if (left == null) {
        continue;
      }
      String does = "sends " + left.bytes() + " bytes to " + q.senderDirection;
      Finding.Party by =
          new Finding.Party(q.sender.toString(), left.kernel(), does, left.line(), left.timePs());
      message(Finding.Kind.NOT_RECEIVED, q, by, receiver(q, "receives the last before it"));
    }
  }

  private void missingIn(CheckedQueues set) {
    for (CheckedQueues.Queue q : set.all()) {
      if (q.received <= q.sent) {
        continue;
      }
      CheckedQueues.Arrival last = q.lastArrival;
      Finding.Party sender =
          last == null
              ? new Finding.Party(
                  q.sender.toString(), "", "sends nothing to " + q.senderDirection, "", -1)
              : new Finding.Party(
                  q.sender.toString(),
                  last.kernel(),
                  "sends its last to " + q.senderDirection,
                  last.line(),
                  last.timePs());
      message(Finding.Kind.NOT_SENT, q, receiver(q, "waits for one more"), sender);
    }
  }

  private static Finding.Party receiver(CheckedQueues.Queue q, String does) {
    boolean never = q.received == 0;
    return new Finding.Party(
        q.receiver.toString(),
        q.lastReceiveKernel,
        (never ? "receives nothing" : does) + " from " + q.receiverDirection,
        q.lastReceiveLine,
        -1);
  }

  private void message(
      Finding.Kind kind, CheckedQueues.Queue q, Finding.Party by, Finding.Party other) {
    String counts =
        "%s has sent %s to %s, %s has asked for %s from %s"
            .formatted(
                q.sender, q.sent, q.senderDirection, q.receiver, q.received, q.receiverDirection);
    findings.add(new Finding(kind, Optional.empty(), by, Optional.of(other), counts), other.line());
  }
}
