package org.kernbench.device.simulator;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.CopyDirection;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.LaneMask;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.Register;
import org.kernbench.device.Reused;
import org.kernbench.device.Steps;
import org.kernbench.device.Watch;
import org.kernbench.device.log.ComputeKernels;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.KernelLines;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.CountedLanes;
import org.kernbench.device.memory.Memories;
import org.kernbench.device.memory.MmuCounts;
import org.kernbench.device.memory.PageMap;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.SimulationException;
import org.kernbench.sim.Coroutine;

/**
 * Runs programs for their values alone: every command takes effect when it is issued, and a program
 * gives way only when it wants a message that nobody has sent yet. Queues are unbounded here, so a
 * program that needs too many slots stops in the timed modes only.
 */
final class ValuesExecutor implements Executor {
  private final Machine machine;
  private final Memories memories;
  private final PageMap map;
  private final SimulatorOptions options;
  private final OpLog log;
  private final KernelLines lines = new KernelLines();
  private static final Mail NO_MAIL = new Mail(List.of());

  private final Map<QueueSet, Mail> mail = new IdentityHashMap<>();
  private final Map<Stream, ArrayDeque<LaunchState>> launches = new HashMap<>();
  private final ArrayDeque<ValuesPe> runnable = new ArrayDeque<>();
  private final Set<ValuesPe> suspended = new LinkedHashSet<>();
  private long commands;

  ValuesExecutor(Machine machine, Memories memories, PageMap map, SimulatorOptions options) {
    this.machine = machine;
    this.memories = memories;
    this.map = map;
    this.options = options;
    this.log = new OpLog(machine, 0);
    if (options.watch().isPresent()) {
      throw new SimulationException(
          "mode values has no order in time, so it cannot be checked; use mode full");
    }
  }

  /** A value, which exists as soon as it is named. */
  private static final class Held implements Register {
    private static final Held NOTHING = new Held(new byte[0]);

    final byte[] data;
    boolean released;

    Held(byte[] data) {
      this.data = data;
    }

    static Held of(Register named) {
      return named == Register.NONE ? NOTHING : (Held) named;
    }

    @Override
    public int bytes() {
      return data.length;
    }

    @Override
    public boolean inTcm() {
      return true;
    }

    @Override
    public int line() {
      return 0;
    }

    @Override
    public boolean isReleased() {
      return released;
    }
  }

  /** Messages on their way to one queue end. */
  private static final class Inbox {
    final ArrayDeque<byte[]> messages = new ArrayDeque<>();
    final Pe owner;
    final String direction;
    final int peer;
    @Nullable ValuesPe waiting;

    /** What comes here is made in a switch; null if it comes from a peer. */
    @Nullable Summing sums;

    Inbox(Pe owner, String direction, int peer) {
      this.owner = owner;
      this.direction = direction;
      this.peer = peer;
    }
  }

  /** What a switch makes: what each giver has given that is not made yet, and who gets it. */
  private static final class Summing {
    final QueuePlan.SwitchSum of;
    final List<ArrayDeque<byte[]>> given = new ArrayList<>();
    final List<Inbox> takers = new ArrayList<>();

    Summing(QueuePlan.SwitchSum of) {
      this.of = of;
      of.givers().forEach(giver -> given.add(new ArrayDeque<>()));
    }

    /** A giver that all others wait for. */
    Pe missing() {
      for (int i = 0; i < given.size(); i++) {
        if (given.get(i).isEmpty()) {
          return of.givers().get(i);
        }
      }
      throw new IllegalStateException("bug: all have given to a sum that is not made");
    }

    void gives(Pe pe, byte[] message) {
      given.get(of.givers().indexOf(pe)).add(message);
    }

    /** The next sum, if all have given to it; null if not. */
    byte @Nullable [] next() {
      if (given.stream().anyMatch(ArrayDeque::isEmpty)) {
        return null;
      }
      byte[] sum = given.getFirst().remove();
      for (int i = 1; i < given.size(); i++) {
        byte[] next = given.get(i).remove();
        if (next.length != sum.length) {
          throw new SimulationException(
              "%s gives %s bytes to a sum to which %s gives %s; let all members send as much"
                  .formatted(of.givers().get(i), next.length, of.givers().getFirst(), sum.length));
        }
        sum = ComputeKernels.combine(of.op(), of.type(), sum, 0, next, 0, sum.length);
      }
      return sum;
    }
  }

  /** The queues of a set. */
  private static final class Mail {
    final Map<Pe, Map<String, Integer>> directions = new HashMap<>();
    final Inbox[] inboxes;

