import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs the tests tagged slow and writes down each that is done, so that the next start goes on
 * after it: {@code SlowTests FILE MINUTES JOBS CLASS...}. Started by {@code scripts/slow}.
 *
 * <p>Each class runs in a process of its own, {@code SlowTests FILE DEADLINE CLASS}, {@code JOBS}
 * of them at once. All add lines to the one file, in one write each.
 */
public final class SlowTests implements TestExecutionListener {
  private enum Outcome {
    OK,
    FAILED,
    /** Needs what is not here, such as a browser; tried again by the next call. */
    SKIPPED,
    /** Not begun, as the time was up. */
    LEFT
  }

  /** A line of the file. */
  private record Line(Outcome outcome, long ms, String test) {
    static Line of(String text) {
      String[] words = text.split("\t", 3);
      return new Line(
          Outcome.valueOf(words[0].toUpperCase(Locale.ROOT)), Long.parseLong(words[1]), words[2]);
    }

    @Override
    public String toString() {
      return outcome.name().toLowerCase(Locale.ROOT) + "\t" + ms + "\t" + test;
    }

    String testClass() {
      return test.replaceFirst("^.*?\\[class:", "").replaceFirst("[]/].*", "");
    }

    String name() {
      return test.replaceFirst("^.*?\\[class:", "")
          .replaceFirst("]/\\[(method|test-template|test-factory):", "#")
          .replaceAll("\\(.*?\\)", "")
          .replaceAll("]/\\[[a-z-]*:", " ")
          .replaceAll("]$", "");
    }
  }

  // ---- one class ----

