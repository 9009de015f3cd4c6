package org.kernbench.machine;

/**
 * Where a processing element is: its package, the cube inside it, the place inside the cube.
 *
 * @param sip package, from 0
 * @param cube cube in the package, row by row from the north-west, from 0
 * @param pe processing element in the cube, corner by corner (NW, NE, SW, SE), from 0
 */
public record Pe(int sip, int cube, int pe) {
  @Override
  public String toString() {
    return "sip" + sip + ".cube" + cube + ".pe" + pe;
  }
}
