package org.kernbench.machine.spec;

/** What a link joins. All links of one kind are alike, but those that a machine makes different. */
public enum LinkKind {
  /** Router to router inside a cube. */
  NOC,
  /** PE to its router. */
  PE_TO_ROUTER,
  /** Router to PE; its latency includes writing the TCM. */
  ROUTER_TO_PE,
  /** HBM controller of one PE to or from that PE's router. */
  HBM_LINK,
  /** The HBM slice itself: half duplex, one id for reads and writes; the access latency is here. */
  HBM_PORT,
  /** SRAM controller to or from its router. */
  SRAM_LINK,
  /** The SRAM itself: half duplex, one id for reads and writes; the access latency is here. */
  SRAM_PORT,
  /** Management CPU to or from its router. */
  M_CPU_LINK,
  /** Edge router to the facing edge router of the next cube (die to die). */
  CUBE_TO_CUBE,
  /** Edge router of an outer cube to or from the IO chiplet of that side. */
  CUBE_TO_IO,
  /** IO chiplet to IO chiplet of another package, or to or from the switch; or NIC to NIC. */
  SIP_TO_SIP,
  /** IO chiplet to or from the NIC of its package. */
  SIP_TO_NIC,
  /** A NIC: from its packages to its port, or from there to its packages. */
  NIC,
  /** Host to or from the northern IO chiplet of a package. */
  HOST_LINK;

  /** True for what joins packages to each other: links, NICs, and links to them. */
  public boolean isBetweenSips() {
    return this == SIP_TO_SIP || this == SIP_TO_NIC || this == NIC;
  }

  /** True for the half-duplex port of a memory. */
  public boolean isMemoryPort() {
    return this == HBM_PORT || this == SRAM_PORT;
  }
}
