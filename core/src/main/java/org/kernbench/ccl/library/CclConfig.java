package org.kernbench.ccl.library;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.DimensionSteps;
import org.kernbench.config.ConfigException;
import org.kernbench.config.ConfigMap;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.FilesRead;
import org.kernbench.config.Position;
import org.kernbench.config.Problems;
import org.kernbench.config.Suggest;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UserFile;
import org.kernbench.machine.spec.Backpressure;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.SipTopology;
import org.kernbench.sim.Rate;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/** The contents of a {@code ccl.yaml}: which algorithm runs, and the parameters of each. */
public final class CclConfig {
  private static final String PACKAGED = "ccl.yaml";

  /** What positions of errors in overrides show as the file. */
  public static final String OPTION = "--ccl-set";

  private static final SipTopology[] TOPOLOGIES = {
    SipTopology.RING_1D, SipTopology.TORUS_2D, SipTopology.MESH_2D_NO_WRAP
  };

  /** What performs an operation if the file says nothing. */
  private static final Map<CollectiveOp, String> OPERATIONS =
      new EnumMap<>(
          Map.of(
              CollectiveOp.REDUCE_SCATTER, "cycle",
              CollectiveOp.ALL_GATHER, "cycle",
              CollectiveOp.BROADCAST, "line",
              CollectiveOp.REDUCE, "line",
              CollectiveOp.GATHER, "line",
              CollectiveOp.SCATTER, "line",
              CollectiveOp.ALL_TO_ALL, "pairwise",
              CollectiveOp.BARRIER, "tree_barrier"));

  private static final String SUBGROUPS = "ring";
  private static final int MOST_ALGORITHMS = 1000;

  private final ConfigTree tree;
  private final String algorithm;
  private final Map<CollectiveOp, String> operations;
  private final String subgroups;
  private final Optional<Path> table;
  private final Map<String, AlgorithmConfig> algorithms;

  private CclConfig(
      ConfigTree tree,
      String algorithm,
      Map<CollectiveOp, String> operations,
      String subgroups,
      Optional<Path> table,
      Map<String, AlgorithmConfig> algorithms) {
    this.tree = tree;
    this.algorithm = algorithm;
    this.operations = operations;
    this.subgroups = subgroups;
    this.table = table;
    this.algorithms = algorithms;
  }

  /**
   * Reads a file, or the one that is packaged with the program.
   *
   * @param overrides {@code path=value}, for example {@code defaults.algorithm=ring}
   * @throws ConfigException with every problem found
   */
  public static CclConfig load(Optional<Path> file, List<String> overrides) {
    return file.isPresent()
        ? parse(file.get().toString(), read(file.get()), overrides)
        : parse(PACKAGED, packaged(), overrides);
  }

  /**
   * The {@code ccl.yaml} of a directory; empty if there is none, or if it says the same, letter by
   * letter, as the one that is packaged with the program.
   */
  public static Optional<Path> inDirectory(Path directory) {
    Path file = directory.resolve(PACKAGED);
    return Files.isRegularFile(file) && !read(file).equals(packaged())
        ? Optional.of(file)
        : Optional.empty();
  }

