package org.kernbench.eval;

import java.util.List;
import org.kernbench.config.UsageException;
import org.kernbench.eval.benches.BenchRegistry;

/**
 * A small program that is run to be measured: it has a name, typed parameters, and a host program
 * on a machine. To add one, implement this and list it in {@link BenchRegistry#standard}.
 *
 * <p>One object serves all runs of a process, the points of a sweep on several threads among them.
 * So a bench has no state, or only results that are kept by all that decides them.
 */
public interface Bench {
  /** Its name, words joined by {@code -}. */
  String name();

  /** What it does, in one line. */
  String description();

  /** Its parameters, in the order in which they are listed. */
  List<Param<?>> params();

  /**
   * Roughly how many floating-point operations the products of a run with values take, a
   * multiply-add being two; 0 if few, or not known. From some billions on it is worth a process
   * with vector instructions (ADR 0044).
   */
  default double productFlops(Params params) {
    return 0;
  }

  /**
   * Runs it.
   *
   * @return what was measured
   * @throws UsageException if the parameters cannot go together
   */
  Outcome run(BenchContext context);
}
