import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs the tests tagged slow and writes down each that is done, so that the next start goes on
 * after it: {@code SlowTests FILE MINUTES CLASS...}. Started by {@code scripts/slow}.
 */
public final class SlowTests implements TestExecutionListener {
  /** A line of the file: outcome, milliseconds, which test. */
  private record Done(boolean green, long ms) {}

  /** Leaves out what is done, and everything once the time is up. Found by JUnit by itself. */
  public static final class GoOn implements ExecutionCondition {
    private static final ConditionEvaluationResult RUN = ConditionEvaluationResult.enabled("");

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
      Done before = DONE.get(context.getUniqueId());
      if (before != null && before.green) {
        return ConditionEvaluationResult.disabled("done before");
      }
      return context.getTestMethod().isPresent() && System.nanoTime() > deadlineNs
          ? ConditionEvaluationResult.disabled(TIME_IS_UP)
          : RUN;
    }
  }

  private static final String TIME_IS_UP = "time is up";
  private static final Map<String, Done> DONE = new LinkedHashMap<>();
  private static long deadlineNs = Long.MAX_VALUE;

  private final Path file;
  private final PrintStream out = System.out;
  private final List<String> failed = new ArrayList<>();
  private long startedNs;
  private int ran;
  private int left;

  private SlowTests(Path file) {
    this.file = file;
  }

  public static void main(String[] args) throws Exception {
    SlowTests run = new SlowTests(Path.of(args[0]));
    double minutes = Double.parseDouble(args[1]);
    if (minutes > 0) {
      deadlineNs = System.nanoTime() + (long) (minutes * 60e9);
    }
    run.read();
    for (String name : Arrays.asList(args).subList(2, args.length)) {
      var request =
          LauncherDiscoveryRequestBuilder.request()
              .selectors(selectClass(Class.forName(name)))
              .filters(TagFilter.includeTags("slow"))
              .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "true")
              .build();
      LauncherFactory.create().execute(request, run);
    }
    System.exit(run.summary() ? 0 : 1);
  }

  private void read() throws IOException {
    if (!Files.exists(file)) {
      return;
    }
    for (String line : Files.readAllLines(file)) {
      String[] words = line.split("\t", 3);
      if (words.length == 3) { // the last line may be cut
        DONE.put(words[2], new Done(words[0].equals("ok"), Long.parseLong(words[1])));
      }
    }
    out.printf(Locale.ROOT, "%d tests are done already%n", green());
  }

  private static long green() {
    return DONE.values().stream().filter(Done::green).count();
  }

  @Override
  public void executionStarted(TestIdentifier test) {
    startedNs = test.isTest() ? System.nanoTime() : startedNs;
  }

  @Override
  public void executionSkipped(TestIdentifier test, String reason) {
    left += reason.contains(TIME_IS_UP) ? 1 : 0;
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    boolean green = result.getStatus() == Status.SUCCESSFUL;
    if (green && !test.isTest()) {
      return;
    }
    long ms = test.isTest() ? (System.nanoTime() - startedNs) / 1_000_000 : 0;
    ran++;
    DONE.put(test.getUniqueId(), new Done(green, ms));
    String line = (green ? "ok" : "failed") + "\t" + ms + "\t" + test.getUniqueId() + "\n";
    try {
      Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    out.printf(Locale.ROOT, "%9.1f s  %-6s %s%n", ms / 1e3, green ? "ok" : "FAILED", name(test));
    if (!green) {
      failed.add(name(test));
      result.getThrowable().ifPresent(e -> e.printStackTrace(out));
    }
  }

  private static String name(TestIdentifier test) {
    return test.getUniqueId()
        .replaceFirst("^.*?\\[class:", "")
        .replaceFirst("]/\\[(method|test-template|test-factory):", "#")
        .replaceAll("\\(.*?\\)", "")
        .replaceAll("]/\\[[a-z-]*:", " ")
        .replaceAll("]$", "");
  }

  private boolean summary() {
    long ms = DONE.values().stream().mapToLong(Done::ms).sum();
    out.printf(
        Locale.ROOT,
        "%d tests run now, %d failed; %d are done, %.1f minutes in all%s%n",
        ran,
        failed.size(),
        green(),
        ms / 60e3,
        left > 0 ? "; " + left + " methods not begun, the next call goes on with them" : "");
    failed.forEach(name -> out.println("  FAILED " + name));
    return failed.isEmpty() && left == 0;
  }
}
