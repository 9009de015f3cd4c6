package org.kernbench.eval.program;

import static java.util.Map.entry;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.JsonObject;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.tl.Epilogue;
import org.kernbench.tl.Handle;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * Makes the calls of a {@link CallTape} for one program instance: each is one call of {@link Tl} or
 * {@link Value}, so a program costs what it costs in Java.
 */
final class Player {
  private static final Map<String, UnaryOperator<Value>> UNARY =
      Map.ofEntries(
          entry("neg", Value::neg),
          entry("abs", Value::abs),
          entry("exp", Value::exp),
          entry("exp2", Value::exp2),
          entry("log", Value::log),
          entry("log2", Value::log2),
          entry("sqrt", Value::sqrt),
          entry("rsqrt", Value::rsqrt),
          entry("reciprocal", Value::reciprocal),
          entry("sigmoid", Value::sigmoid),
          entry("silu", Value::silu),
          entry("tanh", Value::tanh),
          entry("gelu", Value::gelu),
          entry("gelu_tanh", Value::geluTanh),
          entry("erf", Value::erf),
          entry("relu", Value::relu),
          entry("sin", Value::sin),
          entry("cos", Value::cos),
          entry("floor", Value::floor),
          entry("ceil", Value::ceil),
          entry("not", Value::not),
          entry("trans", Value::trans));

  private static final Map<String, BinaryOperator<Value>> BINARY =
      Map.ofEntries(
          entry("add", Value::add),
          entry("sub", Value::sub),
          entry("mul", Value::mul),
          entry("div", Value::div),
          entry("rem", Value::rem),
          entry("pow", Value::pow),
          entry("maximum", Value::maximum),
          entry("minimum", Value::minimum),
          entry("and", Value::and),
          entry("or", Value::or),
          entry("xor", Value::xor),
          entry("lt", Value::lt),
          entry("le", Value::le),
          entry("gt", Value::gt),
          entry("ge", Value::ge),
          entry("eq", Value::eq),
          entry("ne", Value::ne));

  private static final Map<String, BiFunction<Value, Double, Value>> SCALAR =
      Map.ofEntries(
          entry("add", Value::add),
          entry("sub", Value::sub),
          entry("mul", Value::mul),
          entry("div", Value::div),
          entry("rem", Value::rem),
          entry("rsub", Value::rsub),
          entry("rdiv", Value::rdiv),
          entry("pow", Value::pow),
          entry("maximum", Value::maximum),
          entry("minimum", Value::minimum),
          entry("lt", Value::lt),
          entry("le", Value::le),
          entry("gt", Value::gt),
          entry("ge", Value::ge),
          entry("eq", Value::eq),
          entry("ne", Value::ne));

  private static final Map<String, BiFunction<Value, Integer, Value>> ALONG =
      Map.ofEntries(
          entry("sum", Value::sum),
          entry("prod", Value::prod),
          entry("max", Value::max),
          entry("min", Value::min),
          entry("argmax", Value::argmax),
          entry("argmin", Value::argmin),
          entry("softmax", Value::softmax),
          entry("cumsum", Value::cumsum),
          entry("expand_dims", Value::expandDims),
          entry("shl", Value::shl),
          entry("shr", Value::shr));

  private final Tl tl;
  private final List<Tensor> tensors;
  private final Map<Integer, Value> values = new HashMap<>();
  private final Map<Integer, Handle> handles = new HashMap<>();
  private final Deque<Scope> scopes = new ArrayDeque<>();
  private String line = "an unknown line";

  Player(Tl tl, List<Tensor> tensors) {
    this.tl = tl;
    this.tensors = tensors;
  }

  /** Where the author's program is. */
  String line() {
    return line;
  }

  Value value(int number) {
    Value value = values.get(number);
    if (value == null) {
      throw new UsageException("message: there is no value " + number);
    }
    return value;
  }

  void set(int number, Value value) {
    values.put(number, value);
  }

  void play(CallTape.Call call) {
    line = call.line();
    JsonObject f = call.fields();
    String name = call.name();
    UnaryOperator<Value> unary = UNARY.get(name);
    if (unary != null) {
      set(call.out(), unary.apply(operand(f, "a")));
    } else if (BINARY.containsKey(name) && f.has("b")) {
      set(call.out(), found(BINARY, name).apply(operand(f, "a"), operand(f, "b")));
    } else if (SCALAR.containsKey(name)) {
      set(call.out(), found(SCALAR, name).apply(operand(f, "a"), f.number("x")));
    } else if (ALONG.containsKey(name)) {
      set(call.out(), found(ALONG, name).apply(operand(f, "a"), f.whole("n")));
    } else if (!order(name, f)) {
      make(name, call.out(), f);
    }
  }

