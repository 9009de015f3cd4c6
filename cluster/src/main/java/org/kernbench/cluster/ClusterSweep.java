package org.kernbench.cluster;

import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.kernbench.config.ConfigException;
import org.kernbench.config.UsageException;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.output.OutputException;
import org.kernbench.eval.sweep.ResultStore;
import org.kernbench.eval.sweep.Sweep;
import org.kernbench.eval.sweep.SweepFolder;
import org.kernbench.eval.sweep.SweepRow;

/**
 * {@code kernbench sweep FILE.yaml} on Apache Spark: one task per point, its row stored by the
 * driver the moment the task is done, tasks that fail run again elsewhere.
 *
 * <p>The files that come out are those of the local command, byte for byte: the same keys, the same
 * store, the rows in the order of the grid. A sweep may begin here and end there with {@code
 * --resume}.
 */
public final class ClusterSweep {
  private ClusterSweep() {}

  /**
   * What a task does before its point; for tests of what happens when it fails.
   *
   * @param <T> of the point
   */
  @FunctionalInterface
  interface Before<T> extends Serializable {
    void run(T point);
  }

  /**
   * Runs a sweep that {@code SweepOnSpark} has read from the command line.
   *
   * @param file the sweep
   * @param out folder of the results; empty: as the file says, else {@code results}
   * @return exit code: 0 ok, 1 failed, 2 usage
   */
  public static int execute(String file, String out, boolean resume) {
    try {
      Path folder =
          out.isEmpty() ? Sweep.read(Path.of(file)).out().orElse(Path.of("results")) : Path.of(out);
      SparkConf conf = new SparkConf().setAppName("kernbench sweep " + file);
      conf.setIfMissing("spark.master", "local[*,4]");
      conf.setIfMissing("spark.ui.enabled", "false");
      try (JavaSparkContext spark = new JavaSparkContext(conf)) {
        int failed = run(spark, file, folder, resume, request -> {});
        return failed == 0 ? 0 : 1;
      }
    } catch (UsageException | ConfigException e) {
      System.err.println("kernbench: " + e.getMessage());
      return 2;
    } catch (OutputException e) {
      System.err.println("kernbench: " + e.getMessage());
      return 1;
    }
  }

  /** Version of kernbench, as the local command writes it. */
  static String version() {
    String version = BenchRegistry.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }

  /**
   * Runs what is missing.
   *
   * @return rows that are not ok
   */
  static int run(
      JavaSparkContext spark,
      String file,
      Path directory,
      boolean resume,
      Before<PointTask.Request> before) {
    PointTask task = new PointTask(file, version());
    Sweep sweep = PointTask.sweep(file, task.version());
    SweepFolder folder = SweepFolder.create(directory);
    try (ResultStore store = folder.open()) {
      List<Sweep.Point> points = sweep.points();
      Set<String> there = store.validKeys();
      List<PointTask.Request> missing =
          points.stream()
              .filter(p -> !there.contains(p.key()))
              .map(p -> new PointTask.Request(p.index(), p.key()))
              .toList();
      if (missing.size() < points.size() && !resume) {
        throw new UsageException(
            store.file() + " has some of the points already; use --resume, or another --out");
      }
      store.plan(sweep, points);
      if (!missing.isEmpty()) {
        submit(spark, task, missing, store, before);
      }
      SweepFolder.Texts texts = folder.write(sweep, store);
      long failed = texts.rows().stream().filter(r -> !"ok".equals(r.get("status"))).count();
      System.out.println(
          String.format(
              Locale.ROOT,
              "%,d points, %,d of them before, %,d failed; %s",
              points.size(),
              points.size() - missing.size(),
              failed,
              folder.csv()));
      return (int) failed;
    }
  }

  /** One task per point; Spark hands over each result when its task is done. */
  private static void submit(
      JavaSparkContext spark,
      PointTask task,
      List<PointTask.Request> missing,
      ResultStore store,
      Before<PointTask.Request> before) {
    JavaRDD<PointTask.Request> points = spark.parallelize(new ArrayList<>(missing), missing.size());
    AtomicReference<RuntimeException> problem = new AtomicReference<>();
    List<Object> partitions = new ArrayList<>();
    for (int i = 0; i < missing.size(); i++) {
      partitions.add(i);
    }
    spark
        .sc()
        .runJob(
            points.rdd(),
            new RunPoint(task, before),
            scala.jdk.javaapi.CollectionConverters.asScala(partitions).toSeq(),
            new StoreRow(store, task.version(), problem),
            scala.reflect.ClassTag$.MODULE$.apply(ArrayList.class));
    if (problem.get() != null) {
      throw problem.get();
    }
  }

  /** On an executor. */
  private static final class RunPoint
      extends scala.runtime.AbstractFunction2<
          TaskContext, scala.collection.Iterator<PointTask.Request>, ArrayList<String>>
      implements Serializable {
    private static final long serialVersionUID = 1L;
    private final PointTask task;
    private final Before<PointTask.Request> before;

    RunPoint(PointTask task, Before<PointTask.Request> before) {
      this.task = task;
      this.before = before;
    }

    @Override
    public ArrayList<String> apply(
        TaskContext context, scala.collection.Iterator<PointTask.Request> points) {
      PointTask.Request point = points.next();
      before.run(point);
      return new ArrayList<>(task.run(point));
    }
  }

  /** On the driver, in the order in which tasks end. */
  private static final class StoreRow
      extends scala.runtime.AbstractFunction2<Object, ArrayList<String>, scala.runtime.BoxedUnit> {
    private final ResultStore store;
    private final String version;
    private final AtomicReference<RuntimeException> problem;

    StoreRow(ResultStore store, String version, AtomicReference<RuntimeException> problem) {
      this.store = store;
      this.version = version;
      this.problem = problem;
    }

    @Override
    public scala.runtime.BoxedUnit apply(Object index, ArrayList<String> texts) {
      try {
        store.put(SweepRow.fromTexts(texts), version);
      } catch (RuntimeException e) {
        problem.compareAndSet(null, e);
      }
      return scala.runtime.BoxedUnit.UNIT;
    }
  }
}
