package org.kernbench.device.fabric;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.spec.RouterAllocator;
import org.kernbench.machine.spec.RouterSpec;

/**
 * Who gets what in one router in one cycle: first virtual channels of the links that leave it, then
 * the way through its switch. Inputs are the buffers at the ends of the links that enter it, and
 * the sources of links that leave it.
 */
final class Router {
  /** What the router asks and tells the links. */
  interface Links {
    /** The link, by its place among the outputs of its router, that a packet takes next. */
    int outputOf(BufferedPacket packet, int hop);

    /** The first virtual channel that it may have there, and the number of them. */
    int firstChannel(BufferedPacket packet, int hop);

    int channelCount(BufferedPacket packet, int hop);

    /** The cycle from which a channel may be given; {@link #NEVER} while somebody has it. */
    long freeCycle(int channel);

    void give(int channel, RouterInput input);

    /** Whether there is room for a flit at the end of its channel. */
    boolean hasRoom(RouterInput input);

    /** When a link can take a flit that is given the switch in a cycle. */
    long freeCycle(int link, long cycle, boolean fromSource);

    /** Passes on the first flit of an input. */
    void send(RouterInput input, long cycle);
  }

  static final long NEVER = Long.MAX_VALUE;

  private final Links links;
  private final int vcs;
  private final boolean separable;
  private final int speedUp;
  private final int channelAllocation;
  final boolean isPipelined;

  /** Links that leave, by their places here. */
  private final int[] outputs;

  private final List<RouterInput> inputs = new ArrayList<>();
  private int ports;

  // whose turn it is: of the inputs for each channel, of the channels for each input, and so on
  private final int[] inputTurn;
  private int[] channelTurn = {};
  private final int[] portTurn;
  private int[] outputTurn = {};
  private int[] queueTurn = {};

  // of one cycle
  private RouterInput[] busy = {};
  private int busyCount;
  private RouterInput[] wants = {};
  private int[] wantedOutput = {};
  private int wanting;
  private final int[] granted;
  private final int[] chosen;
  private int[] matched = {};
  private boolean[] asks = {};
  private long nextCycle;

  /** When it is to be served again; the cycle in which it was served last. */
  long plannedCycle = NEVER;

  long servedCycle = -1;

  Router(Links links, RouterSpec spec, int vcs, int[] outputs, boolean isPipelined) {
    this.links = links;
    this.vcs = vcs;
    this.separable = spec.allocator() == RouterAllocator.SEPARABLE;
    this.speedUp = isPipelined ? spec.speedUp() : 1;
    this.channelAllocation = isPipelined ? spec.channelAllocation() : 0;
    this.isPipelined = isPipelined;
    this.outputs = outputs.clone();
    this.inputTurn = new int[outputs.length * vcs];
    this.granted = new int[outputs.length * vcs];
    this.portTurn = new int[outputs.length];
    this.chosen = new int[outputs.length];
  }

  /** One of the links that leave it. */
  int firstLink() {
    return outputs[0];
  }

  /** The buffers of another link that enters it: one for each of its channels. */
  List<RouterInput> addPort(int firstChannel) {
    List<RouterInput> added = new ArrayList<>();
    for (int vc = 0; vc < vcs; vc++) {
      added.add(new RouterInput(ports, inputs.size() + vc, vc, firstChannel + vc));
    }
    add(added);
    return added;
  }

  /** A source of a link that leaves it. */
  RouterInput addSource() {
    RouterInput source = new RouterInput(ports, inputs.size(), 0, RouterInput.NONE);
    add(List.of(source));
    return source;
  }

  private void add(List<RouterInput> port) {
    inputs.addAll(port);
    ports++;
    channelTurn = new int[inputs.size()];
    busy = new RouterInput[inputs.size()];
    wants = new RouterInput[inputs.size()];
    wantedOutput = new int[inputs.size()];
    outputTurn = new int[ports];
    queueTurn = new int[ports];
    matched = new int[ports];
    asks = new boolean[ports * outputs.length];
  }

  /**
   * Gives channels and the switch for one cycle.
   *
   * @return the next cycle in which something can happen if nothing arrives; {@link #NEVER}
   */
  long serve(long cycle) {
    nextCycle = NEVER;
    if (findWants(cycle)) {
      if (separable) {
        giveSeparably(cycle);
      } else {
        giveIdeally(cycle);
      }
    }
    for (int round = 0; round < speedUp; round++) {
      Arrays.fill(matched, RouterInput.NONE);
      if (!findAsks(cycle)) {
        break;
      }
      if (separable) {
        matchSeparably();
      } else {
        matchIdeally(cycle);
      }
      sendMatched(cycle);
    }
    return nextCycle;
  }

  private void notBefore(long cycle) {
    nextCycle = Math.min(nextCycle, cycle);
  }

  // ---- channels ----

  /** Finds the inputs that have something, and which of them want a channel. */
  private boolean findWants(long cycle) {
    busyCount = 0;
    wanting = 0;
    for (RouterInput in : inputs) {
      if (!in.hasArrived()) {
        continue;
      }
      busy[busyCount++] = in;
      if (in.given != RouterInput.NONE) {
        continue;
      }
      if (in.readyCycle > cycle) {
        notBefore(in.readyCycle);
      } else {
        wants[wanting] = in;
        wantedOutput[wanting++] = outputOf(in);
      }
    }
    return wanting > 0;
  }

  private boolean isFree(int channel, long cycle) {
    long from = links.freeCycle(channel);
    if (from > cycle) {
      notBefore(from);
    }
    return from <= cycle;
  }

