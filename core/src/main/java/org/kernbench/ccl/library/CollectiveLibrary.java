package org.kernbench.ccl.library;

import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.AutoChoice;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.FoldedCall;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.RingOrder;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.SlotSpace;
import org.kernbench.ccl.algorithms.AllToAll;
import org.kernbench.ccl.algorithms.BinaryTree;
import org.kernbench.ccl.algorithms.Cycle;
import org.kernbench.ccl.algorithms.Direct;
import org.kernbench.ccl.algorithms.Dissemination;
import org.kernbench.ccl.algorithms.GridAlgorithms;
import org.kernbench.ccl.algorithms.HelloSend;
import org.kernbench.ccl.algorithms.InSwitch;
import org.kernbench.ccl.algorithms.Line;
import org.kernbench.ccl.algorithms.MeshExchange;
import org.kernbench.ccl.algorithms.PackedTrees;
import org.kernbench.ccl.algorithms.PairwiseExchange;
import org.kernbench.ccl.algorithms.RingAllReduce;
import org.kernbench.ccl.algorithms.RootCenter;
import org.kernbench.ccl.algorithms.RootCenterPipelined;
import org.kernbench.ccl.algorithms.TreeAlgorithm;
import org.kernbench.ccl.algorithms.TreeBarrier;
import org.kernbench.ccl.dimensions.ByDimension;
import org.kernbench.ccl.flow.DrawnAlgorithm;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.ReusableProgram;
import org.kernbench.device.Steps;
import org.kernbench.device.simulator.Fold;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Shard;
import org.kernbench.tl.SteppedKernel;
import org.kernbench.tl.Tl;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectivePlan;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.collective.KeyedKernel;
import org.kernbench.torch.placement.RankLevel;

/** The collectives of one machine, as {@code ccl.yaml} configures them: backend {@code ahbm}. */
public final class CollectiveLibrary implements CollectiveBackend {
  private static final List<Supplier<CollectiveAlgorithm>> BUILT_IN =
      Stream.of(
              List.<Supplier<CollectiveAlgorithm>>of(
                  RootCenter::new,
                  RootCenterPipelined::new,
                  RingAllReduce::new,
                  MeshExchange::new,
                  BinaryTree::new,
                  PackedTrees::new,
                  ByDimension::new,
                  HelloSend::new,
                  Cycle::new,
                  Line::new,
                  PairwiseExchange::new,
                  TreeBarrier::new,
                  InSwitch::new,
                  Dissemination::new),
              GridAlgorithms.all(),
              TreeAlgorithm.all(),
              AllToAll.all())
          .flatMap(List::stream)
          .toList();

  private final Machine machine;
  private final CclConfig ccl;
  private final AlgorithmConfig config;
  private final CollectiveAlgorithm algorithm;
  private final Map<CollectiveOp, Chosen> algorithms = new EnumMap<>(CollectiveOp.class);
  private final Chosen subgroups;
  private final RankLevel rankLevel;
  private final int worldSize;

  /** By which package 0 stands for all; null if every package is simulated. */
  private final @Nullable Fold fold;

  private CollectiveLibrary(Machine machine, CclConfig ccl, String name, @Nullable Fold fold) {
    this.machine = machine;
    this.fold = fold;
    this.ccl = ccl;
    this.config = ccl.of(name);
    this.algorithm = make(ccl, config);
    if (!algorithm.operations().contains(CollectiveOp.ALL_REDUCE)) {
      throw ccl.problem("defaults.algorithm", cannot(name, algorithm, CollectiveOp.ALL_REDUCE));
    }
    for (CollectiveOp op : CollectiveOp.values()) {
      ccl.algorithm(op).ifPresent(other -> algorithms.put(op, able(other, op)));
    }
    algorithms.put(CollectiveOp.ALL_REDUCE, new Chosen(config, algorithm));
    this.subgroups = new Chosen(ccl.of(ccl.subgroups()), make(ccl, ccl.of(ccl.subgroups())));
    if (!subgroups.algorithm.operations().contains(CollectiveOp.ALL_REDUCE)) {
      String problem = cannot(ccl.subgroups(), subgroups.algorithm, CollectiveOp.ALL_REDUCE);
      throw ccl.problem("defaults.subgroups", problem);
    }
    this.rankLevel = config.rankLevel().orElse(algorithm.defaultRankLevel());
    this.worldSize = worldSize(ccl);
  }

  /**
   * The algorithm that the configuration chooses, on a machine.
   *
   * @throws org.kernbench.config.ConfigException if the machine is too small for what is configured
   */
  public static CollectiveLibrary open(Machine machine, CclConfig config) {
    return open(machine, config, config.algorithm());
  }

