package org.kernbench.ccl;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueProgram;
import org.kernbench.device.QueueProgram.Step;
import org.kernbench.device.QueueProgram.Verb;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.SlotAccess;
import org.kernbench.tl.LaunchGrid;
import org.kernbench.tl.Tl;
import org.kernbench.torch.collective.CollectiveCall;

/**
 * The least slots per direction that the kernels of a call need where each PE finishes a command
 * before it issues the next, for any algorithm: its kernels are followed, message by message, with
 * ever more slots until all come to their end.
 *
 * <p>Which rank goes first does not matter: messages do not overtake and nobody looks at who is
 * first, so if one order of events ends all do (a Kahn network with bounded channels).
 */
public final class SlotWalk {
  private final List<List<Step>> programs;
  private final IpcqSpec spec;
  private final int channelCount;
  private final int[] channelOf; // by queue end
  private final int[][] slotsOf; // by the end at which is sent, those whose slots it takes
  private final int[][] sentAt; // by the end at which something arrives, those at which it is sent

  private SlotWalk(List<List<Step>> programs, QueuePlan plan, int channelCount) {
    this.programs = programs;
    this.spec = plan.spec();
    this.channelCount = channelCount;
    this.channelOf = Arrays.stream(plan.places()).map(place -> place % channelCount).toArray();
    int ends = channelOf.length;
    this.slotsOf = IntStream.range(0, ends).mapToObj(plan::slotsOf).toArray(int[][]::new);
    this.sentAt = IntStream.range(0, ends).mapToObj(plan::sentAt).toArray(int[][]::new);
  }

  /**
   * The least slots of a program; empty if a kernel looks at data, or if no number is enough.
   *
   * @param plan the queues that it uses
   */
  public static OptionalInt least(
      Group group, QueuePlan plan, Schedule.RankProgram program, CollectiveCall call) {
    Reduction reduction = new Reduction(call.reduce(), group.size());
    LaunchGrid grid = new LaunchGrid(0, group.machine().sips());
    List<List<Step>> programs = new ArrayList<>();
    int messages = 1;
    for (int rank = 0; rank < group.size(); rank++) {
      int r = rank;
      Optional<List<Step>> steps =
          QueueProgram.of(
              group.machine(),
              group.lead(rank),
              plan,
              port -> () -> program.run(new Tl(port, grid), r, Payload.of(call, r), reduction));
      if (steps.isEmpty()) {
        return OptionalInt.empty();
      }
      programs.add(steps.get());
      messages += (int) steps.get().stream().filter(s -> s.verb() == Verb.SEND).count();
    }
    SlotWalk walk = new SlotWalk(programs, plan, group.machine().pe().dma().messageChannels());
    for (int slots = 1; slots <= messages; slots += slots < 64 ? 1 : slots / 8) {
      if (walk.ends(slots)) {
        return OptionalInt.of(slots);
      }
    }
    return OptionalInt.empty();
  }

  private boolean ends(int slots) {
    Queue[] queues = new Queue[channelOf.length];
    Arrays.setAll(queues, id -> new Queue());
    for (int id = 0; id < queues.length; id++) {
      queues[id].slotsOf = Arrays.stream(slotsOf[id]).mapToObj(end -> queues[end]).toList();
      queues[id].sentAt = Arrays.stream(sentAt[id]).mapToObj(end -> queues[end]).toList();
    }
    List<Rank> ranks = new ArrayList<>();
    for (List<Step> steps : programs) {
      ranks.add(new Rank(steps, queues, slots));
    }
    boolean moved = true;
    while (moved) {
      moved = false;
      for (Rank rank : ranks) {
        moved |= rank.goOn();
      }
    }
    return ranks.stream().allMatch(Rank::isDone);
  }

  /**
   * What is sent at one end of a connection and what arrives there, with the slots that it takes.
   */
  private static final class Queue {
    int sent;
    int taken;

    /** Whose slots what is sent here takes. */
    List<Queue> slotsOf = List.of();

    /** Where what arrives here is sent; of a switch's sums, where each part of them is. */
    List<Queue> sentAt = List.of();

    /** By number of the fragment, whether its slot is free again. */
    final BitSet freed = new BitSet();

    /** Fragments that the receive under way has taken. */
    int begun;

    /** Receives beside the program, in order; each waits for the one before. */
    final ArrayDeque<Step> pending = new ArrayDeque<>();

    /** Slots are used in turn: the next fragment needs the one of {@code slots} fragments ago. */
    boolean hasCredit(int slots) {
      return sent < slots || slotsOf.stream().allMatch(q -> q.freed.get(sent - slots));
    }

