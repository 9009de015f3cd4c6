package org.kernbench.torch.placement;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * The PEs of one device as a grid with named axes ({@code DeviceMesh} in PyTorch). Its places are
 * the device's PEs in structural order (cube, PE); the last axis runs quickest.
 *
 * @param device whose PEs they are
 * @param axes at least one, each name once; as many places as the device has PEs
 */
public record Mesh(Device device, List<Axis> axes) {
  /**
   * One direction of the grid.
   *
   * @param name for messages and reports
   * @param size places along it, at least 1
   */
  public record Axis(String name, int size) {
    /** Checks the size. */
    public Axis {
      if (size < 1) {
        throw new IllegalArgumentException("axis " + name + ": size " + size + "; expected >= 1");
      }
    }
  }

  /** Copies the list and checks the names. */
  public Mesh {
    axes = List.copyOf(axes);
    if (axes.isEmpty() || axes.stream().map(Axis::name).distinct().count() != axes.size()) {
      throw new IllegalArgumentException(
          "mesh of axes " + axes + "; expected at least one, each name once");
    }
    if (size(axes) != device.cubes() * device.pes()) {
      throw new IllegalArgumentException(
          "mesh %s has %s places, but %s has %s PEs; expected as many"
              .formatted(text(axes), size(axes), device, device.cubes() * device.pes()));
    }
  }

  /**
   * The mesh of a device: {@code row} and {@code col} of its cubes, {@code pe} in a cube. A device
   * that is one cube has 1 x 1 of them, one that is a PE 1 x 1 x 1.
   */
  public static Mesh of(Machine machine, Device device) {
    boolean whole = device.cubes() == machine.cubesPerSip();
    return new Mesh(
        device,
        List.of(
            new Axis("row", whole ? machine.cubeMeshHeight() : device.cubes()),
            new Axis("col", whole ? machine.cubeMeshWidth() : 1),
            new Axis("pe", device.pes())));
  }

  /** How many places it has. */
  public int size() {
    return size(axes);
  }

  private static int size(List<Axis> axes) {
    int size = 1;
    for (Axis axis : axes) {
      size = Math.multiplyExact(size, axis.size);
    }
    return size;
  }

  /** The PEs, by place. */
  public List<Pe> pes() {
    List<Pe> pes = new ArrayList<>(size());
    for (int place = 0; place < size(); place++) {
      pes.add(pe(place));
    }
    return pes;
  }

  /** The PE at a place. */
  public Pe pe(int place) {
    Pe lead = device.lead();
    return new Pe(lead.sip(), lead.cube() + place / device.pes(), lead.pe() + place % device.pes());
  }

  /** The place of a PE; -1 if it is none of them. */
  public int placeOf(Pe pe) {
    Pe lead = device.lead();
    int cube = pe.cube() - lead.cube();
    int inCube = pe.pe() - lead.pe();
    boolean inside =
        pe.sip() == lead.sip()
            && cube >= 0
            && cube < device.cubes()
            && inCube >= 0
            && inCube < device.pes();
    return inside ? cube * device.pes() + inCube : -1;
  }

  /** Where a place is along each axis. */
  public List<Integer> coordinate(int place) {
    List<Integer> at = new ArrayList<>();
    int rest = place;
    for (Axis axis : axes.reversed()) {
      at.addFirst(rest % axis.size);
      rest /= axis.size;
    }
    return at;
  }

  /** For example {@code row 4 x col 4 x pe 8}. */
  @Override
  public String toString() {
    return text(axes);
  }

  private static String text(List<Axis> axes) {
    return axes.stream().map(a -> a.name + " " + a.size).collect(Collectors.joining(" x "));
  }
}
