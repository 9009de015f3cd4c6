package org.kernbench.eval.sweep;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.TuningTable;
import org.kernbench.config.ConfigException;
import org.kernbench.config.ConfigMap;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.FilesRead;
import org.kernbench.config.FlowItems;
import org.kernbench.config.Position;
import org.kernbench.config.Problems;
import org.kernbench.config.Suggest;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Folding;
import org.kernbench.eval.Param;
import org.kernbench.eval.Params;
import org.kernbench.eval.Reuse;
import org.kernbench.eval.RunOptions;
import org.kernbench.machine.MachineException;
import org.kernbench.machine.Machines;

/**
 * One bench at every point of a grid: the Cartesian product of some axes, the last one fastest.
 *
 * <p>Every point has a key, a hash of all that decides its result: the version of kernbench, the
 * bench, a user's code, machine and collective files with their overrides, the parameters. Equal
 * keys mean equal rows, so a point whose key is in the {@link ResultStore} needs no second run.
 *
 * @param bench what is run
 * @param base the options that all points share
 * @param axes what varies, in the order in which it was given
 * @param version of kernbench
 * @param userCode hash of the user's classes; empty if there are none
 */
public record Sweep(
    Bench bench, RunOptions base, List<Axis> axes, String version, String userCode) {
  private static final int MOST_POINTS = 1_000_000;
  private static final String MACHINE = "set:";
  private static final String COLLECTIVE = "ccl:";
  private static final String TOPOLOGY = "topology";

  /**
   * Something that varies.
   *
   * @param name a parameter of the bench, {@code set:PATH} for a value of the machine, {@code
   *     ccl:PATH} for one of the collective configuration, or {@code topology}
   * @param values as a user writes them, at least one
   */
  public record Axis(String name, List<String> values) {
    /** Copies the list. */
    public Axis {
      values = List.copyOf(values);
    }

    /**
     * Reads {@code name=v1,v2,…}.
     *
     * @throws UsageException if it is something else
     */
    public static Axis parse(String text) {
      int equals = text.indexOf('=');
      if (equals < 1 || equals == text.length() - 1) {
        throw new UsageException(
            "--vary " + text + ": expected name=value,value,…, e.g. --vary n_elem=8,64,512");
      }
      return new Axis(text.substring(0, equals).trim(), FlowItems.of(text.substring(equals + 1)));
    }
  }

  /**
   * One point of the grid.
   *
   * @param index from 0, in the order of the grid
   * @param values of the axes, in their order
   * @param options of its run
   * @param key hash of all that decides its result, 20 hexadecimal digits
   */
  public record Point(int index, List<String> values, RunOptions options, String key) {}

  /** Copies the lists. */
  public Sweep {
    axes = List.copyOf(axes);
  }

  /**
   * A sweep whose axes and parameters were checked.
   *
   * @throws UsageException with every problem, one per line
   */
  public static Sweep of(
      Bench bench, RunOptions base, List<Axis> axes, String version, String userCode) {
    List<String> problems = new ArrayList<>();
    LinkedHashSet<String> seen = new LinkedHashSet<>();
    long points = 1;
    for (Axis axis : axes) {
      checkName(bench, axis, problems);
      if (!seen.add(Suggest.fold(axis.name()))) {
        problems.add("--vary " + axis.name() + ": given twice; expected one list of values");
      }
      if (axis.values().isEmpty()) {
        problems.add("--vary " + axis.name() + ": no values; expected at least one");
      }
      LinkedHashSet<String> values = new LinkedHashSet<>();
      for (String value : axis.values()) {
        if (value.isEmpty()) {
          problems.add("--vary " + axis.name() + ": an empty value; expected value,value,…");
        } else if (!values.add(value)) {
          problems.add("--vary " + axis.name() + ": " + value + " is given twice");
        }
      }
      points *= Math.max(1, axis.values().size());
      if (points > MOST_POINTS) {
        problems.add("the grid has more than 1,000,000 points; leave out some values");
        break;
      }
    }
    if (axes.isEmpty()) {
      problems.add("nothing varies; expected --vary name=value,value,…, or run instead of sweep");
    }
    if (!problems.isEmpty()) {
      throw new UsageException(String.join("\n", problems));
    }
    Sweep sweep = new Sweep(bench, base, axes, version, userCode);
    sweep.checkValues();
    return sweep;
  }

  private static void checkName(Bench bench, Axis axis, List<String> problems) {
    String name = axis.name();
    if (name.startsWith(MACHINE) || name.startsWith(COLLECTIVE) || name.equals(TOPOLOGY)) {
      return;
    }
    List<String> known = new ArrayList<>(bench.params().stream().map(Param::name).toList());
    if (known.stream().noneMatch(k -> k.equals(Suggest.fold(name)))) {
      known.add(TOPOLOGY);
      String hint = Suggest.hint(name, known);
      problems.add(
          "--vary %s: unknown".formatted(name)
              + (hint.isEmpty()
                  ? """
                  ; expected a parameter of bench %s (%s), topology, set:PATH for a value of the \
                  machine, or ccl:PATH\
                  """
                      .formatted(
                          bench.name(), String.join(", ", known.subList(0, known.size() - 1)))
                  : hint));
    }
  }

  /** Reads each value of each parameter once, so that a slip shows before anything runs. */
  private void checkValues() {
    LinkedHashSet<String> problems = new LinkedHashSet<>();
    for (int a = 0; a < axes.size(); a++) {
      for (int v = 0; v < axes.get(a).values().size(); v++) {
        int[] choice = new int[axes.size()];
        choice[a] = v;
        try {
          Params.read(bench, options(choice).params());
        } catch (UsageException e) {
          String option = "--param " + axes.get(a).name() + ":";
          String.valueOf(e.getMessage())
              .lines()
              .map(line ->
                  line.startsWith(option) ? "--vary" + line.substring("--param".length()) : line)
              .forEach(problems::add);
        }
      }
    }
    if (!problems.isEmpty()) {
      throw new UsageException(String.join("\n", problems));
    }
  }

  /** How many points there are. */
  public int size() {
    int size = 1;
    for (Axis axis : axes) {
      size *= axis.values().size();
    }
    return size;
  }

  /** Hash of the whole grid, 20 hexadecimal digits. */
  public String id() {
    return hash(points().stream().map(Point::key).toList());
  }

  /** All points in the order of the grid. */
  public List<Point> points() {
    Map<List<Object>, String> files = new LinkedHashMap<>();
    List<Point> points = new ArrayList<>();
    int[] choice = new int[axes.size()];
    for (int index = 0; index < size(); index++) {
      int rest = index;
      List<String> values = new ArrayList<>();
      for (int a = axes.size() - 1; a >= 0; a--) {
        choice[a] = rest % axes.get(a).values().size();
        rest /= axes.get(a).values().size();
      }
      for (int a = 0; a < axes.size(); a++) {
        values.add(axes.get(a).values().get(choice[a]));
      }
      RunOptions options = options(choice);
      points.add(new Point(index, values, options, key(options, files)));
    }
    return points;
  }

  private RunOptions options(int[] choice) {
    List<String> params = new ArrayList<>(base.params());
    List<String> overrides = new ArrayList<>(base.overrides());
    List<String> cclOverrides = new ArrayList<>(base.cclOverrides());
    Optional<String> topology = base.topology();
    for (int a = 0; a < axes.size(); a++) {
      String name = axes.get(a).name();
      String value = axes.get(a).values().get(choice[a]);
      if (name.startsWith(MACHINE)) {
        overrides.add(name.substring(MACHINE.length()) + "=" + value);
      } else if (name.startsWith(COLLECTIVE)) {
        cclOverrides.add(name.substring(COLLECTIVE.length()) + "=" + value);
      } else if (name.equals(TOPOLOGY)) {
        topology = Optional.of(value);
      } else {
        params.add(name + "=" + value);
      }
    }
    return new RunOptions(
        topology,
        overrides,
        base.ccl(),
        cclOverrides,
        params,
        base.mode(),
        base.verify(),
        base.check(),
        base.point(),
        Folding.AUTO,
        Reuse.AUTO);
  }

  // ---- keys ----

  /**
   * The files that decide a point's result are read as its run will read them, and what they said
   * is in the key: also those that another file names. What a bench reads beside them only shows
   * when it runs, and is kept with its row ({@link SweepRow#files}).
   */
  private String key(RunOptions o, Map<List<Object>, String> files) {
    List<String> all = new ArrayList<>();
    all.add("kernbench " + version);
    all.add("bench " + Suggest.fold(bench.name()) + " " + userCode);
    all.add("mode " + o.mode().name() + (o.verify() ? " verified" : ""));
    all.add("topology " + o.topology().map(t -> t + " " + machineFiles(t, files)).orElse(""));
    all.add("ccl " + collectiveFiles(o, files));
    o.point().ifPresent(point -> all.add("point " + Suggest.fold(point)));
    o.overrides().forEach(each -> all.add("set " + each));
    o.cclOverrides().forEach(each -> all.add("ccl-set " + each));
    o.params().stream().map(Sweep::folded).sorted().forEach(each -> all.add("param " + each));
    return hash(all);
  }

  private static String folded(String param) {
    int equals = Math.max(0, param.indexOf('='));
    return Suggest.fold(param.substring(0, equals)) + param.substring(equals);
  }

  private static String machineFiles(String topology, Map<List<Object>, String> known) {
    return known.computeIfAbsent(
        List.of("topology", topology), key -> contents(() -> Machines.load(topology, List.of())));
  }

  private static String collectiveFiles(RunOptions o, Map<List<Object>, String> known) {
    return known.computeIfAbsent(
        List.of("ccl", o.ccl(), o.cclOverrides()),
        key ->
            contents(() -> {
              CclConfig ccl = CclConfig.load(o.ccl(), o.cclOverrides());
              ccl.table().ifPresent(table -> TuningTable.read(table, ccl));
            }));
  }

  /** What the files say that a call reads, as a hash; where they lie does not matter. */
  private static String contents(Runnable call) {
    return hash(
        List.copyOf(
            FilesRead.during(
                    () -> {
                      try {
                        call.run();
                      } catch (ConfigException | CollectiveException | MachineException e) {
                        return false; // the point will say so; what was read decided it
                      }
                      return true;
                    })
                .files()
                .values()));
  }

  private static String hash(List<String> texts) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      for (String text : texts) {
        digest.update(text.getBytes(StandardCharsets.UTF_8));
        digest.update((byte) 0);
      }
      return String.format(Locale.ROOT, "%064x", new BigInteger(1, digest.digest()))
          .substring(0, 20);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java has SHA-256", e);
    }
  }

  // ---- files ----

  /**
   * A sweep as a YAML file describes it: {@code bench, topology, set, ccl, ccl_set, params, mode,
   * vary, jobs, out}.
   *
   * @param bench name of a bench or of a {@code .java} file
   * @param base options of all points
   * @param axes what varies
   * @param jobs how many points at once; empty if the file does not say
   * @param out directory of the results; empty if the file does not say
   */
  public record Description(
      String bench, RunOptions base, List<Axis> axes, Optional<Integer> jobs, Optional<Path> out) {}

  /**
   * Reads such a file.
   *
   * @throws ConfigException with every problem and its position
   */
  public static Description read(Path file) {
    Problems problems = new Problems();
    ConfigTree tree = ConfigTree.parse(file.toString(), text(file, problems), problems);
    if (tree.isEmpty()) {
      problems.throwIfAny();
    }
    ConfigMap root = tree.root(problems);
    String bench = root.text("bench");
    path(root, "bench");
    Optional<String> topology = optional(root, "topology");
    Optional<Path> ccl = path(root, "ccl");
    List<String> params = pairs(root, "params");
    List<String> overrides = pairs(root, "set");
    List<String> cclOverrides = pairs(root, "ccl_set");
    Mode mode = root.has("mode") ? root.choice("mode", Mode.values()) : Mode.FULL;
    Optional<Integer> jobs =
        root.has("jobs") ? Optional.of(root.integer("jobs", 1, 1024)) : Optional.empty();
    Optional<Path> out = path(root, "out");
    List<Axis> axes = new ArrayList<>();
    ConfigMap vary = root.map("vary");
    for (String name : vary.keys()) {
      axes.add(new Axis(name, vary.texts(name)));
    }
    vary.done();
    root.done();
    problems.throwIfAny();
    RunOptions base = new RunOptions(topology, overrides, ccl, cclOverrides, params, mode, false);
    return new Description(bench, base, axes, jobs, out);
  }

  private static Optional<String> optional(ConfigMap map, String key) {
    return map.has(key) ? Optional.of(map.text(key)) : Optional.empty();
  }

  private static List<String> pairs(ConfigMap root, String key) {
    List<String> pairs = new ArrayList<>();
    if (root.has(key)) {
      ConfigMap section = root.map(key);
      for (String name : section.keys()) {
        pairs.add(name + "=" + section.text(name));
      }
      section.done();
    }
    return pairs;
  }

  private static String text(Path file, Problems problems) {
    try {
      return UserFile.text(file, "a YAML file that describes a sweep");
    } catch (UnreadableException e) {
      String or = e.isMissing() ? ", or --bench NAME" : "";
      problems.add(new Position(file.toString(), 1, 1), "", e.getMessage() + or);
      throw new ConfigException(problems.sorted());
    }
  }

  /** A path that the file names. */
  private static Optional<Path> path(ConfigMap map, String key) {
    Optional<String> name = optional(map, key);
    try {
      return name.isEmpty() ? Optional.empty() : Optional.of(UserFile.path(name.get()));
    } catch (UnreadableException e) {
      map.problem(key, String.valueOf(e.getMessage()));
      return Optional.empty();
    }
  }
}
