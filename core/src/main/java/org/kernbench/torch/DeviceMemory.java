package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.kernbench.device.memory.AddressMapping;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.machine.Machine;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.torch.placement.HbmAllocator;
import org.kernbench.torch.placement.MemoryUse;
import org.kernbench.torch.placement.OutOfHbmException;
import org.kernbench.torch.placement.RangeAllocator;
import org.kernbench.torch.placement.ShardSpec;

/** Virtual addresses, and the HBM of each PE behind them. */
final class DeviceMemory implements TensorParts.Memory {
  private final Machine machine;
  private final Simulator simulator;
  private final Shortage shortage;
  private final HbmAllocator hbm;
  private final RangeAllocator virtual;
  private final TensorParts.Layouts layouts = new TensorParts.Layouts();
  private final Map<Tensor.Purpose, Long> byPurpose = new EnumMap<>(Tensor.Purpose.class);

  /**
   * All memory of a machine, free.
   *
   * @param shortage gives back what can be given back
   */
  DeviceMemory(Machine machine, Simulator simulator, Shortage shortage) {
    for (Tensor.Purpose each : Tensor.Purpose.values()) {
      byPurpose.put(each, 0L);
    }
    this.machine = machine;
    this.simulator = simulator;
    this.shortage = shortage;
    this.hbm = new HbmAllocator(machine.hbm().sizeBytes());
    this.virtual =
        new RangeAllocator(
            VirtualAddress.BASE, VirtualAddress.SPACE_BYTES, machine.pe().mmu().pageBytes());
  }

  MemoryUse use() {
    return new MemoryUse(hbm.mostUsed(), machine.hbm().sizeBytes(), hbm.byTensor());
  }

  /** Bytes that tensors hold with all copies, by what they are for. */
  Map<Tensor.Purpose, Long> byPurpose() {
    return Collections.unmodifiableMap(new EnumMap<>(byPurpose));
  }

  @Override
  public void count(Tensor.Purpose purpose, long bytes) {
    byPurpose.merge(purpose, bytes, Long::sum);
  }

  @Override
  public TensorParts.Layouts layouts() {
    return layouts;
  }

  /** Takes a contiguous range of virtual addresses. */
  @Override
  public VirtualAddress reserve(long bytes, String owner) {
    shortage.releaseWhatIsUnused();
    if (bytes == 0) {
      return new VirtualAddress(VirtualAddress.BASE);
    }
    return new VirtualAddress(
        virtual
            .allocate(bytes, owner)
            .orElseThrow(() ->
                new SimulationException(
                    "out of virtual addresses for tensor " + owner + ": " + virtual.describe())));
  }

  /** Gives back what {@link #reserve} returned. */
  @Override
  public void unreserve(VirtualAddress at, long bytes) {
    if (bytes > 0) {
      virtual.free(at.value());
    }
  }

  /**
   * Puts memory of each of these PEs behind virtual addresses.
   *
   * @throws OutOfHbmException naming what fills the slice of one of them; then none is taken
   */
  @Override
  public void allocate(String name, VirtualAddress at, long bytes, List<ShardSpec> copies) {
    if (bytes == 0) {
      return;
    }
    simulator.map(new AddressMapping(name, at, bytes, placed(name, bytes, copies)));
  }

  /** Memory on each of some PEs, if need be after waiting for what is on its way back. */
  private List<AddressMapping.Copy> placed(String name, long bytes, List<ShardSpec> copies) {
    while (true) {
      try {
        return placedAtOnce(name, bytes, copies);
      } catch (OutOfHbmException e) {
        if (!shortage.makesRoom()) {
          throw e;
        }
      }
    }
  }

  private List<AddressMapping.Copy> placedAtOnce(String name, long bytes, List<ShardSpec> copies) {
    List<AddressMapping.Copy> places = new ArrayList<>(copies.size());
    try {
      for (ShardSpec copy : copies) {
        long offset = hbm.allocate(copy.place(), bytes, name);
        places.add(
            new AddressMapping.Copy(copy.place(), machine.addresses().hbm(copy.place(), offset)));
      }
    } catch (OutOfHbmException e) {
      freeAll(places, bytes);
      throw e;
    }
    return places;
  }

  /** Gives back what {@link #allocate} took. */
  @Override
  public void free(VirtualAddress at, long bytes) {
    if (bytes > 0) {
      freeAll(simulator.unmap(at).copies(), bytes);
    }
  }

  private void freeAll(List<AddressMapping.Copy> copies, long bytes) {
    for (AddressMapping.Copy copy : copies) {
      simulator.erase(copy.address(), bytes);
      hbm.free(copy.pe(), machine.addresses().decode(copy.address()).offset(), bytes);
    }
  }
}