  /**
   * Reads YAML text.
   *
   * @param file name used in messages
   * @throws ConfigException with every problem found
   */
  public static CclConfig parse(String file, String yaml, List<String> overrides) {
    Problems problems = new Problems();
    ConfigTree written = ConfigTree.parse(file, yaml, problems);
    if (written.isEmpty()) {
      problems.throwIfAny(); // a file that cannot be read lacks every key: no need to list them
    }
    ConfigTree tree = written.overridden(overrides, OPTION, "defaults.algorithm=ring", problems);
    ConfigMap root = tree.root(problems);
    ConfigMap defaults = root.map("defaults");
    String algorithm = defaults.text("algorithm");
    Keys common = Keys.common(defaults);
    Map<CollectiveOp, String> operations = new EnumMap<>(OPERATIONS);
    if (algorithm.equals(Auto.NAME)) {
      operations.replaceAll((op, name) -> Auto.NAME);
    }
    ConfigMap byOperation = defaults.has("operations") ? defaults.map("operations") : null;
    if (byOperation != null) {
      for (CollectiveOp op : OPERATIONS.keySet()) {
        if (byOperation.has(op.word())) {
          operations.put(op, byOperation.text(op.word()));
        }
      }
      byOperation.done();
    }
    String subgroups = defaults.has("subgroups") ? defaults.text("subgroups") : SUBGROUPS;
    Optional<Path> table =
        defaults.has("table") && !defaults.isText("table", "none")
            ? beside(file, defaults)
            : Optional.empty();
    defaults.done();

    Map<String, AlgorithmConfig> algorithms = new LinkedHashMap<>();
    Set<String> known = new LinkedHashSet<>(CollectiveLibrary.builtIn());
    if (root.has("algorithms")) {
      ConfigMap entries = root.map("algorithms");
      List<String> names = entries.keys();
      if (names.size() > MOST_ALGORITHMS) {
        root.problem(
            "algorithms", names.size() + " entries; expected " + MOST_ALGORITHMS + " at most");
        problems.throwIfAny();
      }
      for (String name : names) {
        algorithms.put(name, algorithm(name, entries.map(name), common));
        known.add(name);
      }
    }
    root.done();
    for (String name : known) {
      algorithms.computeIfAbsent(name, n -> common.config(n, n, Specific.NONE));
    }
    Set<String> allReduces = able(algorithms, known, CollectiveOp.ALL_REDUCE);
    checkKnown(defaults, "algorithm", algorithm, allReduces);
    checkKnown(defaults, "subgroups", subgroups, allReduces);
    if (byOperation != null) {
      operations.forEach(
          (op, name) -> checkKnown(byOperation, op.word(), name, able(algorithms, known, op)));
    }
    problems.throwIfAny();
    return new CclConfig(tree, algorithm, operations, subgroups, table, algorithms);
  }

  /** The path of the table as seen from the file that names it. */
  private static Optional<Path> beside(String file, ConfigMap defaults) {
    try {
      Path path = UserFile.path(defaults.text("table"));
      Path directory = Path.of(file).getParent();
      return Optional.of(directory == null ? path : directory.resolve(path));
    } catch (UnreadableException e) {
      defaults.problem("table", String.valueOf(e.getMessage()));
      return Optional.empty();
    }
  }

  /** Those that can do an operation; what a class of the user's can do shows when it is made. */
  private static Set<String> able(
      Map<String, AlgorithmConfig> algorithms, Set<String> known, CollectiveOp op) {
    Set<String> able = new LinkedHashSet<>(known);
    able.removeIf(name -> {
      AlgorithmConfig config = algorithms.get(name);
      String className = config == null ? name : config.className();
      return CollectiveLibrary.builtIn().contains(className)
          && !CollectiveLibrary.builtIn(op).contains(className);
    });
    return able;
  }

  private static void checkKnown(ConfigMap map, String key, String name, Set<String> known) {
    if (!name.isEmpty() && !known.contains(name)) {
      map.problem(
          key,
          "got \"%s\"; expected one of %s%s"
              .formatted(name, String.join(", ", known), Suggest.hint(name, known)));
    }
  }

  private static AlgorithmConfig algorithm(String name, ConfigMap map, Keys common) {
    String className = name;
    if (map.has("class")) {
      className = map.text("class");
    }
    if (!className.contains(".") && !CollectiveLibrary.builtIn().contains(className)) {
      String known = String.join(", ", CollectiveLibrary.builtIn());
      String hint = Suggest.hint(className, CollectiveLibrary.builtIn());
      map.problem(
          "class",
          "%s; expected a class name with its package, or one of %s%s"
              .formatted(
                  map.has("class")
                      ? "got \"" + className + "\""
                      : "missing, and \"" + name + "\" is not built in",
                  known,
                  hint));
    }
    Keys own = Keys.common(map);
    Specific specific = Specific.of(map);
    map.done();
    return own.over(common).config(name, className, specific);
  }

  /** Name of the algorithm to use for all-reduces. */
  public String algorithm() {
    return algorithm;
  }

  /**
   * Name of the algorithm for an operation other than all-reduce; messages from rank to rank have
   * none.
   */
  public Optional<String> algorithm(CollectiveOp op) {
    return Optional.ofNullable(operations.get(op));
  }

  /** Name of the algorithm for all-reduces in sub-groups that {@link #algorithm()} cannot serve. */
  public String subgroups() {
    return subgroups;
  }

  /** The table that {@code auto} goes by, if there is one; see {@link TuningTable}. */
  public Optional<Path> table() {
    return table;
  }

