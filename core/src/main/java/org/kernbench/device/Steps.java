package org.kernbench.device;

/**
 * A program that says its commands a step at a time and never waits: it looks at no data, at no
 * clock, and not for which message is there first.
 *
 * <p>Such a program needs no thread. The device asks for the next step when it has taken all
 * commands of the last, so what is kept per program is the program's own state and one step, not a
 * stack. With thousands of PEs that is the difference between what stays in the cache and what does
 * not.
 *
 * <p>Programs of different PEs may be asked by different threads at the same time, each by one at a
 * time; they share nothing that changes.
 */
public interface Steps extends Runnable {
  /**
   * Says the commands of the next step, which may be none: a program without work has one step that
   * says nothing.
   *
   * @return whether there is another one
   */
  boolean next();

  /** Says all steps that are left. */
  @Override
  default void run() {
    boolean more = true;
    while (more) {
      more = next();
    }
  }
}
