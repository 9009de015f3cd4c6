package org.kernbench.machine.spec;

/**
 * Nodes of packages, which reach packages of other nodes through network interfaces (NICs).
 *
 * <p>Package p of a node uses NIC {@code p / sharing()} of that node. A NIC takes what its packages
 * send as one stream, and what arrives for them as another.
 *
 * @param packages of a node, at least 1
 * @param nics of a node, at least 1; divides {@code packages}
 * @param inside how many dimensions of the network are inside a node: the first ones
 * @param nic rate and latency of a NIC, in each direction
 * @param messageOverheadPs what a NIC does for each message before it sends its first byte, ps
 * @param link between a package and its NIC, in each direction
 */
public record NodesSpec(
    int packages, int nics, int inside, LinkSpec nic, long messageOverheadPs, LinkSpec link) {

  /** How many packages share a NIC. */
  public int sharing() {
    return packages / nics;
  }
}
