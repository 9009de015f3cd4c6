package mutation;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectUniqueId;

import com.sun.management.OperatingSystemMXBean;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** The process that runs tests: to learn which lines each reaches, or until one fails. */
final class TestRuns {
  private static final long SLACK_MS = 20_000;
  private static final int SLOWER = 10;

  /** How much longer a test may wait than compute. */
  private static final int WAITING = 3;

  private TestRuns() {}

  /**
   * {@code cover MS FILE...} writes what the tests of the class that a file is named after reach to
   * that file, as soon as it is known. A class that has taken so much time of the processor is left
   * with what is known by then, and the process with it. {@code hunt TESTS RESULT} runs the tests
   * of a file, one {@code CLASS, time in ms, ID} per line, and writes the first that fails.
   */
  public static void main(String[] args) throws IOException {
    int code = 1;
    try {
      if (args[0].equals("cover")) {
        for (String file : List.of(args).subList(2, args.length)) {
          new Cover(Path.of(file)).run(Long.parseLong(args[1]));
        }
      } else {
        new Hunt(Path.of(args[2])).run(Path.of(args[1]));
      }
      code = 0;
    } finally {
      Runtime.getRuntime().halt(code); // a spoiled simulator may leave threads behind
    }
  }

  /**
   * Time of the processor that this process has taken. Unlike the time on the clock it is about the
   * same whatever else the machine does.
   */
  private static long cpuMs() {
    return CPU.getProcessCpuTime() / 1_000_000;
  }

  private static final OperatingSystemMXBean CPU =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  private static void execute(
      List<? extends DiscoverySelector> selectors, TestExecutionListener listener) {
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(selectors)
            .filters(TagFilter.excludeTags("slow"))
            .build();
    Launcher launcher = LauncherFactory.create();
    launcher.execute(request, listener);
  }

  /** One test class: of each of its tests the time, the outcome and the lines. */
  private static final class Cover implements TestExecutionListener {
    private record Leaf(String id, int ms, boolean green, BitSet lines) {}

    private final Path file;
    private final List<Leaf> leaves = new ArrayList<>();
    private final BitSet shared = new BitSet(); // reached before a test began: by all of its class
    private long startedMs;

    Cover(Path file) {
      this.file = file;
    }

    void run(long mostMs) throws IOException {
      long beganMs = cpuMs();
      take();
      Thread watch = Thread.ofPlatform().daemon().start(() -> leaveAfter(beganMs + mostMs));
      try {
        execute(List.of(selectClass(Class.forName(file.getFileName().toString()))), this);
      } catch (ClassNotFoundException e) {
        throw new IllegalStateException(e);
      }
      watch.interrupt();
      write();
    }

    /** Ends the process, for a test that runs cannot be stopped. */
    private void leaveAfter(long ms) {
      try {
        while (cpuMs() < ms) {
          Thread.sleep(200);
        }
        take(); // of a test that is not done
        write();
        Runtime.getRuntime().halt(0);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private synchronized void write() throws IOException {
      shared.or(take());
      Path part = file.resolveSibling(file.getFileName() + ".part");
      try (var out = new DataOutputStream(new GZIPOutputStream(Files.newOutputStream(part)))) {
        out.writeInt(leaves.size());
        for (Leaf leaf : leaves) {
          leaf.lines.or(shared);
          out.writeUTF(leaf.id);
          out.writeInt(leaf.ms);
          out.writeBoolean(leaf.green);
          byte[] bytes = leaf.lines.toByteArray();
          out.writeInt(bytes.length);
          out.write(bytes);
        }
      }
      Files.move(part, file, StandardCopyOption.REPLACE_EXISTING);
    }

    /** The marks that are set, which are then cleared. */
    private static BitSet take() {
      boolean[] hit = LineHits.HIT;
      BitSet lines = new BitSet(hit.length);
      for (int i = 0; i < hit.length; i++) {
        if (hit[i]) {
          lines.set(i);
          hit[i] = false;
        }
      }
      return lines;
    }

    @Override
    public synchronized void executionStarted(TestIdentifier test) {
      if (test.isTest()) {
        shared.or(take());
        startedMs = cpuMs();
      }
    }

    @Override
    public synchronized void executionFinished(TestIdentifier test, TestExecutionResult result) {
      if (test.isTest()) {
        int ms = (int) (cpuMs() - startedMs);
        boolean green = result.getStatus() == Status.SUCCESSFUL;
        leaves.add(new Leaf(test.getUniqueId(), ms, green, take()));
      }
    }
  }

  /** Runs tests until one fails, or hangs. */
  private static final class Hunt implements TestExecutionListener {
    private final Path result;
    private final Map<String, Integer> knownMs = new LinkedHashMap<>();
    private volatile long deadlineMs = Long.MAX_VALUE;
    private volatile long deadlineNs = Long.MAX_VALUE;
    private volatile String running = "";
    private int ran;

    Hunt(Path result) {
      this.result = result;
    }

    void run(Path list) throws IOException {
      Map<String, List<DiscoverySelector>> byClass = new LinkedHashMap<>();
      for (String line : Files.readAllLines(list)) {
        String[] words = line.split("\t", 3);
        knownMs.put(words[2], Integer.parseInt(words[1]));
        byClass.computeIfAbsent(words[0], name -> new ArrayList<>()).add(selectUniqueId(words[2]));
      }
      Thread.ofPlatform().daemon().start(this::watch);
      for (List<DiscoverySelector> ids : byClass.values()) {
        execute(Collections.unmodifiableList(ids), this);
      }
      end("quiet", "", "");
    }

    /** A change may have made a loop endless, or a wait that nothing ends. */
    private void watch() {
      while (cpuMs() < deadlineMs && System.nanoTime() < deadlineNs) {
        try {
          Thread.sleep(200);
        } catch (InterruptedException e) {
          return;
        }
      }
      end("hung", running, "");
    }

    private synchronized void end(String how, String id, String why) {
      try {
        Files.writeString(result, how + "\t" + ran + "\t" + id + "\t" + why);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      Runtime.getRuntime().halt(0);
    }

    @Override
    public void executionStarted(TestIdentifier test) {
      if (test.isTest()) {
        running = test.getUniqueId();
        long ms = SLACK_MS + (long) SLOWER * knownMs.getOrDefault(running, 0);
        deadlineMs = cpuMs() + ms;
        deadlineNs = System.nanoTime() + WAITING * ms * 1_000_000;
      }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult outcome) {
      ran += test.isTest() ? 1 : 0;
      if (outcome.getStatus() == Status.FAILED) {
        String why = outcome.getThrowable().map(Throwable::toString).orElse("");
        String line = why.strip().replaceAll("\\s+", " ");
        // what fails as a whole is not a test, but a test class that cannot be found
        String how = test.getParentId().isEmpty() ? "could not be run:" : "noticed";
        end(how, test.getUniqueId(), line.substring(0, Math.min(160, line.length())));
      }
    }
  }
}
