package org.kernbench.device;

import org.kernbench.device.fabric.FabricRoute;

/** A command that moves bytes over the fabric. */
abstract class TransferOp extends Op {
  /** What it has waited for others on its way. */
  long contentionPs;

  /** What its bytes take on the narrowest link of the way. */
  long serialisationPs;

  /** The link that counts: the narrowest, or where it met others; -1 before it moves. */
  int link;

  TransferOp(int index, ProcessingElement pe) {
    super(index, pe);
  }

  /** Notes the way that the bytes take: its narrowest link unless contention names another. */
  void moves(FabricRoute route, long serialPs) {
    serialisationPs = serialPs;
    if (link < 0) {
      link = route.narrowestLink;
    }
  }

  /** The tail of a part of it has entered the first link, where somebody has asked for that. */
  abstract void injected(long timePs);

  /** The last byte of a part of it has crossed the fabric, in a world that need not be its PE's. */
  abstract void delivered(World here, long timePs);

  @Override
  void clear(Issuer of) {
    super.clear(of);
    contentionPs = 0;
    serialisationPs = 0;
    link = -1;
  }
}