  private boolean isWanted(int output) {
    for (int k = 0; k < wanting; k++) {
      if (wantedOutput[k] == output) {
        return true;
      }
    }
    return false;
  }

  /** Of the inputs that want a channel and may have it, the one whose turn is next. */
  private int inTurn(int output, int vc) {
    final int turn = inputTurn[output * vcs + vc];
    int best = RouterInput.NONE;
    int least = Integer.MAX_VALUE;
    for (int k = 0; k < wanting; k++) {
      int turns = Math.floorMod(wants[k].place - turn, inputs.size());
      if (wantedOutput[k] == output && turns < least && mayHave(wants[k], vc)) {
        least = turns;
        best = k;
      }
    }
    return best;
  }

  private boolean mayHave(RouterInput in, int vc) {
    int from = links.firstChannel(in.packet(), in.hop());
    return vc >= from && vc < from + links.channelCount(in.packet(), in.hop());
  }

  private void giveSeparably(long cycle) {
    for (int output = 0; output < outputs.length; output++) {
      boolean isWanted = isWanted(output);
      for (int vc = 0; vc < vcs; vc++) {
        boolean free = isWanted && isFree(outputs[output] * vcs + vc, cycle);
        granted[output * vcs + vc] = free ? inTurn(output, vc) : RouterInput.NONE;
      }
    }
    for (int k = 0; k < wanting; k++) {
      for (int j = 0; j < vcs && wantedOutput[k] != RouterInput.NONE; j++) {
        int vc = (channelTurn[wants[k].place] + j) % vcs;
        if (granted[wantedOutput[k] * vcs + vc] == k) {
          give(k, vc, cycle);
        }
      }
    }
  }

  private void giveIdeally(long cycle) {
    for (int output = 0; output < outputs.length; output++) {
      for (int vc = 0; vc < vcs && isWanted(output); vc++) {
        int k = isFree(outputs[output] * vcs + vc, cycle) ? inTurn(output, vc) : RouterInput.NONE;
        if (k != RouterInput.NONE) {
          give(k, vc, cycle);
        }
      }
    }
  }

  private void give(int k, int vc, long cycle) {
    RouterInput in = wants[k];
    int output = wantedOutput[k];
    inputTurn[output * vcs + vc] = in.place + 1;
    channelTurn[in.place] = vc + 1;
    in.given = outputs[output] * vcs + vc;
    in.readyCycle = cycle + (in.isSource() ? 0 : channelAllocation);
    links.give(in.given, in);
    wantedOutput[k] = RouterInput.NONE;
    notBefore(cycle + 1);
  }

  // ---- the switch ----

  /** Whether the first flit of an input can go through the switch in a cycle. */
  private boolean canGo(RouterInput in, long cycle) {
    if (!in.hasArrived() || in.given == RouterInput.NONE || !links.hasRoom(in)) {
      return false;
    }
    long free = Math.max(in.readyCycle, links.freeCycle(in.given / vcs, cycle, in.isSource()));
    if (free > cycle) {
      notBefore(free);
    }
    return free <= cycle;
  }

  private int outputOf(RouterInput in) {
    return links.outputOf(in.packet(), in.hop());
  }

  private boolean findAsks(long cycle) {
    boolean any = false;
    Arrays.fill(asks, false);
    for (int k = 0; k < busyCount; k++) {
      RouterInput in = busy[k];
      if (canGo(in, cycle)) {
        asks[in.port * outputs.length + outputOf(in)] = true;
        any = true;
      }
    }
    return any;
  }

  private void matchSeparably() {
    for (int output = 0; output < outputs.length; output++) {
      chosen[output] = RouterInput.NONE;
      for (int k = 0; k < ports && chosen[output] < 0; k++) {
        int port = (portTurn[output] + k) % ports;
        chosen[output] = asks[port * outputs.length + output] ? port : RouterInput.NONE;
      }
    }
    for (int port = 0; port < ports; port++) {
      for (int k = 0; k < outputs.length && matched[port] < 0; k++) {
        int output = (outputTurn[port] + k) % outputs.length;
        if (chosen[output] == port) {
          match(port, output);
        }
      }
    }
  }

  private void matchIdeally(long cycle) {
    for (int j = 0; j < outputs.length; j++) {
      int output = (int) ((j + cycle) % outputs.length);
      for (int k = 0; k < ports; k++) {
        int port = (portTurn[output] + k) % ports;
        if (matched[port] < 0 && asks[port * outputs.length + output]) {
          match(port, output);
          break;
        }
      }
    }
  }

  private void match(int port, int output) {
    matched[port] = output;
    portTurn[output] = port + 1;
    outputTurn[port] = output + 1;
  }

  /** Of the queues of each port that can go where it is matched, the one whose turn is next. */
  private void sendMatched(long cycle) {
    for (int k = 0; k < busyCount; ) {
      final int port = busy[k].port;
      @Nullable RouterInput best = null;
      int least = Integer.MAX_VALUE;
      for (; k < busyCount && busy[k].port == port; k++) {
        RouterInput in = busy[k];
        int turns = Math.floorMod(in.queue - queueTurn[port], vcs);
        if (turns < least && canGo(in, cycle) && outputOf(in) == matched[port]) {
          least = turns;
          best = in;
        }
      }
      if (best != null) {
        queueTurn[port] = best.queue + 1;
        links.send(best, cycle);
        notBefore(cycle + 1);
      }
    }
  }
}
