package org.kernbench.ccl;

import java.lang.reflect.InvocationTargetException;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.IpcqSpec;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tl.Kernel;
import org.kernbench.torch.CollectiveBackend;
import org.kernbench.torch.CollectiveCall;
import org.kernbench.torch.CollectiveOp;
import org.kernbench.torch.CollectivePlan;
import org.kernbench.torch.Communicator;
import org.kernbench.torch.RankLevel;

/** The collectives of one machine, as {@code ccl.yaml} configures them: backend {@code ahbm}. */
public final class CollectiveLibrary implements CollectiveBackend {
  private static final List<Supplier<CollectiveAlgorithm>> BUILT_IN =
      List.of(
          RootCenter::new,
          RootCenterPipelined::new,
          RingAllReduce::new,
          MeshExchange::new,
          BinaryTree::new,
          HelloSend::new);

  private final Machine machine;
  private final AlgorithmConfig config;
  private final CollectiveAlgorithm algorithm;
  private final RankLevel rankLevel;
  private final int worldSize;

  private CollectiveLibrary(Machine machine, CclConfig ccl, String name) {
    this.machine = machine;
    this.config = ccl.of(name);
    this.algorithm = make(ccl, config);
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

  /** The same with another algorithm of the configuration. */
  public static CollectiveLibrary open(Machine machine, CclConfig config, String algorithm) {
    return new CollectiveLibrary(machine, config, algorithm);
  }

  /** Names of the algorithms that need no {@code class}. */
  public static Set<String> builtIn() {
    Set<String> names = new LinkedHashSet<>();
    for (Supplier<CollectiveAlgorithm> each : BUILT_IN) {
      names.add(each.get().name());
    }
    return names;
  }

  /** Names of the algorithms that need no {@code class}, with one line on each. */
  public static Map<String, String> descriptions() {
    Map<String, String> descriptions = new LinkedHashMap<>();
    for (Supplier<CollectiveAlgorithm> each : BUILT_IN) {
      CollectiveAlgorithm algorithm = each.get();
      descriptions.put(algorithm.name(), algorithm.description());
    }
    return descriptions;
  }

  private static CollectiveAlgorithm make(CclConfig ccl, AlgorithmConfig config) {
    for (Supplier<CollectiveAlgorithm> each : BUILT_IN) {
      CollectiveAlgorithm builtIn = each.get();
      if (builtIn.name().equals(config.className())) {
        return builtIn;
      }
    }
    String path = "algorithms." + config.name() + ".class";
    try {
      Class<?> type = Class.forName(config.className(), true, loader());
      if (type.getConstructor().newInstance() instanceof CollectiveAlgorithm own) {
        return own;
      }
      throw ccl.problem(
          path,
          "class "
              + config.className()
              + " is no "
              + CollectiveAlgorithm.class.getName()
              + "; expected one that implements it");
    } catch (ClassNotFoundException e) {
      throw ccl.problem(path, "no class " + config.className() + " on the class path");
    } catch (InvocationTargetException e) {
      throw ccl.problem(path, "class " + config.className() + " failed to start: " + e.getCause());
    } catch (ReflectiveOperationException e) {
      throw ccl.problem(
          path,
          "class "
              + config.className()
              + " cannot be made; expected a public class with a public constructor without"
              + " arguments");
    }
  }

  /** The running program's loader: classes compiled in memory are not on the class path. */
  private static ClassLoader loader() {
    ClassLoader context = Thread.currentThread().getContextClassLoader();
    return context != null ? context : CollectiveLibrary.class.getClassLoader();
  }

  private int worldSize(CclConfig ccl) {
    long devices =
        switch (rankLevel) {
          case SIP -> machine.sips();
          case CUBE -> (long) machine.sips() * machine.cubesPerSip();
          case PE -> machine.peCount();
        };
    if (config.worldSize().isPresent()) {
      int wanted = config.worldSize().getAsInt();
      if (wanted > devices) {
        throw ccl.problem(
            "algorithms." + config.name() + ".world_size",
            "got "
                + wanted
                + " ranks of level "
                + name(rankLevel)
                + "; machine "
                + machine.name()
                + " has "
                + devices
                + " of those: use at most "
                + devices);
      }
      return wanted;
    }
    // PEs beyond one cube are no ring or tree that anyone means by default.
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
    Group group = new Group(machine, rankLevel, leadPes);
    Bound bound = new Bound(group);
    if (group.size() == worldSize && group.size() > 1) {
      bound.planned(CollectiveOp.ALL_REDUCE);
    }
    return bound;
  }

  /** The algorithms, each bound to the group when an operation first needs it. */
  private final class Bound implements Communicator {
    private final Group group;
    private final Map<CollectiveOp, Planned> planned = new EnumMap<>(CollectiveOp.class);

    Bound(Group group) {
      this.group = group;
    }

    @Override
    public String algorithm() {
      return config.name();
    }

    @Override
    public Optional<QueuePlan> firstQueues() {
      Planned first = planned.get(CollectiveOp.ALL_REDUCE);
      return first == null ? Optional.empty() : Optional.of(first.queues);
    }

    @Override
    public CollectivePlan plan(CollectiveCall call) {
      if (call.ranks() != group.size()) {
        throw new CollectiveException(
            "algorithm "
                + config.name()
                + ": the call has "
                + call.ranks()
                + " ranks, the group "
                + group.size());
      }
      Planned by = planned(call.op());
      Schedule.RankProgram program = by.schedule.program(call);
      Reduction reduction = new Reduction(call.reduce(), group.size());
      Kernel kernel =
          tl -> {
            int rank = group.rankOf(tl.pe());
            program.run(tl, rank, Payload.of(call, rank), reduction);
          };
      return new CollectivePlan(by.algorithm, by.queues, kernel);
    }

    Planned planned(CollectiveOp op) {
      Planned known = planned.get(op);
      if (known == null) {
        known = plan(op);
        planned.put(op, known);
      }
      return known;
    }

    private Planned plan(CollectiveOp op) {
      if (!algorithm.operations().contains(op)) {
        throw new CollectiveException(
            "algorithm "
                + config.name()
                + " has no "
                + op.word()
                + "; it can do "
                + algorithm.operations());
      }
      IpcqSpec queues = config.queues(machine.ipcq());
      Schedule schedule = algorithm.plan(group, queues, config);
      List<QueuePlan.Connection> connections = schedule.connections();
      SlotSpace.check(machine, queues, connections);
      return new Planned(config.name(), schedule, new QueuePlan(queues, connections));
    }
  }

  /** An algorithm with its group, for one operation. */
  private record Planned(String algorithm, Schedule schedule, QueuePlan queues) {}
}