  /** An algorithm of the configuration by its name, on a machine. */
  public static CollectiveLibrary open(Machine machine, CclConfig config, String algorithm) {
    return new CollectiveLibrary(machine, config, algorithm, null);
  }

  @Override
  public CollectiveLibrary folded(Fold by) {
    return new CollectiveLibrary(machine, ccl, config.name(), by);
  }

  /** Names of the algorithms that need no {@code class}. */
  public static Set<String> builtIn() {
    Set<String> names = new LinkedHashSet<>();
    for (Supplier<CollectiveAlgorithm> each : BUILT_IN) {
      names.add(each.get().name());
    }
    names.add(Auto.NAME);
    return names;
  }

  /** Names of the algorithms that need no {@code class} and can do an operation. */
  public static Set<String> builtIn(CollectiveOp op) {
    Set<String> names = new LinkedHashSet<>();
    for (Supplier<CollectiveAlgorithm> each : BUILT_IN) {
      if (each.get().operations().contains(op)) {
        names.add(each.get().name());
      }
    }
    if (Auto.all().contains(op)) {
      names.add(Auto.NAME);
    }
    return names;
  }

  /** An algorithm that needs no {@code class}. */
  public static CollectiveAlgorithm builtIn(String name) {
    for (Supplier<CollectiveAlgorithm> each : BUILT_IN) {
      CollectiveAlgorithm algorithm = each.get();
      if (algorithm.name().equals(name)) {
        return algorithm;
      }
    }
    throw new IllegalArgumentException("no built-in algorithm " + name);
  }

  /**
   * An algorithm of a configuration, by name.
   *
   * @throws org.kernbench.config.ConfigException if its class cannot be made
   */
  public static CollectiveAlgorithm algorithm(CclConfig config, String name) {
    return make(config, config.of(name));
  }

  /** Names of the algorithms that need no {@code class}, with one line on each. */
  public static Map<String, String> descriptions() {
    Map<String, String> descriptions = new LinkedHashMap<>();
    for (Supplier<CollectiveAlgorithm> each : BUILT_IN) {
      CollectiveAlgorithm algorithm = each.get();
      descriptions.put(algorithm.name(), algorithm.description());
    }
    descriptions.put(
        Auto.NAME,
        "the fastest by forecast and simulation, call by call, or by a table of kernbench tune");
    return descriptions;
  }

  private static CollectiveAlgorithm make(CclConfig ccl, AlgorithmConfig config) {
    CollectiveAlgorithm made = unpaced(ccl, config);
    boolean own =
        made instanceof RingAllReduce
            || made instanceof InSwitch
            || made instanceof DrawnAlgorithm
            || made instanceof Auto;
    return own ? made : new PacedAlgorithm(made);
  }

  private static CollectiveAlgorithm unpaced(CclConfig ccl, AlgorithmConfig config) {
    if (config.className().equals(Auto.NAME)) {
      return new Auto(ccl);
    }
    for (Supplier<CollectiveAlgorithm> each : BUILT_IN) {
      CollectiveAlgorithm builtIn = each.get();
      if (builtIn.name().equals(config.className())) {
        return builtIn;
      }
    }
    String path = "algorithms." + config.name() + ".class";
    try {
      // a file may name any class: none of its code runs before it is known to be an algorithm
      return Class.forName(config.className(), false, loader())
          .asSubclass(CollectiveAlgorithm.class)
          .getConstructor()
          .newInstance();
    } catch (ClassCastException e) {
      throw ccl.problem(
          path,
          "class %s is no %s; expected one that implements it"
              .formatted(config.className(), CollectiveAlgorithm.class.getName()));
    } catch (ClassNotFoundException | NoClassDefFoundError e) {
      throw ccl.problem(path, notFound(config.className(), e));
    } catch (InvocationTargetException e) {
      throw ccl.problem(path, "class " + config.className() + " failed to start: " + e.getCause());
    } catch (ReflectiveOperationException e) {
      throw ccl.problem(
          path,
          """
          class %s cannot be made; expected a public class with a public constructor \
          without arguments\
          """
              .formatted(config.className()));
    } catch (LinkageError e) {
      throw ccl.problem(path, "class " + config.className() + " cannot be loaded: " + e);
    }
  }

