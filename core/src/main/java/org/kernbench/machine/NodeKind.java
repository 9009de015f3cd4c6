package org.kernbench.machine;

/** What a node is. */
public enum NodeKind {
  /** Router of a cube's mesh. */
  ROUTER,
  /** Processing element, with its TCM. */
  PE,
  /** Controller of one PE's HBM slice. */
  HBM_CONTROLLER,
  /** One PE's slice of HBM. */
  HBM,
  /** Controller of a cube's shared SRAM. */
  SRAM_CONTROLLER,
  /** A cube's shared SRAM. */
  SRAM,
  /** A cube's management CPU. */
  M_CPU,
  /** IO chiplet on one side of a package. */
  IO,
  /** The host. */
  HOST,
  /** The switch of a switch network. */
  SWITCH,
  /** A network interface of a node, or its port to the network. */
  NIC
}
