package org.kernbench.torch;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.machine.Pe;
import org.kernbench.torch.placement.Device;
import org.kernbench.torch.placement.ShardSpec;

/**
 * One place on every device: the lane of a collective that its PEs there make up.
 *
 * @param cube from the device's first cube on
 * @param pe from the device's first PE on, in the cube
 */
record Lane(int cube, int pe) {
  /** The lane of a device's lead PE. */
  static final Lane LEAD = new Lane(0, 0);

  /** By shard, its lane. The tensor lies on the device. */
  static List<Lane> of(Tensor tensor, Device device) {
    List<ShardSpec> specs = tensor.shardSpecs();
    if (specs.size() == 1) {
      return List.of(of(specs.getFirst(), device));
    }
    List<Lane> lanes = new ArrayList<>(specs.size());
    for (ShardSpec spec : specs) {
      lanes.add(of(spec, device));
    }
    return lanes;
  }

  static Lane of(ShardSpec spec, Device device) {
    Pe lead = device.lead();
    Lane lane = new Lane(spec.cube() - lead.cube(), spec.pe() - lead.pe());
    return lane.equals(LEAD) ? LEAD : lane;
  }

  /** Whether a shard lies on a device. */
  static boolean isOn(ShardSpec spec, Device device) {
    Pe lead = device.lead();
    int cube = spec.cube() - lead.cube();
    int pe = spec.pe() - lead.pe();
    return spec.sip() == lead.sip()
        && cube >= 0
        && cube < device.cubes()
        && pe >= 0
        && pe < device.pes();
  }

  /** Its PE on a device. */
  Pe on(Device device) {
    Pe lead = device.lead();
    return new Pe(lead.sip(), lead.cube() + cube, lead.pe() + pe);
  }
}
