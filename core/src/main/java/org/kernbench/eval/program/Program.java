package org.kernbench.eval.program;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.log.SourceLine;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.JsonObject;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.P2POp;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Work;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.DpPolicy;

/**
 * A host program of another language on a machine of its own. Each action of the program is one
 * message and becomes the same call of {@link Torch} that a Java program makes; kernels are tapes.
 * While ranks and kernels run, the author is asked how they go on.
 *
 * <p>An action that fails throws what the call throws; the program may go on afterwards.
 */
public final class Program implements AutoCloseable {
  private final Torch root;
  private final Asker author;
  private final boolean hasCollectives;
  private Optional<ArrayWindow> window = Optional.empty();
  private final Map<Long, Tensor> tensors = new HashMap<>();
  private final Map<Long, Launch> launches = new HashMap<>();
  private final Map<Long, ProcessGroup> groups = new HashMap<>();
  private final Map<Long, Work> works = new HashMap<>();
  private long numbers;

  private Program(Torch root, Asker author, boolean hasCollectives) {
    this.root = root;
    this.author = author;
    this.hasCollectives = hasCollectives;
  }

  /**
   * Opens a machine at time 0.
   *
   * @param options {@code machine} and its {@code set}, {@code mode}; with {@code ccl} or {@code
   *     ccl_set} also collectives, which say what a rank is and with {@code lines} messages name
   *     the lines of kernels
   * @param author is asked while ranks and kernels run
   */
  public static Program open(JsonObject options, Asker author) {
    Machine machine = Machines.load(options.text("machine"), options.texts("set"));
    TorchOptions with =
        TorchOptions.DEFAULT.withMode(constant("mode", options.text("mode"), Mode.values()));
    if (options.flag("lines")) {
      with = with.withSimulator(SimulatorOptions.DEFAULT.withLines());
    }
    boolean hasCollectives = options.has("ccl") || options.has("ccl_set");
    if (hasCollectives) {
      Optional<Path> ccl =
          options.textIfAny("ccl").map(Path::of).or(() -> CclConfig.inDirectory(Path.of("")));
      CclConfig config = CclConfig.load(ccl, options.texts("ccl_set"));
      with = with.withCollectives(CollectiveLibrary.open(machine, config));
    }
    return new Program(Torch.open(machine, with), author, hasCollectives);
  }

  /** Performs one action of the host program; what it gives, by name. */
  public Map<String, Object> perform(JsonObject action) {
    AtomicReference<Map<String, Object>> given = new AtomicReference<>(Map.of());
    String line = action.textIfAny("line").orElse("an unknown line");
    try {
      SourceLine.during(() -> line, () -> given.set(perform(action, root)));
    } catch (ShapeException | IllegalArgumentException e) {
      String message = String.valueOf(e.getMessage());
      throw new ProgramException(message.endsWith(")") ? message : message + " (" + line + ")");
    }
    return given.get();
  }

  private Map<String, Object> perform(JsonObject a, Torch torch) {
    return switch (a.text("op")) {
      case "tensor", "view", "write", "read", "fill", "copy", "drop" -> memory(a, torch);
      case "launch" -> Map.of("id", keep(launches, launch(a, torch)));
      case "await" -> {
        torch.await(known("launch", launches, a));
        yield Map.of();
      }
      case "launched" -> times(known("launch", launches, a));
      case "synchronize" -> {
        torch.synchronize();
        yield Map.of();
      }
      case "queues" -> {
        torch.simulator().install(new QueuePlan(torch.machine().ipcq(), connections(a)));
        yield Map.of();
      }
      case "window" -> {
        if (window.isPresent()) {
          throw new UsageException("message: op: a window is open; expected one for each program");
        }
        window = Optional.of(new ArrayWindow(author, a.text("file"), a.whole("piece")));
        yield Map.of();
      }
      case "device" -> {
        torch.ahbm().setDevice(a.whole("index"));
        yield Map.of();
      }
      case "machine" -> about(torch);
      case "stats" -> stats(torch);
      case "spawn" -> {
        torch.multiprocessing().spawn(this::rank, a.whole("world"));
        yield Map.of();
      }
      default -> together(a, torch);
    };
  }

