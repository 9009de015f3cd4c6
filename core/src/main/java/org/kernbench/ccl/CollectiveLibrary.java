package org.kernbench.ccl;

import java.lang.reflect.InvocationTargetException;
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
import org.kernbench.tl.Shard;
import org.kernbench.torch.CollectiveBackend;
import org.kernbench.torch.CollectiveCall;
import org.kernbench.torch.CollectiveOp;
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
   * Binds the algorithm to a group.
   *
   * @throws CollectiveException if it cannot serve the group, or its message slots do not fit
   */
  @Override
  public Communicator connect(List<Pe> leadPes) {
    Group group = new Group(machine, rankLevel, leadPes);
    IpcqSpec queues = config.queues(machine.ipcq());
    Optional<Schedule> schedule =
        group.size() == 1 ? Optional.empty() : Optional.of(algorithm.plan(group, queues, config));
    List<QueuePlan.Connection> connections = schedule.map(Schedule::connections).orElse(List.of());
    SlotSpace.check(machine, queues, connections);
    return new Bound(config.name(), group, new QueuePlan(queues, connections), schedule);
  }

  /** An algorithm with its group. */
  private record Bound(String algorithm, Group group, QueuePlan queues, Optional<Schedule> schedule)
      implements Communicator {

    @Override
    public Kernel kernel(CollectiveCall call) {
      if (call.op() != CollectiveOp.ALL_REDUCE) {
        throw new CollectiveException(
            "algorithm " + algorithm + " has no " + call.op() + "; it can do ALL_REDUCE");
      }
      if (call.shards().size() != group.size()) {
        throw new CollectiveException(
            "algorithm "
                + algorithm
                + ": the call has "
                + call.shards().size()
                + " ranks, the group "
                + group.size());
      }
      if (schedule.isEmpty() || call.elements() == 0) {
        return tl -> {}; // one rank has the result already; no element has none to have
      }
      Schedule.RankProgram program = schedule.get().allReduce(call.elements(), call.dtype());
      Reduction reduction = new Reduction(call.reduce(), group.size());
      List<Shard> shards = call.shards();
      return tl -> {
        int rank = group.rankOf(tl.pe());
        program.run(tl, rank, Payload.of(shards.get(rank)), reduction);
      };
    }
  }
}
