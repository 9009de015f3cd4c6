package org.kernbench.nn.pipeline;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.pipeline.Action.Kind;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Work;

/**
 * Runs a {@link PipelineSchedule} on one rank: each action in its order, with a {@link Graph} for
 * each microbatch on each stage. Gradients of parameters add up in them, microbatch by microbatch
 * in the order of the schedule, so a schedule that keeps the order gives the same bits as one rank.
 *
 * <p>The host is ahead of the device by {@link #AHEAD} actions, so that the device always has the
 * next one, and no memory is taken for those after. What a microbatch needs is given back as soon
 * as it has been backwards and its messages have left.
 *
 * <p>Messages go through a group of their own for each pair of neighbouring stages. They are
 * received in the order in which the other rank sends them, which need not be the own one.
 */
public final class PipelineStep {
  /** Actions whose kernels the host hands to the device before the first of them is done. */
  static final int AHEAD = 2;

  private static final Set<Kind> FORWARDS =
      Set.of(Kind.FORWARD, Kind.SEND_ACTIVATION, Kind.RECEIVE_ACTIVATION);

  /** Names of what is received begin so, by which reports know it. */
  static final String NAME = "pipeline";

  private final Torch torch;
  private final PipelineSchedule schedule;
  private final PipelineLayout layout;
  private final Supplier<Graph> graphs;
  private final Map<Integer, Stage> stages;
  private final int rank;
  private final Map<Key, Flight> flights = new LinkedHashMap<>();
  private final List<Flight> leaving = new ArrayList<>();
  private final Map<Way, Deque<Integer>> toCome = new HashMap<>();
  private final Map<Action, Hop.Arrival> arrivals = new HashMap<>();
  private final Deque<Launch> underWay = new ArrayDeque<>();
  private final List<Span> spans = new ArrayList<>();
  private long mostHeld;

  /** What a stage computes for a microbatch. */
  public interface Stage {
    /** What comes from the stage before; not asked of the first stage. */
    Shape inputShape(int microbatch);

    /** Type of what stages give each other. */
    DType dtype();

    /**
     * Forwards.
     *
     * @param input empty for the first stage
     * @return what the next stage gets; of the last stage the loss, one element
     */
    Variable forward(Graph graph, Optional<Variable> input, int microbatch);

    /** The microbatch has been backwards: its part of the gradients of parameters is there. */
    default void hasBeenBackwards(int microbatch) {}
  }

  /**
   * When an action's kernels ran on the rank's device.
   *
   * @param launches the kernels, in the order in which they ran; at least one
   * @param awaited messages that some of them needed, and others did not
   */
  public record Span(Action action, List<Launch> launches, List<Work> awaited) {
    /** From simulated picoseconds to others. */
    public record Stretch(long startPs, long endPs) {}

    /** Simulated picoseconds. */
    public long startPs() {
      return launches.getFirst().startPs();
    }

    /** Simulated picoseconds. */
    public long endPs() {
      return launches.getLast().endPs();
    }

    /**
     * The action without the wait for its message: what is computed again before a backward pass
     * needs no gradient, and a text's tokens are looked up without the image, so they may be done
     * long before it has come. One stretch, or two.
     */
    public List<Stretch> stretches() {
      long arrived =
          awaited.stream()
              .flatMap(work -> work.launch().stream())
              .mapToLong(Launch::endPs)
              .max()
              .orElse(0);
      for (int i = 1; i < launches.size(); i++) {
        long done = launches.get(i - 1).endPs();
        if (done < arrived && arrived <= launches.get(i).startPs()) {
          // what comes before the next kernel are the host and the stage's own collectives
          return List.of(new Stretch(startPs(), done), new Stretch(arrived, endPs()));
        }
      }
      return List.of(new Stretch(startPs(), endPs()));
    }
  }

  private record Key(int stage, int microbatch) {}

  /** Messages of one kind to one stage. */
  private record Way(Kind kind, int stage) {}

  /** A microbatch on a stage, from its forward pass until nothing of it is needed. */
  private static final class Flight {
    final Graph graph;
    @Nullable Variable in;
    @Nullable Variable out;
    Hop.@Nullable Arrival received;
    Hop.@Nullable Arrival gradient;
    @Nullable Flight lender; // the next stage on this rank, whose gradient this one uses
    boolean backwards;
    boolean inputGradientTaken;
    final List<Work> sends = new ArrayList<>();

    Flight(Graph graph) {
      this.graph = graph;
    }

    Variable in() {
      return made(in);
    }

    Variable out() {
      return made(out);
    }

    private static Variable made(@Nullable Variable v) {
      if (v == null) {
        throw new IllegalStateException("bug: not been forwards");
      }
      return v;
    }

    /** There is no way back. */
    void isOver() {
      backwards = true;
      inputGradientTaken = true;
    }

    void end() {
      backwards = true;
      if (lender != null) {
        lender.inputGradientTaken = true;
      }
    }

    long bytes() {
      return graph.bytesHeld() + bytes(received) + bytes(gradient);
    }

    private static long bytes(Hop.@Nullable Arrival a) {
      return a == null ? 0 : a.bytes();
    }