  /** What could not be found: the class, one that it uses, or one that is not for users. */
  private static String notFound(String className, Throwable error) {
    @Nullable Throwable cause = error.getCause();
    String told = String.valueOf((cause == null ? error : cause).getMessage());
    if (error instanceof ClassNotFoundException) {
      return told.equals(className) ? "no class " + className + " on the class path" : told;
    }
    return "class %s cannot be loaded: it uses what is not there: %s".formatted(className, told);
  }

  /** The running program's loader: classes compiled in memory are not on the class path. */
  private static ClassLoader loader() {
    ClassLoader context = Thread.currentThread().getContextClassLoader();
    return context != null ? context : CollectiveLibrary.class.getClassLoader();
  }

  /** An algorithm that is configured for an operation other than all-reduce. */
  private Chosen able(String name, CollectiveOp op) {
    AlgorithmConfig own = ccl.of(name);
    CollectiveAlgorithm made = make(ccl, own);
    if (!made.operations().contains(op)) {
      throw ccl.problem("defaults.operations." + op.word(), cannot(name, made, op));
    }
    return new Chosen(own, made);
  }

  private static String cannot(String name, CollectiveAlgorithm algorithm, CollectiveOp op) {
    List<String> can = algorithm.operations().stream().sorted().map(CollectiveOp::word).toList();
    List<String> able = builtIn(op).stream().sorted().toList();
    return "got \"%s\", which can do %s; expected one that can do %s, e.g. %s"
        .formatted(name, String.join(", ", can), op.word(), String.join(", ", able));
  }

  private int worldSize(CclConfig ccl) {
    int devices = rankLevel.devices(machine);
    if (config.worldSize().isPresent()) {
      int wanted = config.worldSize().getAsInt();
      if (wanted == AlgorithmConfig.ALL) {
        return devices;
      }
      if (wanted > devices) {
        String larger = RankLevel.withAtLeast(machine, wanted);
        throw ccl.problem(
            "algorithms." + config.name() + ".world_size",
            """
            got %s ranks of level %s; machine %s has %s of those; expected at most that, or \
            another rank_level: %s\
            """
                .formatted(
                    wanted,
                    name(rankLevel),
                    machine.name(),
                    devices,
                    larger.isEmpty() ? "none has as many" : larger));
      }
      return wanted;
    }
    // Unless all are asked for: PEs beyond one cube are no ring or tree that is meant by default.
    long all = rankLevel == RankLevel.PE ? machine.pesPerCube() : devices;
    return (int) Math.min(all, algorithm.defaultWorldSize().orElse(Integer.MAX_VALUE));
  }

  private static String name(RankLevel level) {
    return level.name().toLowerCase(Locale.ROOT);
  }

  @Override
  public String name() {
    return "ahbm";
  }

  /** Name of the algorithm. */
  public String algorithm() {
    return config.name();
  }

  /** What {@code auto} chose for the calls so far; empty if it is not configured. */
  public List<AutoChoice> choices() {
    return Stream.concat(algorithms.values().stream(), Stream.of(subgroups))
        .map(Chosen::algorithm)
        .filter(Auto.class::isInstance)
        .flatMap(auto -> ((Auto) auto).choices().stream())
        .distinct()
        .toList();
  }

  @Override
  public RankLevel rankLevel() {
    return rankLevel;
  }

  @Override
  public int worldSize() {
    return worldSize;
  }

  /**
   * Binds the algorithms to a group. That of all-reduces is planned at once if the group is the
   * world, so that what does not fit the machine is known before the first call.
   *
   * @throws CollectiveException if it cannot serve the group, or its message slots do not fit
   */
  @Override
  public Communicator connect(List<Pe> leadPes) {
    return connect(leadPes, List.of());
  }

  @Override
  public Communicator connect(List<Pe> leadPes, List<Integer> order) {
    Group group = new Group(machine, rankLevel, leadPes, order);
    Bound bound = new Bound(group);
    if (group.size() == worldSize && group.size() > 1) {
      bound.planned(CollectiveOp.ALL_REDUCE);
    }
    return bound;
  }

  @Override
  public List<Integer> commonOrder(List<List<Pe>> groups) {
    return RingOrder.common(machine, groups);
  }

  /** The algorithm of all-reduces, bound to a group, and its queues. */
  public record OfGroup(Group group, String algorithm, Schedule schedule, IpcqSpec queues) {
    /**
     * The time that the algorithm forecasts for a sum, picoseconds; empty without a closed form.
     */
    public OptionalLong forecastPs(DType dtype, int elements) {
      return schedule.predictPs(FoldedCall.sum(group, dtype, elements));
    }
  }