  private static <T> T found(Map<String, T> table, String name) {
    T entry = table.get(name);
    if (entry == null) {
      throw CallTape.unknown("c", name);
    }
    return entry;
  }

  private Value operand(JsonObject f, String name) {
    return value(f.whole(name));
  }

  /** Calls that make nothing. */
  private boolean order(String name, JsonObject f) {
    switch (name) {
      case "send" -> tl.send(f.text("to"), operand(f, "a"));
      case "signal" -> tl.signal(f.text("to"));
      case "wait_signal" -> tl.waitSignal(f.text("to"), f.whole("n"));
      case "await" -> tl.await(operand(f, "a"));
      case "await_handle" -> tl.await(found(f.whole("h")));
      case "await_all" -> tl.awaitAll();
      case "release" -> tl.release(operand(f, "a"));
      case "scope" -> scopes.push(tl.scope());
      case "keep" -> scopes.element().keep(operand(f, "a"));
      case "close" -> scopes.pop().close();
      default -> {
        return false;
      }
    }
    return true;
  }

  private Handle found(int number) {
    Handle handle = handles.get(number);
    if (handle == null) {
      throw new UsageException("message: there is no handle " + number);
    }
    return handle;
  }

  private void make(String name, int out, JsonObject f) {
    switch (name) {
      case "load" ->
          set(
              out,
              f.has("mask")
                  ? tl.load(slice(f.object("s")), operand(f, "mask"), f.number("x"))
                  : tl.load(slice(f.object("s"))));
      case "get" -> set(out, tl.get(slice(f.object("s"))));
      case "store" ->
          handles.put(
              out,
              f.has("mask")
                  ? tl.store(slice(f.object("s")), operand(f, "a"), operand(f, "mask"))
                  : tl.store(slice(f.object("s")), operand(f, "a")));
      case "put" -> handles.put(out, tl.put(slice(f.object("s")), operand(f, "a")));
      case "elapse" -> handles.put(out, tl.elapse(Math.round(f.number("x") * 1000)));
      case "composite" -> handles.put(out, tl.composite(composite(f)));
      case "zeros" -> set(out, tl.zeros(shape(f), dtype(f)));
      case "full" -> set(out, tl.full(shape(f), f.number("x"), dtype(f)));
      case "arange" -> set(out, arange(f));
      case "where" -> set(out, where(f));
      case "rand" ->
          set(
              out,
              f.has("b")
                  ? tl.rand(operand(f, "b"), operand(f, "a"))
                  : tl.rand(f.whole("n"), operand(f, "a")));
      case "concat" -> {
        List<Value> all = f.wholes("all").stream().map(this::value).toList();
        Value[] more = all.subList(1, all.size()).toArray(Value[]::new);
        set(out, tl.concat(f.whole("n"), all.getFirst(), more));
      }
      case "dot" -> set(out, dot(f));
      case "dot_in_place" ->
          set(out, tl.dotInPlace(operand(f, "acc"), operand(f, "a"), operand(f, "b")));
      case "recv" -> set(out, tl.recv(f.text("from"), shape(f), dtype(f)));
      case "recv_copy" -> set(out, tl.recvCopy(f.text("from"), shape(f), dtype(f)));
      case "recv_async" -> set(out, tl.recvAsync(f.text("from"), shape(f), dtype(f)));
      default -> set(out, derived(name, operand(f, "a"), f));
    }
  }

  private Value derived(String name, Value a, JsonObject f) {
    return switch (name) {
      case "fma" -> a.fma(operand(f, "b"), operand(f, "acc"));
      case "clamp" -> a.clamp(f.number("low"), f.number("high"));
      case "cast" -> a.cast(dtype(f));
      case "range" -> a.range(f.whole("n"), f.whole("count"));
      case "reshape" -> a.reshape(CallTape.ints(f.wholes("shape")));
      case "narrow" -> a.narrow(f.whole("axis"), f.whole("n"), f.whole("count"));
      case "permute" -> a.permute(CallTape.ints(f.wholes("shape")));
      case "broadcast_to" -> a.broadcastTo(shape(f));
      default -> throw CallTape.unknown("c", name);
    };
  }

  private static Shape shape(JsonObject f) {
    return CallTape.shape(f.wholes("shape"));
  }

  private static DType dtype(JsonObject f) {
    return CallTape.dtype(f.text("dtype"));
  }