    Mail(List<QueuePlan.Connection> connections) {
      inboxes = new Inbox[connections.size() * 2];
      int id = 0;
      Map<QueuePlan.SwitchSum, Summing> sums = new HashMap<>();
      for (QueuePlan.Connection c : connections) {
        add(id, c.a(), c.aDirection(), id + 1);
        add(id + 1, c.b(), c.bDirection(), id);
        if (c.sums().isPresent()) {
          Summing summing = sums.computeIfAbsent(c.sums().get(), Summing::new);
          inboxes[id + 1].sums = summing;
          if (summing.of.takers().contains(c.a())) {
            summing.takers.add(inboxes[id + 1]);
          }
        }
        id += 2;
      }
    }

    private void add(int id, Pe pe, String direction, int peer) {
      inboxes[id] = new Inbox(pe, direction, peer);
      if (direction.equals(QueuePlan.Connection.NONE)) {
        return;
      }
      Integer old = directions.computeIfAbsent(pe, p -> new LinkedHashMap<>()).put(direction, id);
      if (old != null) {
        throw new SimulationException(
            """
            %s: direction %s is connected twice; a direction name may be used once per PE\
            """
                .formatted(pe, direction));
      }
    }
  }

  /** Where launches queue up. */
  private record Stream(Pe pe, int number) {}

  @Override
  public QueueSet install(QueuePlan plan) {
    QueueSet set = new InstalledQueues(plan);
    mail.put(set, new Mail(plan.connections()));
    return set;
  }

  @Override
  public void uninstall(QueueSet set) {
    InstalledQueues.of(set).removed();
    mail.remove(set);
  }

  @Override
  public Launch launch(LaunchRequest spec, Function<PePort, Runnable> program) {
    LaunchState launch = new LaunchState(spec, program, 0, 0);
    launch.notReady = spec.pes().size();
    launch.follow(spec.after());
    spec.queues().ifPresent(set -> InstalledQueues.of(set).users++);
    for (Pe pe : spec.pes()) {
      ArrayDeque<LaunchState> queue =
          launches.computeIfAbsent(new Stream(pe, spec.stream()), s -> new ArrayDeque<>());
      queue.add(launch);
      if (queue.size() == 1) {
        ready(launch);
      }
    }
    return launch;
  }

  /** One thing less that a launch waits for; it starts when there is none. */
  private void ready(LaunchState launch) {
    if (--launch.notReady == 0) {
      launch.started(0);
      Mail own = launch.spec().queues().map(mail::get).orElse(NO_MAIL);
      for (Pe pe : launch.pes()) {
        runnable.add(new ValuesPe(pe, launch, own));
      }
    }
  }

  private void finished(Pe pe, LaunchState launch) {
    launch.finished(machine.peIndex(pe), 0, -1, 0);
    ArrayDeque<LaunchState> queue =
        Objects.requireNonNull(launches.get(new Stream(pe, launch.stream())));
    queue.remove();
    if (launch.isDone()) {
      launch.spec().queues().ifPresent(set -> InstalledQueues.of(set).users--);
      launch.takeFollowers().forEach(this::ready);
    }
    LaunchState next = queue.peek();
    if (next != null) {
      ready(next);
    }
  }

  @Override
  public long hostCopy(PhysicalAddress at, long bytes, CopyDirection direction) {
    return 0;
  }

  /** Without time all that can be done are first. */
  @Override
  public void driveToFirst(List<Launch> launches) {
    for (Launch launch : launches) {
      while (!launch.isDone()) {
        ValuesPe next = runnable.poll();
        if (next == null) {
          if (launches.stream().anyMatch(Launch::isDone)) {
            return;
          }
          throw deadlock(launches.getFirst());
        }
        suspended.remove(next);
        next.resume();
      }
    }
  }

  private DeadlockException deadlock(Launch launch) {
    DeadlockReport.Builder report = new DeadlockReport.Builder();
    for (ValuesPe p : suspended) {
      if (p.waitsAt.size() > 1) {
        List<DeadlockReport.Source> sources = new ArrayList<>();
        for (Inbox box : p.waitsAt) {
          Inbox peer = p.mail.inboxes[box.peer];
          sources.add(new DeadlockReport.Source(box.direction, peer.owner, peer.direction));
        }
        report.waits(p.pe, DeadlockReport.anyOf(sources, atLine(p.line)), null);
      } else if (p.waitsAt.size() == 1) {
        Inbox box = p.waitsAt.getFirst();
        Summing sums = box.sums;
        if (sums != null) {
          Pe missing = sums.missing();
          String what =
              sums.of.isCopy()
                  ? "recv %s%s: no message from %s"
                  : "recv %s%s: no sum, to which %s gives nothing";
          report.waits(box.owner, what.formatted(box.direction, atLine(p.line), missing), missing);
          continue;
        }
        Inbox peer = p.mail.inboxes[box.peer];
        report.waits(
            box.owner,
            "recv %s%s: no message from %s (%s)"
                .formatted(box.direction, atLine(p.line), peer.owner, peer.direction),
            peer.owner);
      }
    }
    return report.build(0, launch.name());
  }