  /** Binds the algorithm of all-reduces to all ranks, without a host program. */
  public OfGroup ofAllRanks() {
    Group group =
        rankLevel == RankLevel.SIP && worldSize == machine.sips()
            ? Group.ofPackages(machine)
            : new Group(
                machine,
                rankLevel,
                IntStream.range(0, worldSize).mapToObj(r -> rankLevel.lead(machine, r)).toList());
    IpcqSpec queues = config.queues(machine.ipcq());
    return new OfGroup(group, config.name(), algorithm.plan(group, queues, config), queues);
  }

  /** A kernel and what its commands depend on. */
  private record Keyed(Kernel kernel, Supplier<ReusableProgram.Key> key) implements KeyedKernel {
    @Override
    public void run(Tl tl) {
      kernel.run(tl);
    }

    @Override
    public ReusableProgram.Key dependsOn() {
      return key.get();
    }
  }

  /** Likewise of one that says its commands in steps. */
  private record KeyedSteps(SteppedKernel kernel, Supplier<ReusableProgram.Key> key)
      implements KeyedKernel, SteppedKernel {
    @Override
    public Steps begin(Tl tl) {
      return kernel.begin(tl);
    }

    @Override
    public ReusableProgram.Key dependsOn() {
      return key.get();
    }
  }

  /** Calls of which one has been compared for all: their ranks do the same, with other vectors. */
  private record Folded(CollectiveOp op, DType dtype, long elements, int root, boolean inPlace) {
    static Folded of(CollectiveCall call) {
      boolean inPlace = call.inputs().getFirst().equals(call.outputs().getFirst());
      return new Folded(call.op(), call.dtype(), call.elements(), call.root(), inPlace);
    }
  }

  /** The algorithms, each bound to the group when an operation first needs it. */
  private final class Bound implements Communicator {
    private final Group group;
    private @Nullable Direct direct;
    private @Nullable Bound first;
    private final Map<QueuePlan, QueuePlan> ofCalls = new HashMap<>();
    private final Map<Folded, QueuePlan> folded = new HashMap<>();
    private final Map<CollectiveOp, Planned> planned = new EnumMap<>(CollectiveOp.class);

    Bound(Group group) {
      this.group = group;
    }

    @Override
    public void follow(Communicator other) {
      first = (Bound) other;
      planned.forEach((op, own) -> own.schedule.follow(first.planned(op).schedule));
    }

    @Override
    public String algorithm() {
      return config.name();
    }

    @Override
    public Optional<QueuePlan> firstQueues() {
      Planned first = planned.get(CollectiveOp.ALL_REDUCE);
      return Optional.ofNullable(first).map(planned -> planned.queues);
    }

    @Override
    public CollectivePlan plan(CollectiveCall call) {
      if (call.ranks() != group.size()) {
        throw new CollectiveException(
            "%s: the call has %s ranks, the group %s"
                .formatted(call.op().word(), call.ranks(), group.size()));
      }
      if (call.op() == CollectiveOp.POINT_TO_POINT) {
        return messages().plan(call);
      }
      Planned by = planned(call.op());
      Schedule.RankProgram program = by.schedule.program(call);
      Reduction reduction = new Reduction(call.reduce(), group.size());
      String name = by.schedule.chosen(call).map(c -> by.algorithm + ":" + c).orElse(by.algorithm);
      Kernel kernel = kernel(program, call, reduction);
      return new CollectivePlan(
          name, queues(by, call), isOurs(by, call) ? keyed(kernel, name, by, call) : kernel);
    }

    /** Whether what performs a call is built in, also where {@code auto} has chosen it. */
    private boolean isOurs(Planned by, CollectiveCall call) {
      String className = ccl.of(by.schedule.chosen(call).orElse(by.algorithm)).className();
      return !className.equals(Auto.NAME) && builtIn().contains(className);
    }

    /** A kernel of an algorithm that depends on the call, and on nothing that it remembers. */
    private Kernel keyed(Kernel kernel, String name, Planned by, CollectiveCall call) {
      Supplier<ReusableProgram.Key> key = () -> key(name, by, call);
      return kernel instanceof SteppedKernel stepped
          ? new KeyedSteps(stepped, key)
          : new Keyed(kernel, key);
    }

    private ReusableProgram.Key key(String name, Planned by, CollectiveCall call) {
      List<Object> what = new ArrayList<>();
      what.add(name);
      what.add(by.schedule); // equal to itself alone
      what.add(call.op());
      what.add(call.reduce());
      what.add(call.dtype());
      what.add(call.root());
      what.add(call.elements());
      what.add(call.parts());
      what.add(call.splits());
      List<ReusableProgram.Memory> memories = new ArrayList<>();
      for (int rank = 0; rank < group.size(); rank++) {
        if (fold == null || group.lead(rank).sip() == 0) {
          add(call.inputs().get(rank), what, memories);
          add(call.outputs().get(rank), what, memories);
        }
      }
      return new ReusableProgram.Key(what, memories);
    }

