package org.kernbench.device.memory;

import java.util.HashMap;
import java.util.Map;
import org.kernbench.machine.AddressMap;
import org.kernbench.machine.Machine;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.Place;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.Loan;
import org.kernbench.tensor.SparseBytes;

/**
 * The bytes of every memory of the machine, by node; a memory that was never touched costs nothing.
 */
public final class Memories {
  private final AddressMap addresses;
  private final Machine machine;
  private final Map<Integer, SparseBytes> byNode = new HashMap<>();

  public Memories(Machine machine) {
    this.machine = machine;
    this.addresses = machine.addresses();
  }

  public Place place(PhysicalAddress address) {
    return addresses.decode(address);
  }

  public int node(PhysicalAddress address) {
    return addresses.decode(address).nodeId();
  }

  public void read(PhysicalAddress from, byte[] to, int offset, int bytes) {
    Place place = place(from);
    check(place, bytes, from);
    memory(place).read(place.offset(), to, offset, bytes);
  }

  public void write(PhysicalAddress to, byte[] from, int offset, int bytes) {
    Place place = place(to);
    check(place, bytes, to);
    memory(place).write(place.offset(), from, offset, bytes);
  }

  /** Writes bytes of a loan, of which whole pages are not copied. */
  public void lend(PhysicalAddress to, Loan loan, long from, long bytes) {
    Place place = place(to);
    check(place, bytes, to);
    memory(place).lend(place.offset(), loan, from, bytes);
  }

  /** Reads what a region has in one memory, from {@code physical} on. */
  public void read(long physical, Region region, byte[] to, int offset) {
    for (int row = 0; row < region.rows(); row++) {
      PhysicalAddress at = new PhysicalAddress(physical + row * region.strideBytes());
      read(at, to, offset + row * region.rowBytes(), region.rowBytes());
    }
  }

  /** Reads only the lanes of a region that a mask counts; the others get its value. */
  public void read(
      long physical, Region region, CountedLanes mask, int firstLane, byte[] to, int offset) {
    mask.fill(to, offset, region.bytes());
    mask.runs(
        region,
        firstLane,
        (at, value, bytes) -> read(new PhysicalAddress(physical + at), to, offset + value, bytes));
  }

  /** Writes only the lanes that a mask counts. */
  public void write(
      long physical, Region region, CountedLanes mask, int firstLane, byte[] from, int offset) {
    mask.runs(
        region,
        firstLane,
        (at, value, bytes) ->
            write(new PhysicalAddress(physical + at), from, offset + value, bytes));
  }

  /** Writes what a region has in one memory, from {@code physical} on. */
  public void write(long physical, Region region, byte[] from, int offset) {
    for (int row = 0; row < region.rows(); row++) {
      PhysicalAddress at = new PhysicalAddress(physical + row * region.strideBytes());
      write(at, from, offset + row * region.rowBytes(), region.rowBytes());
    }
  }

  public void erase(PhysicalAddress at, long bytes) {
    Place place = place(at);
    SparseBytes memory = byNode.get(place.nodeId());
    if (memory != null) {
      memory.erase(place.offset(), bytes);
    }
  }

  /**
   * How many of the bytes from {@code at} on have been written before the first that has not; -1 if
   * all have.
   */
  public long firstUnwritten(PhysicalAddress at, long bytes) {
    Place place = place(at);
    long found = memory(place).firstUnwritten(place.offset(), bytes);
    return found < 0 ? -1 : found - place.offset();
  }

  private SparseBytes memory(Place place) {
    return byNode.computeIfAbsent(place.nodeId(), n -> new SparseBytes(machine.memoryBytes(n)));
  }

  private void check(Place place, long bytes, PhysicalAddress address) {
    long size = machine.memoryBytes(place.nodeId());
    if (place.offset() + bytes > size) {
      throw new SimulationException(
          """
          access of %s bytes at offset %s of %s (%s) runs over its end; the memory has %s \
          bytes\
          """
              .formatted(
                  bytes, place.offset(), machine.node(place.nodeId()).name(), address, size));
    }
  }
}
