package org.kernbench.device.log;

import java.util.List;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Overhead;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.SlotCost;

/**
 * What a stretch of simulated time was spent on, as a function of the machine: the same event on
 * another machine of the same structure would take {@link #on} that machine. The simulator charges
 * nothing else, so the costs along a critical path sum to its length, to the picosecond; summed for
 * a machine that differs in one value they say what that value is worth.
 */
public sealed interface Cost {
  /** Picoseconds on a machine. */
  long on(Machine machine);

  /** The latency of a link, the node that it enters included. */
  record LinkLatency(int link) implements Cost {
    @Override
    public long on(Machine machine) {
      return machine.specOf(link).latencyPs();
    }
  }

  /** A host's launch on its way to the farthest of these PEs. */
  record LaunchCall(List<Pe> pes) implements Cost {
    /** Copies the list. */
    public LaunchCall {
      pes = List.copyOf(pes);
    }

    @Override
    public long on(Machine machine) {
      long farthest = 0;
      for (Pe pe : pes) {
        farthest = Math.max(farthest, machine.controlLatencyPs(pe));
      }
      return farthest;
    }
  }

  /** A chunk entering a link. */
  record LinkBytes(int link, long bytes) implements Cost {
    @Override
    public long on(Machine machine) {
      return machine.specOf(link).rate().durationPs(bytes);
    }
  }

  /** The command of a read on its way to a memory. */
  record Request(Pe pe, int memory) implements Cost {
    @Override
    public long on(Machine machine) {
      return machine.route(machine.peNode(pe), memory).requestPs();
    }
  }

  /** The acknowledgement of a write on its way back. */
  record Reply(Pe pe, int memory) implements Cost {
    @Override
    public long on(Machine machine) {
      return machine.route(memory, machine.peNode(pe)).replyPs();
    }
  }

  /** Commands that a CPU issues one after the other. */
  record Dispatch(long commands) implements Cost {
    @Override
    public long on(Machine machine) {
      return commands * machine.pe().cpu().dispatchPs();
    }
  }

  /** Tile commands that a scheduler issues one after the other. */
  record TileDispatch(long commands) implements Cost {
    @Override
    public long on(Machine machine) {
      return commands * machine.pe().cpu().schedulerDispatchPs();
    }
  }

  /** The set-up of a DMA. */
  record DmaSetup() implements Cost {
    @Override
    public long on(Machine machine) {
      return machine.pe().dma().setupPs();
    }
  }

  /** Translations that the TLB of a PE did not hold. */
  record Translation(long misses) implements Cost {
    @Override
    public long on(Machine machine) {
      return misses * machine.pe().mmu().missPs();
    }
  }

  /** What a message costs its channel before its first byte leaves, by one cause. */
  record MessageOverhead(Overhead overhead) implements Cost {
    @Override
    public long on(Machine machine) {
      return overhead.ps(machine);
    }
  }

  /** What a NIC does for a message before the first byte enters it. */
  record NicMessage(int link) implements Cost {
    @Override
    public long on(Machine machine) {
      return machine.messagePs(link);
    }
  }

  /**
   * A sum in a switch that adds up at less than the rate of its ports, at a share of the slowest.
   *
   * @param ports links to the switch
   * @param bytes of the sum
   */
  record SwitchSum(List<Integer> ports, long bytes) implements Cost {
    /** Copies the list. */
    public SwitchSum {
      ports = List.copyOf(ports);
    }

    @Override
    public long on(Machine machine) {
      return ports.stream()
          .flatMap(port -> machine.sumRate(port).stream())
          .mapToLong(rate -> rate.durationPs(bytes))
          .max()
          .orElse(0);
    }
  }

  /** A credit on its way from the receiver of a message back to its sender. */
  record CreditReturn(Pe from, Pe to) implements Cost {
    @Override
    public long on(Machine machine) {
      IpcqSpec ipcq = machine.ipcq();
      return machine.route(from, to).alonePs(ipcq.creditBytes()) + ipcq.creditOverheadPs();
    }
  }

  /** The copy of a fragment out of its slot in TCM: one read and one write of its port. */
  record SlotCopy(long bytes) implements Cost {
    @Override
    public long on(Machine machine) {
      return machine.pe().tcm().rate().durationPs(2 * bytes);
    }
  }

  /** One access to a slot on a machine with serial slot access. */
  record SlotAccess(BufferKind memory, long bytes) implements Cost {
    @Override
    public long on(Machine machine) {
      SlotCost cost = machine.ipcq().serialCost().get(memory);
      return cost == null ? 0 : cost.durationPs(bytes);
    }
  }

  /** A computation in a package. */
  record Compute(ComputeOp work, int sip) implements Cost {
    @Override
    public long on(Machine machine) {
      if (work instanceof ComputeOp.Elapsed time) {
        return time.from().flatMap(p -> p.on(machine)).map(ps -> Math.max(1, ps)).orElse(time.ps());
      }
      return new CostModel(machine.pe(sip)).durationPs(work);
    }
  }

  /** A product until its array is free for the next, which may be before its sums have left. */
  record Occupancy(ComputeOp work, int sip) implements Cost {
    @Override
    public long on(Machine machine) {
      return new CostModel(machine.pe(sip)).occupancyPs(work);
    }
  }

  /** Time that no value of the machine decides, such as the distance to the next poll. */
  record Fixed(long ps) implements Cost {
    @Override
    public long on(Machine machine) {
      return ps;
    }
  }
}
