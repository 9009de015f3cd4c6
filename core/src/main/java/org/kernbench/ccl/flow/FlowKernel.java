package org.kernbench.ccl.flow;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.CallPacing;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.flow.Dataflow.Kind;
import org.kernbench.ccl.flow.Dataflow.Part;
import org.kernbench.ccl.flow.FlowSteps.Action;
import org.kernbench.ccl.flow.FlowSteps.Verb;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/**
 * The kernel of a {@link Dataflow}: every rank does its actions, chunk by chunk in the order of the
 * {@linkplain FlowPace pace}. Parts without elements are left out on both sides.
 *
 * <p>Small contributions that lie side by side are read with one command, because each costs the
 * DMA its set-up; but those sent first are not held up by others.
 */
final class FlowKernel implements Schedule.RankProgram {
  private static final int READ_BYTES = 16 << 10;

  private final FlowSteps steps;
  private final FlowCut cut;
  private final FlowPace pace;
  private final DType dtype;
  private final Optional<CallPacing> pacing;
  private final boolean stepsOfAll;

  FlowKernel(FlowSteps steps, FlowCut cut, FlowPace pace, DType dtype) {
    this(steps, cut, pace, dtype, Optional.empty(), false);
  }

  /**
   * @param pacing of the machine's collective library, if it has one
   * @param stepsOfAll whether what a rank sends at one step pays the latency of one step together
   */
  FlowKernel(
      FlowSteps steps,
      FlowCut cut,
      FlowPace pace,
      DType dtype,
      Optional<CallPacing> pacing,
      boolean stepsOfAll) {
    this.pacing = pacing;
    this.stepsOfAll = stepsOfAll;
    this.steps = steps;
    this.cut = cut;
    this.pace = pace;
    this.dtype = dtype;
  }

  @Override
  public void run(Tl tl, int rank, Payload vector, Reduction reduction) {
    new Rank(tl, rank, vector, reduction).run();
  }

  /** Contributions that one command reads. */
  private static final class Reading {
    final int number;
    int first;
    int end;
    int members;

    Reading(int number, Part part) {
      this.number = number;
      first = part.first;
      end = part.end();
      members = 1;
    }

    /** Takes a part in if it adjoins. */
    boolean add(Part part) {
      if (part.end() == first) {
        first = part.first;
      } else if (part.first == end) {
        end = part.end();
      } else {
        return false;
      }
      members++;
      return true;
    }
  }

  /** The values of a chunk that is under way at a rank. */
  private static final class Chunk {
    final @Nullable Value[] parts;
    final @Nullable Value[] readings;
    final int[] membersLeft;

    Chunk(int parts, List<Reading> readings) {
      this.parts = new Value[parts];
      this.readings = new Value[readings.size()];
      this.membersLeft = readings.stream().mapToInt(r -> r.members).toArray();
    }
  }

  private final class Rank {
    private final Tl tl;
    private final int rank;
    private final Payload vector;
    private final Reduction reduction;
    private final List<Reading> readings = new ArrayList<>();
    private final @Nullable Reading[] readingOf; // by local number of the part
    private final Map<Integer, Chunk> underWay = new HashMap<>();
    private final Optional<CallPacing.Copies> copies;
    private boolean stepPaid;

    Rank(Tl tl, int rank, Payload vector, Reduction reduction) {
      this.tl = tl;
      this.rank = rank;
      this.vector = vector;
      this.reduction = reduction;
      this.copies = stepsOfAll ? pacing.map(p -> p.new Copies(tl)) : Optional.empty();
      this.readingOf = new Reading[steps.flow().partsAt(rank)];
      groupReads();
    }

    private void groupReads() {
      Reading open = null;
      for (int step = 0; step < steps.steps(); step++) {
        for (Action a : steps.at(rank, step)) {
          if (a.verb() != Verb.READ) {
            continue;
          }
          Part p = a.part();
          if (open == null || !fits(open, p) || !open.add(p)) {
            open = new Reading(readings.size(), p);
            readings.add(open);
          }
          readingOf[p.local] = open;
        }
        if (step == 0) {
          open = null;
        }
      }
    }