  /** Leaves out what is done, and everything once the time is up. Found by JUnit by itself. */
  public static final class GoOn implements ExecutionCondition {
    private static final ConditionEvaluationResult RUN = ConditionEvaluationResult.enabled("");

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
      Line before = DONE.get(context.getUniqueId());
      if (before != null && before.outcome == Outcome.OK) {
        return ConditionEvaluationResult.disabled("done before");
      }
      return context.getTestMethod().isPresent() && System.currentTimeMillis() > deadlineMs
          ? ConditionEvaluationResult.disabled(TIME_IS_UP)
          : RUN;
    }
  }

  private static final String TIME_IS_UP = "time is up";
  private static final Map<String, Line> DONE = new LinkedHashMap<>();
  private static long deadlineMs = Long.MAX_VALUE;

  private final Path file;
  private final PrintStream out = System.out;
  private long startedNs;

  private SlowTests(Path file) {
    this.file = file;
  }

  public static void main(String[] args) throws Exception {
    Path file = Path.of(args[0]);
    if (args.length > 3) {
      int jobs = Integer.parseInt(args[2]);
      List<String> classes = Arrays.asList(args).subList(3, args.length);
      System.exit(new Shares(file, Double.parseDouble(args[1])).run(classes, jobs) ? 0 : 1);
    }
    deadlineMs = Long.parseLong(args[1]);
    lines(file).forEach(line -> DONE.put(line.test, line));
    var request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(selectClass(Class.forName(args[2])))
            .filters(TagFilter.includeTags("slow"))
            .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "true")
            .build();
    LauncherFactory.create().execute(request, new SlowTests(file));
    System.exit(0);
  }

  @Override
  public void executionStarted(TestIdentifier test) {
    startedNs = test.isTest() ? System.nanoTime() : startedNs;
  }

  @Override
  public void executionSkipped(TestIdentifier test, String reason) {
    if (reason.contains(TIME_IS_UP)) {
      note(new Line(Outcome.LEFT, 0, test.getUniqueId()));
    }
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    Outcome outcome =
        switch (result.getStatus()) {
          case SUCCESSFUL -> Outcome.OK;
          case ABORTED -> Outcome.SKIPPED;
          case FAILED -> Outcome.FAILED;
        };
    if (outcome == Outcome.OK && !test.isTest()) {
      return;
    }
    long ms = test.isTest() ? (System.nanoTime() - startedNs) / 1_000_000 : 0;
    Line line = new Line(outcome, ms, test.getUniqueId());
    note(line);
    String word = outcome == Outcome.FAILED ? "FAILED" : outcome.name().toLowerCase(Locale.ROOT);
    StringBuilder text = new StringBuilder();
    text.append(String.format(Locale.ROOT, "%9.1f s  %-7s %s%n", ms / 1e3, word, line.name()));
    if (outcome == Outcome.FAILED) {
      result
          .getThrowable()
          .ifPresent(e -> {
            text.append(e).append('\n');
            Stream.of(e.getStackTrace())
                .forEach(at -> text.append("\tat ").append(at).append('\n'));
          });
    }
    out.print(text); // at once, as others print too
    out.flush();
  }

  private void note(Line line) {
    add(file, line);
  }

  private static void add(Path file, Line line) {
    try {
      Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What the file says; its last line may be cut. */
  private static List<Line> lines(Path file) throws IOException {
    return Files.exists(file)
        ? Files.readAllLines(file).stream()
            .filter(text -> text.split("\t", 3).length == 3)
            .map(Line::of)
            .toList()
        : List.of();
  }

  // ---- all classes ----

  /** Deals the classes to processes, and sums up what these have written down. */
  private static final class Shares {
    private final Path file;
    private final long deadlineMs;
    private final List<Process> running = new ArrayList<>();

    Shares(Path file, double minutes) {
      this.file = file;
      this.deadlineMs =
          minutes > 0 ? System.currentTimeMillis() + (long) (minutes * 60e3) : Long.MAX_VALUE;
    }

    /** Whether all tests of these classes are done, and none failed. */
    boolean run(List<String> classes, int jobs) throws IOException, InterruptedException {
      Runtime.getRuntime().addShutdownHook(new Thread(this::stop));
      List<Line> before = lines(file);
      if (!before.isEmpty()) {
        System.out.printf(Locale.ROOT, "%d tests are done already%n", green(before));
      }
      Queue<String> queue = new ConcurrentLinkedQueue<>(longestFirst(classes));
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < jobs; i++) {
        threads.add(Thread.ofPlatform().start(() -> work(queue)));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      List<Line> all = lines(file);
      return summary(all.subList(before.size(), all.size()), all);
    }

    /** Of a class of which no time is known it is taken that it is long. */
    private List<String> longestFirst(List<String> classes) throws IOException {
      List<Path> files;
      try (Stream<Path> found = Files.list(file.toAbsolutePath().getParent())) {
        files = found.filter(f -> f.getFileName().toString().startsWith("done-")).toList();
      }
      Map<String, Long> ms = new LinkedHashMap<>();
      for (Path each : files) {
        Map<String, Long> there = new LinkedHashMap<>();
        lines(each).forEach(line -> there.merge(line.testClass(), line.ms, Long::sum));
        there.forEach((name, sum) -> ms.merge(name, sum, Math::max));
      }
      List<String> sorted = new ArrayList<>(classes);
      sorted.sort(
          Comparator.comparingLong((String name) -> ms.getOrDefault(name, Long.MAX_VALUE))
              .reversed());
      return sorted;
    }

    private void work(Queue<String> queue) {
      try {
        for (String name = queue.poll(); name != null; name = queue.poll()) {
          int code = start(name).waitFor();
          if (code != 0) {
            add(
                file,
                new Line(
                    Outcome.FAILED, 0, "[class:" + name + "] whose process ended with " + code));
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    private Process start(String name) throws IOException {
      List<String> command = new ArrayList<>();
      command.add(
          System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
      command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
      command.addAll(List.of("-cp", System.getProperty("java.class.path"), "SlowTests"));
      command.addAll(List.of(file.toString(), Long.toString(deadlineMs), name));
      synchronized (running) {
        Process process = new ProcessBuilder(command).inheritIO().start();
        running.add(process);
        return process;
      }
    }

    private void stop() {
      synchronized (running) {
        running.forEach(Process::destroy);
      }
    }

    private static long green(List<Line> lines) {
      return lines.stream().filter(l -> l.outcome == Outcome.OK).map(Line::test).distinct().count();
    }

    private static boolean summary(List<Line> now, List<Line> all) {
      List<Line> failed = now.stream().filter(l -> l.outcome == Outcome.FAILED).toList();
      long skipped = now.stream().filter(l -> l.outcome == Outcome.SKIPPED).count();
      long left = now.stream().filter(l -> l.outcome == Outcome.LEFT).count();
      long ms = all.stream().filter(l -> l.outcome == Outcome.OK).mapToLong(Line::ms).sum();
      System.out.printf(
          Locale.ROOT,
          "%d tests run now, %d failed, %d skipped; %d are done, %.1f minutes in all%s%n",
          now.size() - left - skipped,
          failed.size(),
          skipped,
          green(all),
          ms / 60e3,
          left > 0 ? "; " + left + " methods not begun, the next call goes on with them" : "");
      failed.forEach(line -> System.out.println("  FAILED " + line.name()));
      return failed.isEmpty() && left == 0;
    }
  }
}
