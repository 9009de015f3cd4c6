package org.kernbench.torch;

/**
 * What all members of a group must agree on when they meet.
 *
 * @param op the method called
 * @param group name of the process group
 * @param sequence how many meetings of this group the rank has had before
 * @param operands dtype, shape, reduction, as text; empty if there are none
 */
record Fingerprint(String op, String group, int sequence, String operands) {
  /** For example {@code allReduce #2 of group world: f32[8], SUM}. */
  @Override
  public String toString() {
    return op
        + " #"
        + sequence
        + " of group "
        + group
        + (operands.isEmpty() ? "" : ": " + operands);
  }
}