    private boolean fits(Reading r, Part p) {
      int first = Math.min(r.first, p.first);
      int end = Math.max(r.end, p.end());
      for (int unit = first; unit < end - 1; unit++) {
        if (!cut.adjoins(unit)) {
          return false;
        }
      }
      return (long) cut.count(0, first, end - first) * dtype.sizeBytes() <= READ_BYTES;
    }

    void run() {
      pacing.ifPresent(p -> p.begin(tl));
      pace.forEach(steps.steps(), this::step);
    }

    private void step(int chunk, int step) {
      List<Action> actions = steps.at(rank, step);
      Chunk state = underWay.get(chunk);
      if (state == null) {
        if (actions.isEmpty() && step < steps.steps() - 1) {
          return; // not yet begun
        }
        state = new Chunk(steps.flow().partsAt(rank), readings);
        underWay.put(chunk, state);
      }
      stepPaid = false;
      for (Action a : actions) {
        act(chunk, state, a);
      }
      if (step == steps.steps() - 1) {
        underWay.remove(chunk);
      }
    }

    private void act(int chunk, Chunk state, Action a) {
      Part p = a.part();
      int count = cut.count(chunk, p.first, p.count);
      if (count == 0) {
        giveUp(state, a);
        return;
      }
      switch (a.verb()) {
        case READ -> read(chunk, state, p);
        case SEND -> {
          long bytes = (long) count * dtype.sizeBytes();
          boolean first = chunk == 0 && !(stepsOfAll && stepPaid);
          stepPaid = true;
          if (copies.isPresent()) {
            copies.get().beforeSend(bytes, first);
          } else {
            pacing.ifPresent(by -> by.beforeSend(tl, bytes, first));
          }
          tl.send(FlowSteps.direction(p.rank), value(chunk, state, p.source()));
        }
        case RECEIVE -> state.parts[p.local] = receive(a, count);
        case COMBINE ->
            state.parts[p.local] =
                reduction.combine(
                    value(chunk, state, p.from.get(0)), value(chunk, state, p.from.get(1)));
        case FINISH -> state.parts[p.local] = reduction.finish(tl, value(chunk, state, p.source()));
        case STORE ->
            vector.write(tl, cut.place(chunk, p.first), count, value(chunk, state, p.source()));
        case JOIN -> state.parts[p.local] = vector.readBack(tl, cut.place(chunk, p.first), count);
      }
      giveUp(state, a);
    }

    private void read(int chunk, Chunk state, Part p) {
      Reading r = reading(p);
      if (state.readings[r.number] == null) {
        state.readings[r.number] =
            vector.read(tl, cut.begin(chunk, r.first), cut.count(chunk, r.first, r.end - r.first));
      }
    }

    private Value receive(Action a, int count) {
      String direction = FlowSteps.direction(a.part().source().rank);
      Shape shape = Shape.of(count);
      return a.inPlace() && !(pace.copy() && a.part().step < steps.steps() - 1)
          ? tl.recvAsync(direction, shape, dtype)
          : tl.recvCopy(direction, shape, dtype);
    }

    private Reading reading(Part own) {
      Reading r = readingOf[own.local];
      if (r == null) {
        throw new IllegalStateException(own + " is used but not read");
      }
      return r;
    }

    private Value value(int chunk, Chunk state, Part p) {
      Part root = p.root();
      boolean own = root.kind == Kind.OWN;
      int first = own ? reading(root).first : root.first;
      int units = own ? reading(root).end - first : root.count;
      Value held = own ? state.readings[reading(root).number] : state.parts[root.local];
      if (held == null) {
        throw new IllegalStateException(p + " is used before it is there");
      }
      if (p.first == first && p.count == units) {
        return held;
      }
      return held.range(
          cut.begin(chunk, p.first) - cut.begin(chunk, first), cut.count(chunk, p.first, p.count));
    }

    private void giveUp(Chunk state, Action a) {
      for (Part dead : a.dead()) {
        if (dead.kind == Kind.OWN) {
          int r = reading(dead).number;
          Value value = state.readings[r];
          if (--state.membersLeft[r] == 0 && value != null) {
            vector.giveBack(tl, value);
          }
          continue;
        }
        Value value = state.parts[dead.local];
        if (value != null) {
          state.parts[dead.local] = null;
          tl.release(value);
        }
      }
    }
  }
}