  // ---- memory ----

  private Map<String, Object> memory(JsonObject a, Torch torch) {
    String op = a.text("op");
    if (op.equals("tensor")) {
      Tensor tensor =
          torch.empty(
              CallTape.shape(a.wholes("shape")),
              CallTape.dtype(a.text("dtype")),
              a.textIfAny("placement").map(DpPolicy::parse).orElse(DpPolicy.single()),
              a.text("name"));
      return Map.of("id", keep(tensors, tensor));
    }
    Tensor tensor = known("tensor", tensors, a);
    switch (op) {
      case "view" -> {
        Tensor view =
            tensor.view(a.whole("start"), CallTape.shape(a.wholes("shape")), a.text("name"));
        return Map.of("id", keep(tensors, view));
      }
      case "write" -> {
        if (a.flag("rounded")) {
          window().writeDoubles(a.whole("transfer"), tensor);
        } else {
          window().write(a.whole("transfer"), tensor);
        }
      }
      case "read" -> {
        int transfer = a.whole("transfer");
        return a.flag("exact")
            ? window().readDoubles(transfer, tensor)
            : window().read(transfer, tensor);
      }
      case "fill" -> tensor.fillInPlace(a.number("x"));
      case "copy" -> tensor.copyInPlace(known("source", tensors, a));
      case "drop" -> tensor.close();
      default -> throw CallTape.unknown("op", op);
    }
    return Map.of();
  }

  private ArrayWindow window() {
    return window.orElseThrow(() -> new UsageException("message: no window; open one first"));
  }

  // ---- kernels ----

  private Launch launch(JsonObject a, Torch torch) {
    List<Tensor> used = new ArrayList<>();
    for (int id : a.wholes("tensors")) {
      used.add(known("tensors", tensors, id));
    }
    TapeKernel kernel = new TapeKernel(a.whole("kernel"), used, author);
    String name = a.text("name");
    if (a.has("pes")) {
      List<Pe> pes = places(a);
      return used.isEmpty()
          ? torch.launch(name, kernel, pes)
          : torch.launch(name, kernel, pes, used);
    }
    if (used.isEmpty()) {
      throw new UsageException(
          "launch of kernel " + name + ": no tensor among its arguments; expected one, or pes=");
    }
    Tensor[] more = used.subList(1, used.size()).toArray(Tensor[]::new);
    return a.flag("queues")
        ? torch.launch(name, kernel, torch.distributed().queues(), used.getFirst(), more)
        : torch.launch(name, kernel, used.getFirst(), more);
  }

  private static List<Pe> places(JsonObject a) {
    List<Pe> pes = new ArrayList<>();
    for (JsonObject place : a.objects("pes")) {
      pes.add(Player.pe(place.wholes("pe")));
    }
    return pes;
  }

  private static List<QueuePlan.Connection> connections(JsonObject a) {
    List<QueuePlan.Connection> all = new ArrayList<>();
    for (JsonObject each : a.objects("connections")) {
      all.add(
          new QueuePlan.Connection(
              Player.pe(each.wholes("a")),
              each.text("a_name"),
              Player.pe(each.wholes("b")),
              each.text("b_name")));
    }
    return all;
  }

  private static Map<String, Object> times(Launch launch) {
    return Map.of(
        "done", launch.isDone(), "critical_ps", launch.isDone() ? launch.criticalPs() : Json.NULL);
  }

  // ---- ranks ----

  /** One rank: its author is asked for its next action until it ends. */
  private void rank(Worker worker) {
    AtomicReference<String> line = new AtomicReference<>("an unknown line");
    SourceLine.during(line::get, () -> follow(worker, line));
  }

