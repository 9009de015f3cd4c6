package org.kernbench.eval.sweep;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.config.ConfigException;
import org.kernbench.config.FilesRead;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Progress;
import org.kernbench.eval.Runner;
import org.kernbench.eval.output.OutputException;
import org.kernbench.machine.MachineException;

/**
 * Runs the points of a sweep that have no row yet, several at once, and puts each row into the
 * store the moment it is done. The order in which points finish never shows in the results.
 */
public final class SweepRunner {
  /** Something that runs points, one after the other. */
  public interface Worker extends AutoCloseable {
    /**
     * Runs a point.
     *
     * @throws WorkerLostException if the worker died; the point has no row
     */
    SweepRow run(Sweep.Point point);

    @Override
    void close();
  }

  /** A worker died, for example because the system ran out of memory. */
  public static final class WorkerLostException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** An error that says how it died. */
    public WorkerLostException(String message) {
      super(message);
    }
  }

  /**
   * What became of a sweep.
   *
   * @param points in the grid
   * @param reused that had a row before
   * @param done that were run now
   * @param failed rows, old and new, whose status is not {@code ok}
   * @param lost points without a row because their worker died twice, with the reasons
   */
  public record Summary(int points, int reused, int done, int failed, List<String> lost) {
    /** Whether every point has a row and is ok. */
    public boolean isOk() {
      return failed == 0 && lost.isEmpty();
    }
  }

  private static final int ATTEMPTS = 2;

  private final Sweep sweep;
  private final ResultStore store;
  private final Progress progress;

  private SweepRunner(Sweep sweep, ResultStore store, Progress progress) {
    this.sweep = sweep;
    this.store = store;
    this.progress = progress;
  }

  /** A runner of one sweep. */
  public static SweepRunner of(Sweep sweep, ResultStore store, Progress progress) {
    return new SweepRunner(sweep, store, progress);
  }

  /**
   * Runs what is missing.
   *
   * @param resume whether rows that are there may be taken over
   * @param jobs workers at once, at least 1
   * @param workers makes a worker
   * @throws UsageException if there are rows and {@code resume} was not asked for
   * @throws OutputException if a row cannot be written; rows put before are whole
   */
  public Summary run(boolean resume, int jobs, Supplier<Worker> workers) {
    List<Sweep.Point> points = sweep.points();
    Set<String> there = store.validKeys();
    List<Sweep.Point> missing = points.stream().filter(p -> !there.contains(p.key())).toList();
    int reused = points.size() - missing.size();
    if (reused > 0 && !resume) {
      throw new UsageException(
          """
          %s has %s%s points already; use --resume to take them over%s, or another --out\
          """
              .formatted(
                  store.file(),
                  reused == points.size() ? "all " : reused + " of the ",
                  points.size(),
                  missing.isEmpty() ? "" : " and run the rest"));
    }
    store.plan(sweep, points);
    Crew crew = new Crew(missing, workers);
    crew.run(Math.min(jobs, missing.size()));
    int failed = 0;
    for (var row : store.rows(sweep.id())) {
      failed += "ok".equals(row.get("status")) ? 0 : 1;
    }
    return new Summary(points.size(), reused, crew.done.get(), failed, crew.lost);
  }

  /** The workers of one run. */
  private final class Crew {
    private final List<Sweep.Point> missing;
    private final Supplier<Worker> workers;
    private final AtomicInteger next = new AtomicInteger();
    private final AtomicReference<Optional<Throwable>> error =
        new AtomicReference<>(Optional.empty());
    final AtomicInteger done = new AtomicInteger();
    final List<String> lost = new ArrayList<>();

    Crew(List<Sweep.Point> missing, Supplier<Worker> workers) {
      this.missing = missing;
      this.workers = workers;
    }

    void run(int jobs) {
      progress.at(0, missing.size(), "");
      List<Thread> threads = new ArrayList<>();
      ClassLoader loader = Thread.currentThread().getContextClassLoader();
      for (int j = 0; j < jobs; j++) {
        Thread thread = new Thread(this::work, "sweep-" + j);
        thread.setContextClassLoader(loader);
        thread.start();
        threads.add(thread);
      }
      for (Thread thread : threads) {
        join(thread);
      }
      progress.at(missing.size(), missing.size(), "");
      switch (error.get().orElse(null)) {
        case null -> {}
        case RuntimeException e -> throw e;
        case Error e -> throw e;
        case Throwable e -> throw new IllegalStateException(e);
      }
    }

    private void join(Thread thread) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        next.set(missing.size());
        Thread.currentThread().interrupt();
      }
    }

    private void work() {
      Optional<Worker> worker = Optional.empty();
      try {
        for (int i = next.getAndIncrement(); i < missing.size(); i = next.getAndIncrement()) {
          worker = work(missing.get(i), worker);
        }
      } catch (RuntimeException | Error e) {
        error.compareAndSet(Optional.empty(), Optional.of(e));
        next.set(missing.size()); // the others end with the point that they have
      } finally {
        worker.ifPresent(Worker::close);
      }
    }

    /** Runs a point, on a new worker if the old one died. */
    private Optional<Worker> work(Sweep.Point point, Optional<Worker> old) {
      Optional<Worker> worker = old;
      for (int attempt = 1; ; attempt++) {
        if (worker.isEmpty()) {
          worker = Optional.of(workers.get());
        }
        try {
          store.put(worker.get().run(point), sweep.version());
          synchronized (this) {
            progress.at(done.incrementAndGet(), missing.size(), "");
          }
          return worker;
        } catch (WorkerLostException e) {
          worker.get().close();
          worker = Optional.empty();
          if (attempt == ATTEMPTS) {
            synchronized (lost) {
              lost.add("point " + describe(point) + ": " + e.getMessage());
            }
            return worker;
          }
        }
      }
    }
  }

  private String describe(Sweep.Point point) {
    List<String> all = new ArrayList<>();
    for (int a = 0; a < sweep.axes().size(); a++) {
      all.add(sweep.axes().get(a).name() + "=" + point.values().get(a));
    }
    return String.join(" ", all);
  }

  /** A worker that runs points where it is called. */
  public static Worker inPlace(Sweep sweep) {
    Runner runner = Runner.of(sweep.version(), Progress.SILENT);
    return new Worker() {
      @Override
      public SweepRow run(Sweep.Point point) {
        FilesRead.Result<SweepRow> read = FilesRead.during(() -> row(point));
        return read.value().having(read.files());
      }

      private SweepRow row(Sweep.Point point) {
        try {
          return SweepRow.of(point.key(), runner.run(sweep.bench(), point.options()));
        } catch (UsageException | ConfigException | MachineException | CollectiveException e) {
          return SweepRow.refused(point, sweep.bench(), String.valueOf(e.getMessage()));
        }
      }

      @Override
      public void close() {}
    };
  }
}