    /** Whether there is a fragment that has not been taken. */
    boolean hasMore() {
      return sentAt.stream().allMatch(q -> taken < q.sent);
    }
  }

  /** A message channel: the message that it is at, and how many fragments of it are to go. */
  private static final class Sending {
    Queue to = new Queue();
    int left;
  }

  /** A rank on its way through its steps. */
  private final class Rank {
    private final List<Step> steps;
    private final Queue[] queues;
    private final int slots;
    private final boolean[] here; // by value: whether its message has been taken
    private final int[] queueOf; // by value in a slot: its queue
    private final int[] slotOf; // and the number of its fragment; -1 if it is in none
    private final boolean[] released;
    private final List<Queue> waiting = new ArrayList<>(); // with pending receives
    private int at;
    private final Sending[] channels;

    Rank(List<Step> steps, Queue[] queues, int slots) {
      this.steps = steps;
      this.queues = queues;
      this.slots = slots;
      int values = 1 + steps.stream().mapToInt(Step::value).max().orElse(-1);
      this.here = new boolean[values];
      this.queueOf = new int[values];
      this.slotOf = new int[values];
      Arrays.fill(slotOf, -1);
      this.channels = new Sending[channelCount];
      Arrays.setAll(channels, c -> new Sending());
      this.released = new boolean[values];
    }

    boolean isDone() {
      return at == steps.size();
    }

    boolean goOn() {
      int before = at;
      boolean moved = workBeside();
      while (at < steps.size() && step(steps.get(at))) {
        at++;
        moved |= workBeside();
      }
      return moved || at > before;
    }

    /** What goes on while the program waits: messages that have begun, and receives beside it. */
    private boolean workBeside() {
      boolean moved = takeBeside();
      for (Sending channel : channels) {
        moved |= send(channel);
      }
      return moved;
    }

    private boolean send(Sending channel) {
      int before = channel.left;
      while (channel.left > 0 && channel.to.hasCredit(slots)) {
        channel.to.sent++;
        channel.left--;
      }
      return channel.left < before;
    }

    private boolean takeBeside() {
      boolean moved = false;
      for (Queue queue : waiting) {
        while (!queue.pending.isEmpty() && queue.hasMore()) {
          Step receive = queue.pending.peek();
          if (take(receive, queue)) {
            queue.pending.remove();
          }
          moved = true;
        }
      }
      waiting.removeIf(queue -> queue.pending.isEmpty());
      return moved;
    }

    /** Whether it is done. */
    private boolean step(Step s) {
      switch (s.verb()) {
        case SEND -> {
          Sending channel = channels[channelOf[s.queue()]];
          Queue to = queues[s.queue()];
          if (channel.left > 0 || !to.hasCredit(slots)) {
            return false;
          }
          channel.to = to;
          channel.left = fragments(s);
          return send(channel);
        }
        case RECEIVE -> {
          Queue from = queues[s.queue()];
          while (from.pending.isEmpty() && from.hasMore()) {
            if (take(s, from)) {
              return true;
            }
          }
          return false;
        }
        case RECEIVE_ASYNC -> {
          Queue from = queues[s.queue()];
          from.pending.add(s);
          if (!waiting.contains(from)) {
            waiting.add(from);
          }
          return true;
        }
        case READ -> {
          return here[s.value()];
        }
        case RELEASE -> {
          released[s.value()] = true;
          free(s.value());
          return true;
        }
      }
      throw new AssertionError(s.verb());
    }

    /** Takes a fragment; whether it is the last of its message. */
    private boolean take(Step receive, Queue queue) {
      int fragment = queue.taken++;
      queue.begun++;
      if (!receive.copy() && isUsableInPlace(receive.bytes())) {
        queueOf[receive.value()] = receive.queue();
        slotOf[receive.value()] = fragment;
      } else {
        queue.freed.set(fragment);
      }
      if (queue.begun < fragments(receive)) {
        return false;
      }
      queue.begun = 0;
      here[receive.value()] = true;
      if (released[receive.value()]) {
        free(receive.value());
      }
      return true;
    }

    private void free(int value) {
      if (slotOf[value] >= 0) {
        queues[queueOf[value]].freed.set(slotOf[value]);
        slotOf[value] = -1;
      }
    }
  }

  private int fragments(Step message) {
    return Math.toIntExact(Math.max(1, Math.ceilDiv(message.bytes(), spec.slotBytes())));
  }

  private boolean isUsableInPlace(int bytes) {
    return spec.slotAccess() == SlotAccess.STREAMED
        && spec.bufferKind() == BufferKind.TCM
        && bytes <= spec.slotBytes();
  }
}