    private static void add(
        Optional<Shard> shard, List<Object> what, List<ReusableProgram.Memory> memories) {
      if (shard.isEmpty()) {
        what.add("none");
        return;
      }
      Shard s = shard.get();
      what.add(s.shape());
      what.add(s.dtype());
      if (s.address() instanceof VirtualAddress at && s.shape().elements() > 0) {
        memories.add(new ReusableProgram.Memory(at, s.shape().elements() * s.dtype().sizeBytes()));
      } else {
        what.add(s.address());
      }
    }

    /** Whether package 0 does its part for others as well. */
    private boolean isFolded() {
      return fold != null && group.leads().stream().anyMatch(pe -> pe.sip() != 0);
    }

    private Kernel kernel(Schedule.RankProgram program, CollectiveCall call, Reduction reduction) {
      if (program instanceof Schedule.SteppedProgram stepped) {
        return (SteppedKernel)
            tl -> {
              int rank = group.rankOf(tl.pe());
              return stepped.begin(tl, rank, Payload.of(call, rank), reduction);
            };
      }
      return tl -> {
        int rank = group.rankOf(tl.pe());
        program.run(tl, rank, Payload.of(call, rank), reduction);
      };
    }

    private QueuePlan queues(Planned by, CollectiveCall call) {
      if (fold != null && isFolded()) {
        QueuePlan plan =
            call.op() == CollectiveOp.ALL_TO_ALL // each may have other splits
                ? compared(fold, by, call)
                : folded.computeIfAbsent(Folded.of(call), key -> compared(fold, by, call));
        return ofCalls.computeIfAbsent(plan, this::checked);
      }
      List<QueuePlan.Connection> connections = by.schedule.connections(call);
      if (connections.equals(by.queues.connections())) {
        return by.queues;
      }
      return ofCalls.computeIfAbsent(new QueuePlan(by.queues.spec(), connections), this::checked);
    }

    private QueuePlan compared(Fold by, Planned planned, CollectiveCall call) {
      return FoldedCall.compared(by, group, planned.schedule, planned.queues.spec(), call);
    }

    private QueuePlan checked(QueuePlan plan) {
      UnaryOperator<Pe> home =
          isFolded() ? pe -> new Pe(0, pe.cube(), pe.pe()) : UnaryOperator.identity();
      SlotSpace.check(machine, plan.spec(), plan.connections(), home);
      return plan;
    }

    private Direct messages() {
      Direct d = direct;
      if (d == null) {
        d = new Direct(group, config.queues(machine.ipcq()), config);
        direct = d;
      }
      return d;
    }

    Planned planned(CollectiveOp op) {
      Planned known = planned.get(op);
      if (known == null) {
        Chosen chosen = Objects.requireNonNull(algorithms.get(op), "every operation has one");
        known =
            op == CollectiveOp.ALL_REDUCE && group.size() < worldSize
                ? planSubgroup(chosen)
                : plan(chosen);
        planned.put(op, known);
        if (first != null) {
          known.schedule.follow(first.planned(op).schedule);
        }
      }
      return known;
    }

    /** Many all-reduces need the whole machine, or a rectangle of it. */
    private Planned planSubgroup(Chosen chosen) {
      try {
        return plan(chosen);
      } catch (CollectiveException e) {
        return plan(subgroups);
      }
    }

    private Planned plan(Chosen chosen) {
      IpcqSpec queues = chosen.config.queues(machine.ipcq());
      Schedule schedule = chosen.algorithm.plan(group, queues, chosen.config);
      QueuePlan plan =
          fold != null && isFolded()
              ? schedule.representatives(fold, queues, equalParts())
              : new QueuePlan(queues, schedule.connections());
      return new Planned(chosen.config.name(), schedule, checked(plan));
    }

    /** A sum that can be cut into equal parts, to ask for queues that all calls have. */
    private CollectiveCall equalParts() {
      return FoldedCall.sum(group, DType.F32, group.size());
    }
  }

  /** An algorithm and what is configured for it. */
  private record Chosen(AlgorithmConfig config, CollectiveAlgorithm algorithm) {}

  /** An algorithm with its group, for one operation. */
  private record Planned(String algorithm, Schedule schedule, QueuePlan queues) {}
}
