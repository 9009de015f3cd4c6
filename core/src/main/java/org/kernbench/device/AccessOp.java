package org.kernbench.device;

import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.memory.CountedLanes;
import org.kernbench.device.memory.PageMap;
import org.kernbench.device.memory.Region;

/** A load or store. The bools of its mask, if it has one, are operand b. */
final class AccessOp extends TransferOp {
  private @Nullable Region region;

  /** Where its bytes are: the first one, and the memory that has them all. */
  long physical;

  int memory;

  /** The range of virtual addresses that it was given; null for a physical one. */
  PageMap.@Nullable Range range;

  /** What it took to translate that. */
  long translatePs;

  /** Which byte of the register it begins to fill. */
  int outOffset;

  /** Which lanes count; null if all do. */
  @Nullable LaneMask mask;

  /** First lane of the command in the mask. */
  int firstLane;

  /** Its place in the order in which the PE's loads and stores were issued. */
  long order;

  /** The earlier access to the same bytes that had to end first, and when it did; -1 if none. */
  int blocker;

  long unblockedPs;

  /** What the answer takes. */
  long replyPs;

  // neighbours in the list of those under way
  @Nullable AccessOp before;
  @Nullable AccessOp after;

  AccessOp(int index, ProcessingElement pe) {
    super(index, pe);
  }

  void accesses(Region bytesOf) {
    region = bytesOf;
  }

  Region region() {
    Region r = region;
    if (r == null) {
      throw new IllegalStateException("operation " + id + " moves no memory");
    }
    return r;
  }

  private Watch.Access seen(long endPs) {
    return new Watch.Access(
        out,
        out.producers == 1,
        kind() == OpKind.STORE,
        bytes,
        startPs,
        endPs,
        line,
        physical,
        range,
        region(),
        mask == null ? null : lanes(mask),
        firstLane);
  }

  /** The lanes that its mask counts. */
  CountedLanes lanes(LaneMask of) {
    return of.lanes(b.data(), b.dataOffset());
  }

  @Override
  void tells(Watch watch, long endPs) {
    watch.accessed(issuer().port(), seen(endPs));
  }

  @Override
  void injected(long timePs) {
    throw new IllegalStateException("bug: nobody asked");
  }

  @Override
  void delivered(World here, long timePs) {
    here.accessedAt(kind() == OpKind.LOAD ? timePs : timePs + replyPs, this);
  }

  /** Whether it touches bytes that another access touches; gaps between rows count as touched. */
  boolean overlaps(AccessOp other) {
    return bytes > 0
        && other.bytes > 0
        && physical < other.physical + other.region().extent()
        && other.physical < physical + region().extent()
        && !areColumnsApart(other);
  }

  /** Whether both are blocks of one matrix whose columns do not meet, although their spans do. */
  private boolean areColumnsApart(AccessOp other) {
    long stride = region().rows() > 1 ? region().strideBytes() : other.region().strideBytes();
    boolean sameMatrix =
        (region().rows() <= 1 || region().strideBytes() == stride)
            && (other.region().rows() <= 1 || other.region().strideBytes() == stride);
    if (!sameMatrix || region().rowBytes() > stride || other.region().rowBytes() > stride) {
      return false;
    }
    long apart = Math.floorMod(other.physical - physical, stride);
    return apart >= region().rowBytes() && apart + other.region().rowBytes() <= stride;
  }

  @Override
  void clear(Issuer of) {
    super.clear(of);
    region = null;
    range = null;
    translatePs = 0;
    outOffset = 0;
    mask = null;
    firstLane = 0;
    blocker = -1;
    unblockedPs = -1;
  }
}
