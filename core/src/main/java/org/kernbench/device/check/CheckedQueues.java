package org.kernbench.device.check;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.IpcqSpec;

/** The message queues of a set under a {@link Checker}: who sent what, and who has taken it. */
final class CheckedQueues {
  private final Queue[] queues;
  private final IpcqSpec spec;

  CheckedQueues(QueuePlan plan) {
    this.spec = plan.spec();
    List<QueuePlan.Connection> all = plan.connections();
    Map<QueuePlan.SwitchSum, Sums> sums = new HashMap<>();
    this.queues = new Queue[2 * all.size()];
    for (int i = 0; i < all.size(); i++) {
      QueuePlan.Connection c = all.get(i);
      Sums own = c.sums().map(s -> sums.computeIfAbsent(s, Sums::new)).orElse(null);
      queues[2 * i] = new Queue(c.a(), c.aDirection(), c.b(), c.bDirection(), own);
      if (own != null && own.of.takers().contains(c.b())) {
        own.takers.add(queues[2 * i]);
      }
      queues[2 * i + 1] = new Queue(c.b(), c.bDirection(), c.a(), c.aDirection(), null);
    }
  }

  /** What a PE sends through the end of this id; the ends of a connection differ in one bit. */
  Queue from(int end) {
    return queues[end];
  }

  /** What a PE receives at the end of this id. */
  Queue to(int end) {
    return queues[end ^ 1];
  }

  Queue[] all() {
    return queues;
  }

  /** What a switch makes: by number, the moment at which all givers have given to it. */
  private static final class Sums {
    final QueuePlan.SwitchSum of;

    /** By which what is made arrives. */
    final List<Queue> takers = new ArrayList<>();

    private final Map<Long, OrderPoint> all = new HashMap<>();
    private final Map<Long, Integer> given = new HashMap<>();

    Sums(QueuePlan.SwitchSum of) {
      this.of = of;
    }

    /** A giver gives its part at {@code moment}; the first to a sum tells those that get it. */
    void gives(long number, OrderPoint moment) {
      OrderPoint point = all.computeIfAbsent(number, n -> new OrderPoint(null, 0, null));
      point.after(moment);
      int givers = given.merge(number, 1, Integer::sum);
      if (givers == 1) {
        takers.forEach(taker -> taker.comes(point));
      }
      if (givers == of.givers().size()) {
        all.remove(number);
        given.remove(number);
      }
    }
  }

  /** A message that has arrived. */
  record Arrival(String kernel, String line, int bytes, long timePs) {}

  /** One direction of a connection. */
  final class Queue {
    final Pe sender;
    final String senderDirection;
    final Pe receiver;
    final String receiverDirection;

    private final @Nullable Sums sums;

    private final ArrayDeque<OrderPoint> sends = new ArrayDeque<>();
    private final ArrayDeque<OrderPoint> receives = new ArrayDeque<>();
    private @Nullable OrderPoint lastSend;
    private @Nullable OrderPoint lastReceive;
    private long fragmentsSent;
    private long fragmentsReceived;

    /** When a slot was given back, by the fragment that was in it. */
    private final Map<Long, OrderPoint> freed = new HashMap<>();

    // for reports
    long sent;
    long received;
    private final ArrayDeque<Arrival> arrivals = new ArrayDeque<>();
    private long forgotten;
    @Nullable Arrival lastArrival;
    String lastReceiveLine = "";
    String lastReceiveKernel = "";

    Queue(
        Pe sender,
        String senderDirection,
        Pe receiver,
        String receiverDirection,
        @Nullable Sums sums) {
      this.sums = sums;
      this.sender = sender;
      this.senderDirection = senderDirection;
      this.receiver = receiver;
      this.receiverDirection = receiverDirection;
    }

    private int fragments(int bytes) {
      return Math.toIntExact(Math.max(1, Math.ceilDiv(bytes, spec.slotBytes())));
    }

    /** The next message is sent at {@code moment}: after earlier ones, and when slots are free. */
    void sends(OrderPoint moment, int bytes) {
      moment.after(lastSend);
      lastSend = moment;
      long first = fragmentsSent;
      fragmentsSent += fragments(bytes);
      if (hasOwnSlots()) { // whose slots are with others is after them too, which is not looked at
        for (long k = Math.max(0, first - spec.slots()); k < first; k++) {
          if (k + spec.slots() < fragmentsSent) {
            moment.after(freed(k));
          }
        }
      }
      long number = sent++;
      if (sums == null) {
        comes(moment);
      } else {
        sums.gives(number, moment);
      }
    }

    /** Whether a sender's messages take the slots of its own connection. */
    private boolean hasOwnSlots() {
      return sums == null || (!senderDirection.isEmpty() && !receiverDirection.isEmpty());
    }

    /** A message is under way that is there when {@code arrives} is over. */
    private void comes(OrderPoint arrives) {
      OrderPoint waiting = receives.poll();
      if (waiting == null) {
        sends.add(arrives);
      } else {
        waiting.after(arrives);
      }
    }

    /**
     * The next message is received at {@code moment}.
     *
     * @return the moment at which its slot is free, if the value stays in it; else null
     */
    @Nullable OrderPoint receives(OrderPoint moment, int bytes, boolean inPlace) {
      moment.after(lastReceive);
      lastReceive = moment;
      received++;
      OrderPoint message = sends.poll();
      if (message == null) {
        receives.add(moment);
      } else {
        moment.after(message);
      }
      if (inPlace) {
        long fragment = fragmentsReceived++;
        return hasOwnSlots() ? freed(fragment) : new OrderPoint(null, 0, null);
      }
      for (int i = fragments(bytes); i > 0 && hasOwnSlots(); i--) {
        freed(fragmentsReceived++).after(moment);
      }
      return null;
    }

    /** The send of the next message that nobody has asked for yet; null if it is still to come. */
    @Nullable OrderPoint nextSend() {
      return sends.peek();
    }

    /** Sender and receiver ask once each, in any order; the second finds what the first made. */
    private OrderPoint freed(long fragment) {
      OrderPoint moment = freed.remove(fragment);
      if (moment == null) {
        moment = new OrderPoint(null, 0, null);
        freed.put(fragment, moment);
      }
      return moment;
    }

    /** A message has arrived: a giver's where its switch hands out, but a sum only at its own. */
    void arrived(Arrival arrival) {
      if (sums == null || (!sums.of.isCopy() && !receiverDirection.isEmpty())) {
        lies(arrival);
      } else if (sums.of.isCopy()) {
        sums.takers.forEach(taker -> taker.lies(arrival));
      }
    }

    private void lies(Arrival arrival) {
      lastArrival = arrival;
      arrivals.add(arrival);
      while (forgotten < received && !arrivals.isEmpty()) {
        arrivals.remove();
        forgotten++;
      }
    }

    /** The first message that nobody has received; null if there is none. */
    @Nullable Arrival firstLeft() {
      for (; forgotten < received && !arrivals.isEmpty(); forgotten++) {
        arrivals.remove();
      }
      return arrivals.peek();
    }
  }
}
