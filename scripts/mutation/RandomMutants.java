package mutation;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.Trees;
import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Draws small changes to the product's sources, room by room in turn, and says which test notices
 * each. Started by {@code scripts/mutants}, in the folder {@code core}.
 *
 * <p>One change costs one file's compilation beside the classes there are, and one process that
 * runs the tests which reach the changed lines until the first fails. What tests reach is found by
 * running them all once, on instrumented classes; after that only test classes that changed run
 * again. Sources that have changed since count as reached by whatever reached any line of them.
 */
final class RandomMutants {
  private static final Path MAIN = Path.of("src/main/java");
  private static final Path TESTS = Path.of("src/test/java");
  private static final Path WORK = Path.of("target/mutants").toAbsolutePath();
  private static final Path CLASSES = WORK.resolve("classes");
  private static final Path TEST_CLASSES = WORK.resolve("test-classes");
  private static final Path MARKED = WORK.resolve("marked");
  private static final Path REACHED = WORK.resolve("reached");

  /** Started as processes of their own, so that a change would not reach them. */
  private static final List<String> LEFT_OUT =
      List.of("Launcher", "SweepKill", "VectorProcess", "Readme", "Examples", "TorchGuide");

  /** A statement is the likeliest thing to be lost. */
  private static final Map<String, Integer> WEIGHTS = new LinkedHashMap<>();

  static {
    WEIGHTS.put("statement removed", 5);
    WEIGHTS.put("condition", 4);
    WEIGHTS.put("boundary", 2);
    WEIGHTS.put("arithmetic", 3);
    WEIGHTS.put("constant", 2);
    WEIGHTS.put("arguments swapped", 1);
    WEIGHTS.put("return value", 3);
  }

  private record Verdict(Mutation mutation, String how, String by, int ran, int reach, long ms) {
    static Verdict of(Mutation m, String[] noted) {
      return new Verdict(
          m,
          noted[1],
          noted[2],
          Integer.parseInt(noted[3]),
          Integer.parseInt(noted[4]),
          Long.parseLong(noted[5]));
    }

    boolean noticed() {
      return how.equals("noticed") || how.equals("hung");
    }

    boolean byOwn() {
      return noticed() && by.startsWith("own ");
    }
  }

  private final String libraries = System.getProperty("mutation.libraries");
  private final String tool = System.getProperty("mutation.tool");
  private final int jobs = Integer.getInteger("mutation.jobs", 2);
  private final boolean onlyKnown = Boolean.getBoolean("mutation.known");
  private final int budgetMs = 1000 * Integer.getInteger("mutation.seconds", 60);
  private final int followMs = 1000 * Integer.getInteger("mutation.follow", 600);
  private final JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
  private final Map<String, String> sources = new TreeMap<>(); // by path within org/kernbench
  private final Map<String, List<Mutation>> byRoom = new TreeMap<>();
  private Coverage coverage;

  public static void main(String[] args) throws Exception {
    RandomMutants run = new RandomMutants();
    Files.createDirectories(WORK);
    try (var lock = FileChannel.open(WORK.resolve("lock"), CREATE, WRITE).tryLock()) {
      if (lock == null) {
        say("another scripts/mutants is at work in %s; wait for its end", WORK);
        System.exit(2);
      }
      System.exit(run.perform(args) ? 0 : 1);
    }
  }

  /** What the arguments ask for; false if a change was not noticed. */
  private boolean perform(String[] args) throws Exception {
    readSources();
    build();
    learn();
    if (args[0].equals("--unreached")) {
      coverage.unreached(args[1], false).forEach(line -> say("%s", line));
      return true;
    }
    return judge(
        args[0].equals("--at")
            ? at(Arrays.asList(args).subList(1, args.length))
            : draw(Long.parseLong(args[1]), Integer.parseInt(args[2])));
  }

  private static void say(String format, Object... values) {
    System.out.printf(Locale.ROOT, format + "%n", values);
  }

  // ---- sources and classes ----

  private static List<Path> javaFiles(Path root) throws IOException {
    try (Stream<Path> files = Files.walk(root)) {
      return files.filter(f -> f.toString().endsWith(".java")).sorted().toList();
    }
  }

  private void readSources() throws IOException {
    Path rooms = MAIN.resolve("org/kernbench");
    for (Path file : javaFiles(rooms)) {
      sources.put(
          rooms.relativize(file).toString().replace(File.separatorChar, '/'),
          Files.readString(file));
    }
  }