  private String atLine(int line) {
    return line == 0 ? "" : " at " + log.lineAt(line);
  }

  @Override
  public void mapped(PageMap.Range range) {}

  @Override
  public void unmaps(PageMap.Range range) {}

  @Override
  public boolean hasEvicted() {
    return false;
  }

  @Override
  public MmuCounts mmuCounts() {
    return new MmuCounts(0, 0);
  }

  @Override
  public long nowPs() {
    return 0;
  }

  @Override
  public long eventCount() {
    return commands;
  }

  @Override
  public OpLog log() {
    return log;
  }

  @Override
  public Optional<Reused> reused() {
    return Optional.empty();
  }

  @Override
  public @Nullable Watch watch() {
    return null;
  }

  @Override
  public int peakSlots(QueueSet set) {
    return 0;
  }

  @Override
  public void close() {
    for (ValuesPe p : suspended) {
      p.program.cancel();
    }
  }

  /** One program. */
  private final class ValuesPe implements PePort {
    private final Pe pe;
    private final LaunchState launch;
    private final Mail mail;

    /** Of several, any will do. */
    private List<Inbox> waitsAt = List.of();

    private final Coroutine program;
    private final boolean inSteps;
    private final PageMap.View addresses;
    private boolean ended;
    private int line;

    ValuesPe(Pe pe, LaunchState launch, Mail mail) {
      this.pe = pe;
      this.addresses = map.view(pe);
      this.launch = launch;
      this.mail = mail;
      Runnable body = launch.programOn(this);
      this.inSteps = body instanceof Steps;
      this.program =
          Coroutine.of(
              launch.name() + "@" + pe,
              () -> {
                body.run();
                ended = true;
              });
    }

    void resume() {
      RunWatch watch = options.shown().orElse(null);
      if (watch == null) {
        program.resume();
      } else {
        watch.begins(pe.sip(), program);
        try {
          program.resume();
        } finally {
          watch.ends(pe.sip());
        }
      }
      if (ended) {
        finished(pe, launch);
      } else {
        suspended.add(this);
      }
    }

    private Register value(byte[] data) {
      commands++;
      return new Held(data);
    }

    @Override
    public Pe pe() {
      return pe;
    }

    @Override
    public Mode mode() {
      return Mode.VALUES;
    }

    @Override
    public Machine machine() {
      return machine;
    }

    @Override
    public List<String> directions() {
      return List.copyOf(mail.directions.getOrDefault(pe, Map.of()).keySet());
    }

    @Override
    public int queue(String direction) {
      return mail.directions.getOrDefault(pe, Map.of()).getOrDefault(direction, -1);
    }

    @Override
    public Register load(Region from) {
      byte[] data = new byte[from.bytes()];
      if (addresses.isOneRange(from)) {
        memories.read(physical(from), from, data, 0);
      } else {
        for (PageMap.Piece p : addresses.split(from)) {
          memories.read(physical(p.region()), p.region(), data, p.valueOffset());
        }
      }
      return value(data);
    }

    @Override
    public Register store(Register value, int offset, Region to) {
      byte[] data = alive(value).data;
      if (addresses.isOneRange(to)) {
        memories.write(physical(to), to, data, offset);
      } else {
        for (PageMap.Piece p : addresses.split(to)) {
          memories.write(physical(p.region()), p.region(), data, offset + p.valueOffset());
        }
      }
      return value(new byte[0]);
    }

    @Override
    public Register load(Region from, LaneMask mask) {
      byte[] data = new byte[from.bytes()];
      CountedLanes lanes = mask.lanes(alive(mask.register()).data, 0);
      for (PageMap.Piece p : pieces(from)) {
        int lane = p.valueOffset() / mask.elementBytes();
        memories.read(physical(p.region()), p.region(), lanes, lane, data, p.valueOffset());
      }
      return value(data);
    }

    @Override
    public Register store(Register value, int offset, Region to, LaneMask mask) {
      byte[] data = alive(value).data;
      CountedLanes lanes = mask.lanes(alive(mask.register()).data, 0);
      for (PageMap.Piece p : pieces(to)) {
        int lane = p.valueOffset() / mask.elementBytes();
        memories.write(
            physical(p.region()), p.region(), lanes, lane, data, offset + p.valueOffset());
      }
      return value(new byte[0]);
    }