    void close() {
      sends.forEach(Work::await);
      graph.close();
      if (received != null) {
        received.close();
      }
      if (gradient != null) {
        gradient.close();
      }
    }
  }

  /**
   * A step of the rank that calls.
   *
   * @param graphs gives a new graph for each microbatch on each stage
   * @param stages the rank's stages by their numbers in the schedule
   */
  public PipelineStep(
      Torch torch,
      PipelineSchedule schedule,
      PipelineLayout layout,
      Supplier<Graph> graphs,
      Map<Integer, Stage> stages) {
    this.torch = torch;
    this.schedule = schedule;
    this.layout = layout;
    this.graphs = graphs;
    this.stages = Map.copyOf(stages);
    this.rank = layout.place();
    if (!this.stages.keySet().equals(Set.copyOf(schedule.stagesOf(rank)))) {
      throw new IllegalArgumentException(
          "stages %s of rank %s of the pipeline; expected %s"
              .formatted(stages.keySet(), rank, schedule.stagesOf(rank)));
    }
  }

  /** Does everything of the step; gradients of the rank's parameters are complete afterwards. */
  public void run() {
    run(schedule.actions(rank));
  }

  /**
   * Only goes forwards, in the order of the schedule, and keeps nothing for the way back. What is
   * left of a schedule that has no deadlock has none.
   */
  public void runForwards() {
    run(schedule.actions(rank).stream().filter(a -> FORWARDS.contains(a.kind())).toList());
  }

  private void run(List<Action> actions) {
    boolean returns = actions.stream().anyMatch(a -> a.kind().givesInputGradient());
    for (Action action : actions) {
      tidy();
      switch (action.kind()) {
        case FORWARD -> computed(action, () -> forward(action));
        case BACKWARD, INPUT_GRADIENT -> computed(action, () -> backward(action));
        case WEIGHT_GRADIENT -> computed(action, () -> weights(action));
        case RECEIVE_ACTIVATION, RECEIVE_GRADIENT -> receive(action);
        case SEND_ACTIVATION -> {
          Flight flight = flight(action);
          flight.sends.addAll(hop(action.stage()).sendActivation(flight.graph, flight.out()));
        }
        case SEND_GRADIENT -> {
          Flight flight = flight(action);
          Hop before = hop(action.stage() - 1);
          flight.sends.addAll(
              before.sendGradient(flight.graph, flight.in(), inputGradient(flight)));
          flight.inputGradientTaken = true;
        }
      }
      if (!returns) {
        forget(action);
      }
    }
    flights.values().forEach(Flight::close);
    leaving.forEach(Flight::close);
    flights.clear();
    leaving.clear();
  }

  /** Of a pass that only goes forwards, what nobody will ask for after an action. */
  private void forget(Action a) {
    int s = a.stage();
    boolean isAsked = !schedule.isLast(s) && (a.kind() == Kind.FORWARD || schedule.staysAfter(s));
    if (a.kind() != Kind.RECEIVE_ACTIVATION && !isAsked) {
      flight(a).isOver();
    }
    if (a.kind() == Kind.FORWARD && !schedule.isFirst(s) && schedule.staysAfter(s - 1)) {
      neighbour(a, s - 1).isOver();
    }
  }

  /** What ran when, in the order of the rank's actions; times are there when the device is done. */
  public List<Span> spans() {
    return List.copyOf(spans);
  }

  /**
   * The most that microbatches held in this rank's memory after an action: activations, what came
   * from other ranks, gradients between them. Parameters and scratch memory within an action are
   * not counted.
   */
  public long mostBytesHeld() {
    return mostHeld;
  }

  // ---- computing ----

  private void computed(Action action, Runnable work) {
    if (underWay.size() == AHEAD) {
      torch.await(underWay.removeFirst());
    }
    List<Launch> launches = new ArrayList<>();
    Flight flight = begun(action);
    flight.graph.tellLaunches(launches::add);
    work.run();
    flight.graph.tellLaunches(launch -> {});
    mostHeld = Math.max(mostHeld, held());
    if (!launches.isEmpty()) {
      spans.add(span(action, launches, flight));
      underWay.addLast(launches.getLast());
    }
  }

  /** All kernels are kept only where there may be a wait between them. */
  private static Span span(Action action, List<Launch> launches, Flight flight) {
    Hop.Arrival message =
        switch (action.kind()) {
          case FORWARD -> flight.received;
          case BACKWARD, INPUT_GRADIENT -> flight.gradient;
          case WEIGHT_GRADIENT,
              SEND_ACTIVATION,
              RECEIVE_ACTIVATION,
              SEND_GRADIENT,
              RECEIVE_GRADIENT ->
              null;
        };
    return message != null
        ? new Span(action, launches, message.works())
        : new Span(action, List.of(launches.getFirst(), launches.getLast()), List.of());
  }

  private long held() {
    long bytes = 0;
    for (Flight flight : flights.values()) {
      bytes += flight.bytes();
    }
    for (Flight flight : leaving) {
      bytes += flight.bytes();
    }
    return bytes;
  }

