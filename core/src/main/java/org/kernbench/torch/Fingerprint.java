package org.kernbench.torch;

/**
 * What all members of a group must agree on when they meet.
 *
 * @param op the method called
 * @param group name of the process group
 * @param sequence how many meetings of this group the rank has had before
 * @param operands what was given: a value that tells itself as text; empty text if nothing was
 */
record Fingerprint(String op, String group, int sequence, Object operands) {
  /** For example {@code allReduce #2 of group world: f32[8], SUM}. */
  @Override
  public String toString() {
    String what = operands.toString();
    return op + " #" + sequence + " of group " + group + (what.isEmpty() ? "" : ": " + what);
  }
}
