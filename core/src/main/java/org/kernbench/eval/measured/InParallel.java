package org.kernbench.eval.measured;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.function.Function;

/** Does the same to each of a list, some at a time; what comes out has the order of the list. */
final class InParallel {
  private InParallel() {}

  /**
   * The results, in order.
   *
   * @param jobs at most so many at a time, 1 or more
   * @throws RuntimeException the one that was thrown for the first of the list for which one was
   */
  static <A, B> List<B> map(List<A> all, int jobs, Function<A, B> body) {
    if (jobs == 1 || all.size() < 2) {
      return all.stream().map(body).toList();
    }
    Semaphore free = new Semaphore(jobs);
    List<FutureTask<B>> tasks = new ArrayList<>();
    for (A each : all) {
      FutureTask<B> task = new FutureTask<>(() -> body.apply(each));
      tasks.add(task);
      Thread.ofVirtual()
          .name("kernbench-row")
          .start(() -> {
            free.acquireUninterruptibly();
            try {
              task.run();
            } finally {
              free.release();
            }
          });
    }
    List<B> results = new ArrayList<>();
    for (FutureTask<B> task : tasks) {
      results.add(result(task, tasks));
    }
    return results;
  }

  private static <B> B result(FutureTask<B> task, List<FutureTask<B>> all) {
    try {
      return task.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CancellationException("interrupted");
    } catch (ExecutionException e) {
      all.forEach(t -> t.cancel(false));
      switch (e.getCause()) {
        case RuntimeException cause -> throw cause;
        case Error cause -> throw cause;
        case null, default -> throw new IllegalStateException(e.getCause());
      }
    }
  }
}