  /** All that it says, with what its table says now: equal where collectives do the same. */
  public String content() {
    return tree.plain() + "\n" + table.map(FilesRead::contentOf).orElse("");
  }

  /** Names of all algorithms: those of the file, then the others that are built in. */
  public Set<String> names() {
    return Collections.unmodifiableSet(algorithms.keySet());
  }

  /** Names of those that can do an operation, or may: classes that are not built in. */
  public Set<String> names(CollectiveOp op) {
    return Collections.unmodifiableSet(able(algorithms, algorithms.keySet(), op));
  }

  /** The parameters of the algorithm to use. */
  public AlgorithmConfig chosen() {
    return of(algorithm);
  }

  /**
   * The parameters of an algorithm.
   *
   * @throws CollectiveException if there is none of this name
   */
  public AlgorithmConfig of(String name) {
    AlgorithmConfig config = algorithms.get(name);
    if (config == null) {
      throw new CollectiveException(
          "no collective algorithm \"%s\"; expected one of %s%s"
              .formatted(
                  name,
                  String.join(", ", algorithms.keySet()),
                  Suggest.hint(name, algorithms.keySet())));
    }
    return config;
  }

  /** An error about the value at a path that only shows with a machine at hand. */
  ConfigException problem(String path, String message) {
    Problems problems = new Problems();
    problems.add(tree.positionOf(path), path, message);
    return new ConfigException(problems.sorted());
  }

  private static String read(Path file) {
    Problems problems = new Problems();
    try {
      return UserFile.text(file, "a YAML file");
    } catch (UnreadableException e) {
      problems.add(new Position(file.toString(), 1, 1), "", String.valueOf(e.getMessage()));
    }
    throw new ConfigException(problems.sorted());
  }