  private void follow(Worker worker, AtomicReference<String> line) {
    Map<String, Object> question = new LinkedHashMap<>();
    question.put("what", "rank");
    question.put("rank", worker.rank());
    question.put("world", worker.worldSize());
    while (true) {
      JsonObject action = author.ask(question);
      action
          .textIfAny("failed")
          .ifPresent(failed -> {
            throw new ProgramException(failed);
          });
      if (action.flag("ended")) {
        return;
      }
      line.set(action.textIfAny("line").orElse("an unknown line"));
      question.remove("wrong");
      question.remove("given");
      question.put("given", perform(action, worker.torch()));
    }
  }

  private Map<String, Object> together(JsonObject a, Torch torch) {
    switch (a.text("op")) {
      case "init_group" -> {
        if (!hasCollectives) {
          throw new ProgramException(
              """
              init_process_group: the machine was opened without collectives; expected ccl or \
              ccl_set, for example kernbench.open("ring", ccl_set={})\
              """);
        }
        torch.distributed().initProcessGroup();
      }
      case "destroy_group" -> torch.distributed().destroyProcessGroup();
      case "world" -> {
        return Map.of(
            "size",
            torch.distributed().getWorldSize(),
            "algorithm",
            torch.distributed().algorithm());
      }
      case "history" -> {
        return Map.of("collectives", history(torch));
      }
      case "new_group" -> {
        ProcessGroup group = torch.distributed().newGroup(a.wholes("ranks"));
        Map<String, Object> given = new LinkedHashMap<>();
        given.put("id", keep(groups, group));
        given.put("member", group.isMember());
        given.put("ranks", group.ranks());
        given.put("rank", group.isMember() ? group.rank() : Json.NULL);
        return given;
      }
      case "wait" -> known("work", works, a).await();
      default -> {
        ProcessGroup group =
            a.has("group") ? known("group", groups, a) : torch.distributed().world();
        if (a.flag("async")) {
          return Map.of("id", keep(works, begin(a, group)));
        }
        collective(a, group);
      }
    }
    return Map.of();
  }

  private void collective(JsonObject a, ProcessGroup group) {
    switch (a.text("op")) {
      case "all_reduce" -> group.allReduce(tensor(a, "tensor"), reduce(a));
      case "reduce_scatter" ->
          group.reduceScatter(tensor(a, "output"), tensor(a, "input"), reduce(a));
      case "all_gather" -> group.allGather(tensor(a, "output"), tensor(a, "input"));
      case "all_to_all" -> {
        if (a.has("output_rows")) {
          group.allToAll(
              tensor(a, "output"),
              tensor(a, "input"),
              a.wholes("output_rows"),
              a.wholes("input_rows"));
        } else {
          group.allToAll(tensor(a, "output"), tensor(a, "input"));
        }
      }
      case "gather" -> {
        if (a.has("output")) {
          group.gather(tensor(a, "output"), tensor(a, "input"), a.whole("root"));
        } else {
          group.gather(tensor(a, "input"), a.whole("root"));
        }
      }
      case "scatter" -> {
        if (a.has("input")) {
          group.scatter(tensor(a, "output"), tensor(a, "input"), a.whole("root"));
        } else {
          group.scatter(tensor(a, "output"), a.whole("root"));
        }
      }
      case "broadcast" -> group.broadcast(tensor(a, "tensor"), a.whole("root"));
      case "reduce" -> group.reduce(tensor(a, "tensor"), a.whole("root"), reduce(a));
      case "send" -> group.send(tensor(a, "tensor"), a.whole("root"));
      case "recv" -> group.recv(tensor(a, "tensor"), a.whole("root"));
      case "barrier" -> group.barrier();
      case "batch" -> {
        List<P2POp> ops = new ArrayList<>();
        for (JsonObject each : a.objects("ops")) {
          Tensor tensor = tensor(each, "tensor");
          int peer = each.whole("peer");
          ops.add(each.flag("send") ? P2POp.isend(tensor, peer) : P2POp.irecv(tensor, peer));
        }
        group.batchIsendIrecv(ops).forEach(Work::await);
      }
      default -> throw CallTape.unknown("op", a.text("op"));
    }
  }