  private static String hash(Iterable<String> texts) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      for (String text : texts) {
        digest.update(text.getBytes(StandardCharsets.UTF_8));
      }
      return HexFormat.of().formatHex(digest.digest(), 0, 12);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Compiles product and tests, each unless it is as it was. */
  private void build() throws IOException {
    List<String> tests = new ArrayList<>();
    for (Path file : javaFiles(TESTS)) {
      tests.add(Files.readString(file));
    }
    String main = hash(sources.values());
    once("the product", "built", main, this::buildProduct);
    once("the tests", "built-tests", main + " " + hash(tests), this::buildTests);
  }

  private interface Step {
    void run() throws IOException;
  }

  private static void once(String what, String stamp, String key, Step step) throws IOException {
    Path file = WORK.resolve(stamp);
    if (Files.exists(file) && Files.readString(file).equals(key)) {
      return;
    }
    say("compiling %s", what);
    Files.createDirectories(WORK);
    Files.deleteIfExists(file);
    step.run();
    Files.writeString(file, key);
  }

  private void buildProduct() throws IOException {
    compileAll(MAIN, CLASSES, libraries, Path.of("src/main/resources"));
    for (Path file : yaml()) {
      Path to = file.startsWith("../machines") ? CLASSES.resolve("machines") : CLASSES;
      Files.createDirectories(to);
      Files.copy(file, to.resolve(file.getFileName()));
    }
  }

  private void buildTests() throws IOException {
    String path = CLASSES + File.pathSeparator + libraries;
    compileAll(TESTS, TEST_CLASSES, path, Path.of("src/test/resources"));
  }