  private static String packaged() {
    try (InputStream in = CclConfig.class.getResourceAsStream("/" + PACKAGED)) {
      if (in == null) {
        throw new AssertionError(PACKAGED + " is not packed with the program");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new AssertionError(PACKAGED + " cannot be read", e);
    }
  }

  /** Keys that both the defaults and each algorithm may have. */
  private record Keys(
      Optional<BufferKind> bufferKind,
      OptionalInt slots,
      OptionalLong slotBytes,
      Optional<Backpressure> backpressure,
      OptionalLong creditBytes,
      OptionalLong chunkBytes,
      OptionalInt elements) {

    private static final String MACHINE = "machine";
    private static final String AUTO = "auto";

    static Keys common(ConfigMap map) {
      return new Keys(
          said(map, "buffer_kind", MACHINE)
              ? Optional.of(map.choice("buffer_kind", BufferKind.values()))
              : Optional.empty(),
          said(map, "slots", MACHINE)
              ? OptionalInt.of(map.integer("slots", 1, 1 << 20))
              : OptionalInt.empty(),
          size(map, "slot_size", MACHINE),
          said(map, "backpressure", MACHINE)
              ? Optional.of(map.choice("backpressure", Backpressure.values()))
              : Optional.empty(),
          size(map, "credit_size", MACHINE),
          size(map, "chunk", AUTO),
          said(map, "n_elem", AUTO)
              ? OptionalInt.of(map.integer("n_elem", 1, Integer.MAX_VALUE))
              : OptionalInt.empty());
    }

    /** True if the key is written and does not leave the choice to another. */
    static boolean said(ConfigMap map, String key, String leftTo) {
      return map.has(key) && !map.isText(key, leftTo);
    }

    private static OptionalLong size(ConfigMap map, String key, String leftTo) {
      return said(map, key, leftTo) ? OptionalLong.of(map.size(key)) : OptionalLong.empty();
    }

    Keys over(Keys lower) {
      return new Keys(
          bufferKind.or(lower::bufferKind),
          slots.isPresent() ? slots : lower.slots,
          slotBytes.isPresent() ? slotBytes : lower.slotBytes,
          backpressure.or(lower::backpressure),
          creditBytes.isPresent() ? creditBytes : lower.creditBytes,
          chunkBytes.isPresent() ? chunkBytes : lower.chunkBytes,
          elements.isPresent() ? elements : lower.elements);
    }

    AlgorithmConfig config(String name, String className, Specific specific) {
      return new AlgorithmConfig(
          name,
          className,
          specific.topology,
          bufferKind,
          slots,
          slotBytes,
          backpressure,
          creditBytes,
          chunkBytes,
          elements,
          specific.worldSize,
          specific.rankLevel,
          specific.subChunks,
          specific.root,
          specific.rootCube,
          specific.protocol,
          specific.rings,
          specific.dimensionSteps);
    }
  }

  /** Keys that only an algorithm has. */
  private record Specific(
      Optional<SipTopology> topology,
      OptionalInt worldSize,
      Optional<RankLevel> rankLevel,
      OptionalInt subChunks,
      Optional<AlgorithmConfig.Root> root,
      OptionalInt rootCube,
      Optional<String> protocol,
      OptionalInt rings,
      DimensionSteps dimensionSteps) {

    static final Specific NONE =
        new Specific(
            Optional.empty(),
            OptionalInt.empty(),
            Optional.empty(),
            OptionalInt.empty(),
            Optional.empty(),
            OptionalInt.empty(),
            Optional.empty(),
            OptionalInt.empty(),
            DimensionSteps.PLAIN);

    static Specific of(ConfigMap map) {
      return new Specific(
          Keys.said(map, "topology", Keys.MACHINE)
              ? Optional.of(map.choice("topology", TOPOLOGIES))
              : Optional.empty(),
          orAll(map, "world_size"),
          map.has("rank_level")
              ? Optional.of(map.choice("rank_level", RankLevel.values()))
              : Optional.empty(),
          Keys.said(map, "sub_chunks", Keys.AUTO)
              ? OptionalInt.of(map.integer("sub_chunks", 1, 1 << 20))
              : OptionalInt.empty(),
          map.has("root")
              ? Optional.of(map.choice("root", AlgorithmConfig.Root.values()))
              : Optional.empty(),
          Keys.said(map, "root_cube", Keys.AUTO)
              ? OptionalInt.of(map.integer("root_cube", 0, 1 << 20))
              : OptionalInt.empty(),
          Keys.said(map, "protocol", Keys.MACHINE)
              ? Optional.of(map.text("protocol"))
              : Optional.empty(),
          orAll(map, "rings"),
          dimensionSteps(map));
    }

    /** Whether a vector is scattered along each dimension, or goes whole. */
    private enum Vectors {
      SCATTERED,
      WHOLE
    }

    /** How the ends of messages count time. */
    private enum Counting {
      EXACT,
      WHOLE_NS
    }

    private static DimensionSteps dimensionSteps(ConfigMap map) {
      DimensionSteps plain = DimensionSteps.PLAIN;
      return new DimensionSteps(
          map.has("along") ? steps(map) : plain.along(),
          map.has("vectors") && map.choice("vectors", Vectors.values()) == Vectors.WHOLE,
          map.has("splits") ? map.integer("splits", 1, 1 << 20) : 1,
          Keys.said(map, "active_chunks", "serial")
              ? map.integer("active_chunks", 1, 1 << 20)
              : plain.activeChunks(),
          map.has("endpoint_delay") ? map.time("endpoint_delay") : 0,
          Keys.said(map, "memory_bandwidth", "none")
              ? Optional.of(Rate.ofBytesPerSecond(map.bandwidth("memory_bandwidth")))
              : Optional.empty(),
          map.has("time") && map.choice("time", Counting.values()) == Counting.WHOLE_NS,
          map.has("ends") ? map.choice("ends", DimensionSteps.Ends.values()) : plain.ends());
    }

    private static List<DimensionSteps.Step> steps(ConfigMap map) {
      List<DimensionSteps.Step> steps = new ArrayList<>();
      for (String word : map.texts("along")) {
        boolean known = false;
        for (DimensionSteps.Step step : DimensionSteps.Step.values()) {
          if (step.name().equalsIgnoreCase(word.replace('-', '_'))) {
            steps.add(step);
            known = true;
          }
        }
        if (!known) {
          map.problem(
              "along",
              """
              got "%s"; expected ring, direct, halving_doubling or double_binary_tree, for each\
              """
                  .formatted(word));
        }
      }
      return steps.isEmpty() ? DimensionSteps.PLAIN.along() : steps;
    }

    private static OptionalInt orAll(ConfigMap map, String key) {
      if (map.isText(key, "all")) {
        return OptionalInt.of(AlgorithmConfig.ALL);
      }
      return map.has(key)
          ? OptionalInt.of(map.integer(key, 1, AlgorithmConfig.ALL - 1))
          : OptionalInt.empty();
    }
  }
}