  private Value arange(JsonObject f) {
    return f.has("dtype")
        ? tl.arange(f.number("x"), f.number("y"), f.whole("n"), dtype(f))
        : tl.arange(f.whole("x"), f.whole("y"));
  }

  private Value where(JsonObject f) {
    Value condition = operand(f, "if");
    if (f.has("a")) {
      return f.has("b")
          ? tl.where(condition, operand(f, "a"), operand(f, "b"))
          : tl.where(condition, operand(f, "a"), f.number("y"));
    }
    return tl.where(condition, f.number("x"), operand(f, "b"));
  }

  private Value dot(JsonObject f) {
    Value a = operand(f, "a");
    Value b = operand(f, "b");
    if (f.has("acc")) {
      return tl.dot(a, b, operand(f, "acc"));
    }
    return f.has("dtype") ? tl.dot(a, b, dtype(f)) : tl.dot(a, b);
  }

  private CompositeGemm composite(JsonObject f) {
    boolean streamsA = f.has("sa");
    boolean streamsB = f.has("sb");
    CompositeGemm gemm;
    if (streamsA) {
      Slice a = slice(f.object("sa"));
      gemm =
          streamsB
              ? CompositeGemm.of(a, slice(f.object("sb")))
              : CompositeGemm.of(a, operand(f, "b"));
    } else {
      Value a = operand(f, "a");
      gemm =
          streamsB
              ? CompositeGemm.of(a, slice(f.object("sb")))
              : CompositeGemm.of(a, operand(f, "b"));
    }
    gemm = gemm.into(slice(f.object("s")));
    if (f.has("tile")) {
      List<Integer> tile = f.wholes("tile");
      gemm = gemm.tile(tile.get(0), tile.get(1), tile.get(2));
    }
    for (JsonObject each : f.objects("epilogues")) {
      gemm = gemm.epilogue(when(each.text("when")), epilogue(each));
    }
    return gemm;
  }

  private static Epilogue.When when(String when) {
    return switch (when) {
      case "k_tile" -> Epilogue.When.K_TILE;
      case "output_tile" -> Epilogue.When.OUTPUT_TILE;
      case "kernel" -> Epilogue.When.KERNEL;
      default -> throw CallTape.unknown("when", when);
    };
  }

  private Epilogue epilogue(JsonObject f) {
    return switch (f.text("e")) {
      case "bias" -> Epilogue.bias(operand(f, "a"));
      case "relu" -> Epilogue.relu();
      case "gelu" -> Epilogue.gelu();
      case "silu" -> Epilogue.silu();
      case "scale" -> Epilogue.scale(f.number("x"));
      case "dequant" -> Epilogue.dequant(operand(f, "a"));
      case "add" -> f.has("s") ? Epilogue.add(slice(f.object("s"))) : Epilogue.add(operand(f, "a"));
      default -> throw CallTape.unknown("e", f.text("e"));
    };
  }

  /** A tensor by its place among those that the kernel was launched with. */
  Tensor tensor(JsonObject f) {
    int number = f.whole("t");
    if (number < 0 || number >= tensors.size()) {
      throw new UsageException(
          "message: t: got " + number + "; the kernel was launched with " + tensors.size());
    }
    return tensors.get(number);
  }

  /** A tensor's part: whose, seen as which matrix, and what of it. */
  private Slice slice(JsonObject f) {
    Tensor tensor = tensor(f);
    Shard shard =
        switch (f.text("at")) {
          case "own" -> tl.shard(tensor);
          case "whole" -> tl.whole(tensor);
          case "peer" -> tl.shard(tensor, pe(f.wholes("pe")));
          default -> throw CallTape.unknown("at", f.text("at"));
        };
    if (f.has("as")) {
      List<Integer> as = f.wholes("as");
      shard = shard.as(as.get(0), as.get(1));
    }
    List<Integer> part = f.has("part") ? f.wholes("part") : new ArrayList<>();
    Slice slice =
        switch (part.size()) {
          case 0 -> shard.whole();
          case 2 -> shard.range(part.get(0), part.get(1));
          default -> shard.block(part.get(0), part.get(1), part.get(2), part.get(3));
        };
    return f.has("shape") ? slice.reshape(CallTape.ints(f.wholes("shape"))) : slice;
  }

  static Pe pe(List<Integer> place) {
    if (place.size() != 3) {
      throw new UsageException("message: pe: got " + place + "; expected [sip, cube, pe]");
    }
    return new Pe(place.get(0), place.get(1), place.get(2));
  }
}