  private static Key key(Action action) {
    return new Key(action.stage(), action.microbatch());
  }

  private Flight begun(Action action) {
    return flights.computeIfAbsent(key(action), k -> new Flight(graphs.get()));
  }

  private Flight flight(Action action) {
    Flight flight = flights.get(key(action));
    if (flight == null) {
      throw new IllegalStateException("bug: " + action + " without its forward pass");
    }
    return flight;
  }

  private Stage stage(int stage) {
    Stage own = stages.get(stage);
    if (own == null) {
      throw new IllegalStateException("bug: stage " + stage + " is not on this rank");
    }
    return own;
  }

  private void forward(Action a) {
    Flight flight = flight(a);
    int s = a.stage();
    if (!schedule.isFirst(s)) {
      Tensor x;
      if (schedule.staysAfter(s - 1)) {
        x = neighbour(a, s - 1).out().value();
      } else {
        flight.received = arrived(new Action(s, Kind.RECEIVE_ACTIVATION, a.microbatch()));
        x = flight.received.await();
      }
      flight.in = flight.graph.input(x);
    }
    flight.out = stage(s).forward(flight.graph, Optional.ofNullable(flight.in), a.microbatch());
  }

  private Flight neighbour(Action a, int stage) {
    Flight flight = flights.get(new Key(stage, a.microbatch()));
    if (flight == null) {
      throw new IllegalStateException("bug: " + a + " comes before what it needs");
    }
    return flight;
  }

  private void backward(Action a) {
    Flight flight = flight(a);
    int s = a.stage();
    Variable out = flight.out();
    Tensor grad;
    if (schedule.isLast(s)) {
      grad = flight.graph.one(out);
    } else if (schedule.staysAfter(s)) {
      Flight after = neighbour(a, s + 1);
      grad = inputGradient(after);
      flight.lender = after;
    } else {
      flight.gradient = arrived(new Action(s, Kind.RECEIVE_GRADIENT, a.microbatch()));
      grad = flight.gradient.await();
    }
    if (a.kind() == Kind.BACKWARD) {
      flight.graph.backward(out, grad);
      flight.end();
      stage(s).hasBeenBackwards(a.microbatch());
    } else {
      flight.graph.backwardInput(out, grad);
    }
    flight.inputGradientTaken = schedule.isFirst(s);
  }

  private void weights(Action a) {
    Flight flight = flight(a);
    flight.graph.backwardWeights();
    flight.end();
    stage(a.stage()).hasBeenBackwards(a.microbatch());
  }

  private static Tensor inputGradient(Flight flight) {
    return Optional.ofNullable(flight.in)
        .flatMap(Variable::grad)
        .orElseThrow(() ->
            new IllegalStateException(
                "a stage's output does not depend on its input; expected a gradient to send"));
  }

  // ---- messages ----

  private Hop hop(int stage) {
    return layout.hop(torch, stage);
  }

  /** Posts what the other rank sends up to this one, and waits until it is on its way. */
  private void receive(Action a) {
    Deque<Integer> order = toCome.computeIfAbsent(new Way(a.kind(), a.stage()), this::sent);
    while (!arrivals.containsKey(a)) {
      post(new Action(a.stage(), a.kind(), order.removeFirst()));
    }
    Hop.Arrival arrival = arrivals.get(a);
    if (arrival != null) {
      arrival.await();
    }
  }

  private Deque<Integer> sent(Way way) {
    boolean forwards = way.kind == Kind.RECEIVE_ACTIVATION;
    Kind kind = forwards ? Kind.SEND_ACTIVATION : Kind.SEND_GRADIENT;
    int from = forwards ? way.stage - 1 : way.stage + 1;
    Deque<Integer> order = new ArrayDeque<>();
    for (Action a : schedule.actions(schedule.rankOf(from))) {
      if (a.kind() == kind && a.stage() == from) {
        order.addLast(a.microbatch());
      }
    }
    return order;
  }

  private void post(Action a) {
    int s = a.stage();
    Stage own = stage(s);
    arrivals.put(
        a,
        a.kind() == Kind.RECEIVE_ACTIVATION
            ? hop(s - 1)
                .receiveActivation(
                    () -> begun(a).graph, own.inputShape(a.microbatch()), own.dtype())
            : hop(s).receiveGradient(flight(a).graph, flight(a).out()));
  }

  private Hop.Arrival arrived(Action message) {
    Hop.Arrival arrival = arrivals.remove(message);
    if (arrival == null) {
      throw new IllegalStateException("bug: " + message + " comes too late");
    }
    return arrival;
  }

  /** Gives back what nobody needs: nothing waits here. */
  private void tidy() {
    Iterator<Flight> all = flights.values().iterator();
    while (all.hasNext()) {
      Flight flight = all.next();
      if (flight.backwards && flight.inputGradientTaken) {
        leaving.add(flight);
        all.remove();
      }
    }
    leaving.removeIf(flight -> {
      boolean left = flight.sends.stream().allMatch(w -> w.launch().isPresent());
      if (left) {
        flight.close();
      }
      return left;
    });
  }
}