    private List<PageMap.Piece> pieces(Region region) {
      return addresses.isOneRange(region)
          ? List.of(new PageMap.Piece(region, 0))
          : addresses.split(region);
    }

    private long physical(Region region) {
      long address = region.address().value();
      return region.address() instanceof PhysicalAddress
          ? address
          : addresses.physical(addresses.range(region), address);
    }

    @Override
    public Register compute(
        ComputeOp op,
        int outBytes,
        Register a,
        int aOffset,
        Register b,
        int bOffset,
        Register c,
        int cOffset) {
      byte[] out = new byte[outBytes];
      ComputeKernels.run(
          op, alive(a).data, aOffset, alive(b).data, bOffset, alive(c).data, cOffset, out, 0);
      return value(out);
    }

    @Override
    public Register accumulate(
        ComputeOp op, Register a, int aOffset, Register b, int bOffset, Register sums) {
      Register out = compute(op, sums.bytes(), a, aOffset, b, bOffset, sums, 0);
      release(sums);
      return out;
    }

    @Override
    public Register schedule(List<Register> reads, Consumer<PePort> work) {
      for (Register r : reads) {
        alive(r);
      }
      work.accept(this);
      return value(new byte[0]);
    }

    @Override
    public void fenceReaders(Register register) {}

    @Override
    public void send(int queue, Register value, int offset, int bytes) {
      commands++;
      byte[] message = new byte[bytes];
      System.arraycopy(alive(value).data, offset, message, 0, bytes);
      Inbox to = mail.inboxes[mail.inboxes[queue].peer];
      Summing sums = to.sums;
      if (sums == null) {
        arrives(to, message);
        return;
      }
      sums.gives(pe, message);
      byte[] sum = sums.next();
      if (sum != null) {
        sums.takers.forEach(taker -> arrives(taker, sum));
      }
    }

    private void arrives(Inbox to, byte[] message) {
      to.messages.add(message);
      ValuesPe waiting = to.waiting;
      if (waiting != null) {
        waiting.waitsAt.forEach(box -> box.waiting = null);
        runnable.add(waiting);
      }
    }

    @Override
    public Register receive(int queue, int bytes, boolean copy, boolean async) {
      Inbox from = mail.inboxes[queue];
      if (from.messages.isEmpty()) {
        waitAt(List.of(from));
      }
      byte[] message = Objects.requireNonNull(from.messages.poll());
      if (message.length != bytes) {
        throw new SimulationException(
            """
            recv %s at %s expects a message of %s bytes, but %s sent another size (%s \
            bytes); let both sides agree on shape and dtype\
            """
                .formatted(
                    from.direction, pe, bytes, mail.inboxes[from.peer].owner, message.length));
      }
      return value(message);
    }

    private void waitAt(List<Inbox> boxes) {
      line = options.captureLines() ? log.lineId(lines.current()) : 0;
      boxes.forEach(box -> box.waiting = this);
      waitsAt = boxes;
      program.suspend();
      waitsAt = List.of();
    }

    @Override
    public int select(List<Integer> queues, int first) {
      refuseInSteps();
      List<Inbox> boxes = queues.stream().map(q -> mail.inboxes[q]).toList();
      if (boxes.stream().allMatch(box -> box.messages.isEmpty())) {
        waitAt(boxes);
      }
      int chosen = first;
      while (boxes.get(chosen).messages.isEmpty()) {
        chosen = (chosen + 1) % boxes.size();
      }
      return chosen;
    }

    private Held alive(Register named) {
      Held r = Held.of(named);
      if (r.released) {
        throw new SimulationException(
            pe + ": the kernel reads a value that it has released; release it after its last use");
      }
      return r;
    }

    @Override
    public void fence(Register token) {}

    @Override
    public void fenceAll() {}

    @Override
    public void release(Register register) {
      if (register == Register.NONE) {
        return;
      }
      Held given = Held.of(register);
      if (given.released) {
        throw new SimulationException(pe + ": a value was released twice");
      }
      given.released = true;
    }

    @Override
    public byte[] look(Register register, int offset, int bytes) {
      refuseInSteps();
      byte[] copy = new byte[bytes];
      System.arraycopy(alive(register).data, offset, copy, 0, bytes);
      return copy;
    }

    /** It could wait here, but not where there is time. */
    private void refuseInSteps() {
      if (inSteps) {
        throw SimulationException.ofStepThatWaits(pe, lines.current());
      }
    }

    @Override
    public long clockPs() {
      refuseInSteps();
      return 0;
    }
  }
}