  private static List<Path> yaml() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("../machines"))) {
      return Stream.concat(files, Stream.of(Path.of("../ccl.yaml")))
          .filter(f -> f.toString().endsWith(".yaml"))
          .toList();
    }
  }

  private void compileAll(Path from, Path to, String classPath, Path resources) throws IOException {
    delete(to);
    Files.createDirectories(to);
    copy(resources, to);
    StringWriter messages = new StringWriter();
    try (StandardJavaFileManager files = javac.getStandardFileManager(null, null, null)) {
      boolean done =
          javac
              .getTask(
                  messages,
                  files,
                  null,
                  options(to, classPath),
                  null,
                  files.getJavaFileObjectsFromPaths(javaFiles(from)))
              .call();
      if (!done) {
        throw new IllegalStateException(from + " does not compile:\n" + messages);
      }
    }
  }

  private static List<String> options(Path to, String classPath) {
    return List.of(
        "-proc:none",
        "-nowarn",
        "-parameters",
        "--add-modules",
        "jdk.incubator.vector",
        "-cp",
        classPath,
        "-d",
        to.toString());
  }

  private static void copy(Path from, Path to) throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.walk(from)) {
      files = all.filter(Files::isRegularFile).toList();
    }
    for (Path file : files) {
      Path target = to.resolve(from.relativize(file).toString());
      Files.createDirectories(target.getParent());
      Files.copy(file, target);
    }
  }

  private static void delete(Path root) throws IOException {
    if (!Files.exists(root)) {
      return;
    }
    List<Path> files;
    try (Stream<Path> all = Files.walk(root)) {
      files = new ArrayList<>(all.toList());
    }
    for (Path file : files.reversed()) {
      Files.delete(file);
    }
  }

  // ---- what tests reach ----

  /** Runs the test classes of which it is not known what they reach. */
  private void learn() throws Exception {
    Path table = REACHED.resolve("lines");
    Map<String, String> hashes = new TreeMap<>();
    sources.forEach((file, text) -> hashes.put(file, hash(List.of(text))));
    if (!Files.exists(table)) {
      delete(MARKED);
      delete(REACHED);
      Files.createDirectories(REACHED);
      try (var loader = new URLClassLoader(urls(CLASSES + File.pathSeparator + libraries))) {
        Files.write(table, new Instrumenter(loader).instrument(CLASSES, MARKED));
      }
      List<String> known = new ArrayList<>();
      hashes.forEach((file, hash) -> known.add(file + " " + hash));
      Files.write(REACHED.resolve("sources"), known);
    }
    List<String> lines = Files.readAllLines(table);
    coverage = new Coverage(lines);
    Map<String, String> wanted = testClasses();
    List<String> missing = new ArrayList<>();
    for (var test : wanted.entrySet()) {
      Path folder = REACHED.resolve(test.getValue());
      if (!Files.exists(folder.resolve(test.getKey()))) {
        missing.add(test.getKey());
      }
    }
    if (!missing.isEmpty() && onlyKnown) {
      say("not known what %,d test classes reach; they are left out", missing.size());
    } else if (!missing.isEmpty()) {
      say("finding out what %,d test classes reach", missing.size());
      missing = roomsInTurn(missing);
      List<List<String>> shares = new ArrayList<>();
      for (int i = 0; i < jobs; i++) {
        shares.add(new ArrayList<>());
      }
      for (int i = 0; i < missing.size(); i++) {
        shares.get(i % jobs).add(missing.get(i));
      }
      inParallel(shares.stream().map(s -> (Job<Integer>) () -> cover(s, wanted, lines)).toList());
    }
    for (var test : wanted.entrySet()) {
      Path file = REACHED.resolve(test.getValue()).resolve(test.getKey());
      if (Files.exists(file)) {
        coverage.read(file);
      } else if (!onlyKnown) {
        say("%s could not be run", test.getKey());
      }
    }
    for (String known : Files.readAllLines(REACHED.resolve("sources"))) {
      String[] words = known.split(" ");
      hashes.remove(words[0], words[1]);
    }
    changed.addAll(hashes.keySet());
    say("%,d tests", coverage.size());
    coverage.red().forEach(test -> say("red without a change, so left out: %s", test));
  }

  /**
   * A room after the other, in each the shortest sources first, so that little is known of all
   * soon.
   */
  private static List<String> roomsInTurn(List<String> classes) throws IOException {
    Map<String, List<String>> rooms = new TreeMap<>();
    Map<String, Long> sizes = new HashMap<>();
    for (String each : classes) {
      sizes.put(each, Files.size(TESTS.resolve(each.replace('.', '/') + ".java")));
      rooms.computeIfAbsent(each.split("\\.")[2], room -> new ArrayList<>()).add(each);
    }
    rooms.values().forEach(of -> of.sort(Comparator.comparing(sizes::get)));
    List<String> inTurn = new ArrayList<>();
    for (int i = 0; inTurn.size() < classes.size(); i++) {
      for (List<String> of : rooms.values()) {
        if (i < of.size()) {
          inTurn.add(of.get(i));
        }
      }
    }
    return inTurn;
  }

  private final List<String> changed = new ArrayList<>(); // sources, since tests were followed

  /** By name, with the hash of the source. */
  private static Map<String, String> testClasses() throws IOException {
    Map<String, String> classes = new TreeMap<>();
    for (Path file : javaFiles(TESTS)) {
      String name = TESTS.relativize(file).toString().replaceFirst("\\.java$", "");
      String simple = file.getFileName().toString().replaceFirst("Test\\.java$", "");
      boolean isTest = file.toString().endsWith("Test.java") && name.split("/").length >= 4;
      if (isTest && !LEFT_OUT.contains(simple)) {
        classes.put(name.replace('/', '.'), hash(List.of(Files.readString(file))));
      }
    }
    return classes;
  }

  private static URL[] urls(String classPath) {
    return Arrays.stream(classPath.split(File.pathSeparator))
        .map(part -> {
          try {
            return Path.of(part).toUri().toURL();
          } catch (MalformedURLException e) {
            throw new UncheckedIOException(e);
          }
        })
        .toArray(URL[]::new);
  }

  private int cover(List<String> tests, Map<String, String> hashes, List<String> lines)
      throws Exception {
    Path log = Files.createTempFile(WORK, "cover", ".log");
    List<Path> left = new ArrayList<>();
    for (String test : tests) {
      Path folder = REACHED.resolve(hashes.get(test));
      Files.createDirectories(folder);
      left.add(folder.resolve(test));
    }
    while (!left.isEmpty()) { // a process ends with a class that takes too long, or breaks it
      List<String> command = new ArrayList<>(java(MARKED.toString()));
      command.add(1, "-Dmutation.lines=" + lines.size());
      command.addAll(List.of("mutation.TestRuns", "cover", Integer.toString(followMs)));
      left.forEach(file -> command.add(file.toString()));
      start(command, log).waitFor();
      int before = left.size();
      left.removeIf(Files::exists);
      if (left.size() == before) {
        left.removeFirst(); // could not be run
      }
    }
    return tests.size();
  }

  private List<String> java(String classes) {
    String path =
        String.join(File.pathSeparator, classes, TEST_CLASSES.toString(), tool, libraries);
    return new ArrayList<>(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xmx3g",
            "--enable-native-access=ALL-UNNAMED",
            "-Djava.awt.headless=true",
            "--add-modules",
            "jdk.incubator.vector",
            "-Dkernbench.tests.vector=true",
            "-cp",
            path));
  }

  private static Process start(List<String> command, Path log) throws IOException {
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")))
        .redirectOutput(log.toFile())
        .start();
  }

  private interface Job<T> {
    T run() throws Exception;
  }

  private <T> List<T> inParallel(List<Job<T>> tasks) throws Exception {
    List<T> results = new ArrayList<>();
    try (ExecutorService pool = Executors.newFixedThreadPool(jobs)) {
      List<Future<T>> futures = tasks.stream().map(t -> pool.submit(t::run)).toList();
      for (Future<T> future : futures) {
        results.add(future.get());
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
    return results;
  }

  // ---- changes ----

  private record Source(String name, String text) {
    JavaFileObject file() {
      URI uri = MAIN.resolve("org/kernbench").resolve(name).toAbsolutePath().toUri();
      return new SimpleJavaFileObject(uri, JavaFileObject.Kind.SOURCE) {
        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
          return text;
        }
      };
    }
  }

  private void find() throws IOException {
    for (var each : sources.entrySet()) {
      if (each.getKey().endsWith("package-info.java") || !each.getKey().contains("/")) {
        continue;
      }
      var task =
          (JavacTask)
              javac.getTask(
                  null,
                  null,
                  null,
                  List.of("-proc:none"),
                  null,
                  List.of(new Source(each.getKey(), each.getValue()).file()));
      for (CompilationUnitTree unit : task.parse()) {
        for (Mutation m :
            MutationFinder.find(
                each.getKey(), each.getValue(), unit, Trees.instance(task).getSourcePositions())) {
          byRoom.computeIfAbsent(m.room(), room -> new ArrayList<>()).add(m);
        }
      }
    }
  }

  private List<Mutation> at(List<String> places) throws IOException {
    find();
    return byRoom.values().stream()
        .flatMap(List::stream)
        .filter(m -> places.contains(m.place()) || places.contains(m.file()))
        .toList();
  }

  /** A room after the other; a kind of change by its weight; one of those, each as likely. */
  private List<Mutation> draw(long seed, int count) throws Exception {
    find();
    Random random = new Random(seed);
    List<String> rooms = new ArrayList<>(byRoom.keySet());
    List<Mutation> drawn = new ArrayList<>();
    int vain = 0;
    while (drawn.size() < count) {
      String room = rooms.get(drawn.size() % rooms.size());
      String operator = operator(random);
      List<Mutation> of =
          byRoom.get(room).stream().filter(m -> m.operator().equals(operator)).toList();
      Mutation m = of.get(random.nextInt(of.size()));
      Path to = Files.createTempDirectory(WORK, "drawn");
      String problem = drawn.contains(m) ? "drawn before" : compile(m, to).orElse("");
      delete(to);
      if (problem.isEmpty()) {
        drawn.add(m);
      } else {
        vain++;
        say("     %-28s %-18s %s: %s", m.place(), m.operator(), problem, m.change());
      }
    }
    say(
        "%d changes drawn, seed %d; %d more that do not compile or change nothing",
        count, seed, vain);
    return drawn;
  }

  private static String operator(Random random) {
    int left = random.nextInt(WEIGHTS.values().stream().mapToInt(w -> w).sum());
    for (var weight : WEIGHTS.entrySet()) {
      left -= weight.getValue();
      if (left < 0) {
        return weight.getKey();
      }
    }
    throw new IllegalStateException();
  }

  /** Compiles the changed file alone; says why it is no change, if so. */
  private Optional<String> compile(Mutation m, Path to) throws IOException {
    List<JavaFileObject> files = new ArrayList<>();
    files.add(new Source(m.file(), m.applied(sources.get(m.file()))).file());
    if (m.runsOnce()) {
      files.addAll(usersOfConstants(m));
    }
    String path = CLASSES + File.pathSeparator + libraries;
    try (StandardJavaFileManager manager = javac.getStandardFileManager(null, null, null)) {
      StringWriter messages = new StringWriter();
      if (!javac.getTask(messages, manager, null, options(to, path), null, files).call()) {
        return Optional.of("does not compile");
      }
    }
    try (Stream<Path> classes = Files.walk(to)) {
      for (Path each : classes.filter(Files::isRegularFile).toList()) {
        Path old = CLASSES.resolve(to.relativize(each).toString());
        if (!Files.exists(old) || Files.mismatch(each, old) >= 0) {
          return Optional.empty();
        }
      }
    }
    return Optional.of("the same code");
  }

  /** The compiler copies constants into the classes that name them. */
  private List<JavaFileObject> usersOfConstants(Mutation m) {
    String type = m.file().replaceFirst(".*/", "").replaceFirst("\\.java$", "");
    return sources.entrySet().stream()
        .filter(e -> !e.getKey().equals(m.file()) && e.getValue().contains(type + "."))
        .map(e -> new Source(e.getKey(), e.getValue()).file())
        .toList();
  }

  // ---- judgement ----

  private boolean judge(List<Mutation> mutations) throws Exception {
    Path journal = journal();
    Map<String, Verdict> before = new HashMap<>();
    for (String line : Files.exists(journal) ? Files.readAllLines(journal) : List.<String>of()) {
      String[] w = line.split("\t", -1);
      mutations.stream()
          .filter(m -> key(m).equals(w[0]) && (!w[1].equals("quiet") || w[6].equals(effort())))
          .forEach(m -> before.put(w[0], Verdict.of(m, w)));
    }
    if (!before.isEmpty()) {
      say("%d of them judged before", before.size());
    }
    List<Job<Verdict>> tasks = new ArrayList<>();
    for (int i = 0; i < mutations.size(); i++) {
      int number = i + 1;
      Mutation m = mutations.get(i);
      tasks.add(() -> {
        Verdict verdict = before.get(key(m));
        if (verdict == null) {
          verdict = judge(m, number);
          note(journal, verdict);
        }
        print(number, verdict);
        return verdict;
      });
    }
    List<Verdict> verdicts =
        inParallel(tasks).stream().filter(v -> !v.how.equals("no change")).toList();
    summary(verdicts);
    return verdicts.stream().allMatch(Verdict::noticed);
  }

  /** Verdicts hold for the same sources and tests: a run goes on there. */
  private static Path journal() throws IOException {
    return WORK.resolve("verdicts-" + hash(List.of(Files.readString(WORK.resolve("built-tests")))));
  }

  /** What no test noticed may be noticed with more time or more tests. */
  private String effort() {
    return budgetMs + " ms, " + coverage.size() + " tests";
  }

  private static String key(Mutation m) {
    return hash(List.of(m.file(), " " + m.start() + " ", m.before(), " ", m.after()));
  }

  private synchronized void note(Path journal, Verdict v) throws IOException {
    String by = v.by.replaceAll("\\s+", " ");
    String line =
        String.join(
            "\t", key(v.mutation), v.how, by, "" + v.ran, "" + v.reach, "" + v.ms, effort());
    Files.writeString(journal, line + "\n", CREATE, StandardOpenOption.APPEND);
  }

  private synchronized void print(int number, Verdict v) {
    String seen =
        switch (v.how) {
          case "noticed" -> "noticed by " + v.by;
          case "hung" -> "never ends in " + v.by;
          case "quiet" -> v.reach == 0 ? "SURVIVED: no test reaches it" : "SURVIVED";
          default -> v.how + " " + v.by;
        };
    say(
        "%4d %-28s %-18s %s%n       %s; %d of %d tests, %.1f s",
        number,
        v.mutation.place(),
        v.mutation.operator(),
        v.mutation.change(),
        seen,
        v.ran,
        v.reach,
        v.ms / 1000.0);
  }

  private Verdict judge(Mutation m, int number) throws Exception {
    long started = System.nanoTime();
    Path to = WORK.resolve("mutant-" + number);
    delete(to);
    Files.createDirectories(to);
    try {
      Optional<String> problem = compile(m, to);
      if (problem.isPresent()) {
        return new Verdict(m, "no change", problem.get(), 0, 0, 0);
      }
      List<Coverage.Leaf> reaching = coverage.reaching(m, changed.contains(m.file()));
      List<Coverage.Leaf> chosen = chosen(m, reaching);
      if (chosen.isEmpty()) {
        return new Verdict(m, "quiet", "", 0, 0, 0);
      }
      String[] result = hunt(to, chosen).split("\t", -1);
      String by = "";
      if (!result[2].isEmpty()) {
        by = by(m, chosen, result[2]) + (result[3].isEmpty() ? "" : ": " + result[3]);
      }
      long ms = (System.nanoTime() - started) / 1_000_000;
      return new Verdict(m, result[0], by, Integer.parseInt(result[1]), reaching.size(), ms);
    } finally {
      delete(to);
    }
  }

  /** A failing test, or class of tests: of its own room, or with the name of another. */
  private static String by(Mutation m, List<Coverage.Leaf> chosen, String id) {
    Coverage.Leaf leaf =
        chosen.stream().filter(t -> t.id().startsWith(id)).findFirst().orElseThrow();
    return (leaf.room().equals(m.room()) ? "own " : leaf.room() + " ") + leaf.name();
  }

  /**
   * Of the room's own and of the others as many as fit into the time: the quickest of each class,
   * then the next quickest of each, so that many cases of one class do not keep others out.
   */
  private List<Coverage.Leaf> chosen(Mutation m, List<Coverage.Leaf> reaching) {
    List<Coverage.Leaf> own =
        new ArrayList<>(within(reaching.stream().filter(t -> t.room().equals(m.room())).toList()));
    own.addAll(within(reaching.stream().filter(t -> !t.room().equals(m.room())).toList()));
    return own;
  }

  private List<Coverage.Leaf> within(List<Coverage.Leaf> tests) {
    Map<String, Integer> ofClass = new HashMap<>();
    Map<Coverage.Leaf, Integer> turn = new HashMap<>();
    tests.stream()
        .sorted(Comparator.comparing(Coverage.Leaf::ms))
        .forEach(t -> turn.put(t, ofClass.merge(t.testClass(), 1, Integer::sum)));
    int[] left = {budgetMs};
    Map<Coverage.Leaf, Boolean> taken = new HashMap<>();
    tests.stream()
        .sorted(
            Comparator.comparing((Coverage.Leaf t) -> turn.get(t)).thenComparing(Coverage.Leaf::ms))
        .forEach(t -> {
          boolean fits = left[0] >= t.ms();
          taken.put(t, fits);
          left[0] -= fits ? t.ms() : 0;
        });
    return tests.stream().filter(taken::get).toList();
  }

  private String hunt(Path classes, List<Coverage.Leaf> tests) throws Exception {
    Path list = classes.resolve("tests.txt");
    Path result = classes.resolve("result.txt");
    Files.write(
        list, tests.stream().map(t -> t.testClass() + "\t" + t.ms() + "\t" + t.id()).toList());
    List<String> command = java(classes + File.pathSeparator + CLASSES);
    command.addAll(List.of("mutation.TestRuns", "hunt", list.toString(), result.toString()));
    Process process = start(command, classes.resolve("log.txt"));
    long known = tests.stream().mapToLong(Coverage.Leaf::ms).sum();
    if (!process.waitFor(300_000 + 30 * known, TimeUnit.MILLISECONDS)) { // the machine may be busy
      process.destroyForcibly().waitFor();
      return "hung\t0\t" + tests.getFirst().id() + "\t";
    }
    if (!Files.exists(result)) {
      return "noticed\t0\t" + tests.getFirst().id() + "\tthe process ended";
    }
    return Files.readString(result);
  }

  // ---- summary ----

  private static void summary(List<Verdict> verdicts) {
    table("room", verdicts, v -> v.mutation.room());
    table("change", verdicts, v -> v.mutation.operator());
    long noticed = verdicts.stream().filter(Verdict::noticed).count();
    long own = verdicts.stream().filter(Verdict::byOwn).count();
    say(
        "%nnoticed %d of %d (%.1f %%), by the room's own tests %d (%.1f %%)",
        noticed,
        verdicts.size(),
        100.0 * noticed / verdicts.size(),
        own,
        100.0 * own / verdicts.size());
    for (Verdict v : verdicts) {
      if (!v.noticed()) {
        say(
            "  SURVIVED %-28s %-18s %s",
            v.mutation.place(), v.mutation.operator(), v.mutation.change());
      }
    }
    for (Verdict v : verdicts) {
      if (v.noticed() && !v.byOwn()) {
        say("  NOT BY ITS ROOM %-28s %s  by %s", v.mutation.place(), v.mutation.change(), v.by);
      }
    }
  }

  private static void table(
      String what, List<Verdict> verdicts, java.util.function.Function<Verdict, String> key) {
    Map<String, int[]> counts = new TreeMap<>();
    for (Verdict v : verdicts) {
      int[] count = counts.computeIfAbsent(key.apply(v), k -> new int[3]);
      count[0]++;
      count[1] += v.noticed() ? 1 : 0;
      count[2] += v.byOwn() ? 1 : 0;
    }
    say("%n%-20s %8s %8s %8s", what, "changes", "noticed", "by own");
    counts.forEach((name, c) -> say("%-20s %8d %8d %8d", name, c[0], c[1], c[2]));
  }
}
