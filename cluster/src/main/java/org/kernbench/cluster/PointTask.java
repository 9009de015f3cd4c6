package org.kernbench.cluster;

import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import org.kernbench.eval.Bench;
import org.kernbench.eval.UserClasses;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.sweep.Sweep;
import org.kernbench.eval.sweep.SweepRow;
import org.kernbench.eval.sweep.SweepRunner;

/**
 * What a task of the cluster does: makes the sweep from the file's text as the driver did, and runs
 * one point of it.
 *
 * @param file path of the sweep file, the same on every machine
 * @param version of kernbench on the driver
 */
record PointTask(String file, String version) implements Serializable {
  /** A point as it travels: its place, and the key that both sides must agree on. */
  record Request(int index, String key) implements Serializable {}

  /** Benches that come with kernbench, and those that {@code --jars} brought. */
  static BenchRegistry benches() {
    List<Bench> own = new ArrayList<>();
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    ServiceLoader.load(Bench.class, loader).forEach(own::add);
    return BenchRegistry.standard().with(own);
  }

  /**
   * The sweep of a file. A bench that it names as a {@code .java} file is compiled here, on the
   * driver and on every executor; the code is part of the key of each point.
   */
  static Sweep sweep(String file, String version) {
    Sweep.Description read = Sweep.read(Path.of(file));
    Path source = Path.of(read.bench());
    if (UserClasses.isSource(source)) {
      UserClasses own = UserClasses.load(List.of(source));
      return Sweep.of(own.benchOf(source), read.base(), read.axes(), version, own.hash());
    }
    return Sweep.of(benches().find(read.bench()), read.base(), read.axes(), version, "");
  }

  /** Runs a point; the row as texts. */
  List<String> run(Request request) {
    Sweep sweep = Known.SWEEPS.computeIfAbsent(this, task -> sweep(task.file(), task.version()));
    Sweep.Point point =
        Known.POINTS.computeIfAbsent(this, task -> sweep.points()).get(request.index());
    if (!point.key().equals(request.key())) {
      throw new IllegalStateException(
          "point "
              + request.index()
              + " of "
              + file
              + " is another one here than on the driver: the files that the sweep names must be"
              + " the same on all machines, and kernbench of one version");
    }
    return onVirtualThread(sweep, point).toTexts();
  }

  /** Simulations hand over between virtual threads; started on one they stay there. */
  private static SweepRow onVirtualThread(Sweep sweep, Sweep.Point point) {
    CompletableFuture<SweepRow> row = new CompletableFuture<>();
    Thread.ofVirtual()
        .start(() -> {
          try (SweepRunner.Worker worker = SweepRunner.inPlace(sweep)) {
            row.complete(worker.run(point));
          } catch (Throwable e) {
            row.completeExceptionally(e);
          }
        });
    try {
      return row.join();
    } catch (CompletionException e) {
      throw new IllegalStateException("point " + point.index() + " failed", e.getCause());
    }
  }

  /** Sweeps that this executor has read; each is read once. */
  private static final class Known {
    static final Map<PointTask, Sweep> SWEEPS = new ConcurrentHashMap<>();
    static final Map<PointTask, List<Sweep.Point>> POINTS = new ConcurrentHashMap<>();

    private Known() {}
  }
}