  private Work begin(JsonObject a, ProcessGroup group) {
    return switch (a.text("op")) {
      case "all_reduce" -> group.allReduceAsync(tensor(a, "tensor"), reduce(a));
      case "reduce_scatter" ->
          group.reduceScatterAsync(tensor(a, "output"), tensor(a, "input"), reduce(a));
      case "all_gather" -> group.allGatherAsync(tensor(a, "output"), tensor(a, "input"));
      case "all_to_all" ->
          a.has("output_rows")
              ? group.allToAllAsync(
                  tensor(a, "output"),
                  tensor(a, "input"),
                  a.wholes("output_rows"),
                  a.wholes("input_rows"))
              : group.allToAllAsync(tensor(a, "output"), tensor(a, "input"));
      case "gather" ->
          a.has("output")
              ? group.gatherAsync(tensor(a, "output"), tensor(a, "input"), a.whole("root"))
              : group.gatherAsync(tensor(a, "input"), a.whole("root"));
      case "scatter" ->
          a.has("input")
              ? group.scatterAsync(tensor(a, "output"), tensor(a, "input"), a.whole("root"))
              : group.scatterAsync(tensor(a, "output"), a.whole("root"));
      case "broadcast" -> group.broadcastAsync(tensor(a, "tensor"), a.whole("root"));
      case "reduce" -> group.reduceAsync(tensor(a, "tensor"), a.whole("root"), reduce(a));
      case "send" -> group.isend(tensor(a, "tensor"), a.whole("root"));
      case "recv" -> group.irecv(tensor(a, "tensor"), a.whole("root"));
      default -> throw CallTape.unknown("op", a.text("op"));
    };
  }

  private Tensor tensor(JsonObject a, String field) {
    return known(field, tensors, a);
  }

  private static ReduceKind reduce(JsonObject a) {
    return constant("reduce", a.text("reduce"), ReduceKind.values());
  }

  private static List<Object> history(Torch torch) {
    List<Object> all = new ArrayList<>();
    for (CollectiveRun run : torch.distributed().history()) {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("op", run.op().name().toLowerCase(Locale.ROOT));
      one.put("group", run.group());
      one.put("bytes", run.bytes());
      one.put("algorithm", run.algorithm());
      one.put("start_ps", run.startPs());
      one.put("end_ps", run.endPs());
      one.put("exposed_ps", run.exposedPs());
      all.add(one);
    }
    return all;
  }

  // ---- what there is ----

  private static Map<String, Object> about(Torch torch) {
    Machine machine = torch.machine();
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("name", machine.name());
    facts.put("hash", machine.hash());
    facts.put("sips", machine.sips());
    facts.put("cubes_per_sip", machine.cubesPerSip());
    facts.put("pes_per_cube", machine.pesPerCube());
    facts.put("devices", torch.ahbm().deviceCount());
    return facts;
  }

  private static Map<String, Object> stats(Torch torch) {
    boolean timed = torch.simulator().mode() != Mode.VALUES;
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("now_ps", torch.simulator().nowPs());
    facts.put("events", torch.simulator().eventCount());
    facts.put("op_log_hash", timed ? torch.simulator().opLog().hash() : "");
    return facts;
  }

  private <T> long keep(Map<Long, T> all, T one) {
    all.put(++numbers, one);
    return numbers;
  }

  private static <T> T known(String field, Map<Long, T> all, JsonObject a) {
    return known(field, all, a.whole(field));
  }

  private static <T> T known(String field, Map<Long, T> all, int id) {
    T one = all.get((long) id);
    if (one == null) {
      throw new UsageException("message: " + field + ": there is no number " + id);
    }
    return one;
  }

  private static <E extends Enum<E>> E constant(String field, String word, E[] all) {
    List<String> words = new ArrayList<>();
    for (E each : all) {
      if (each.name().equalsIgnoreCase(word)) {
        return each;
      }
      words.add(each.name().toLowerCase(Locale.ROOT));
    }
    throw new UsageException(
        "%s: got \"%s\"; expected one of %s".formatted(field, word, String.join(", ", words)));
  }

  @Override
  public void close() {
    root.close();
    window.ifPresent(ArrayWindow::close);
  }
}
