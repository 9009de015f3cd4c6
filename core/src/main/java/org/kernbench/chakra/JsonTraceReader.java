package org.kernbench.chakra;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kernbench.chakra.Attribute.Kind;

/**
 * Reads the JSON form: {@code workload_graph}, an array of nodes whose attributes are keys of the
 * node itself, next to {@code Id}, {@code Name}, {@code NodeType}, {@code data_deps}, {@code
 * ctrl_deps}, {@code runtime} in microseconds.
 */
final class JsonTraceReader {
  private static final List<String> IGNORED = List.of("inputs", "outputs", "children");

  private final String file;
  private final int rank;
  private final Repairs repairs;

  private JsonTraceReader(String file, int rank, Repairs repairs) {
    this.file = file;
    this.rank = rank;
    this.repairs = repairs;
  }

  static List<TraceNode> read(String text, String file, int rank, Repairs repairs) {
    Object all = JsonTree.read(text, file);
    if (!(all instanceof Map<?, ?> map) || !(map.get("workload_graph") instanceof List<?> nodes)) {
      throw new TraceException(file + ": no workload_graph; expected {\"workload_graph\": [..]}");
    }
    JsonTraceReader reader = new JsonTraceReader(file, rank, repairs);
    List<TraceNode> read = new ArrayList<>(nodes.size());
    for (Object node : nodes) {
      read.add(reader.node(node, read.size()));
    }
    return read;
  }

  private TraceException error(int at, String problem) {
    return new TraceException("%s: workload_graph[%s]: %s".formatted(file, at, problem));
  }

  private TraceNode node(Object json, int at) {
    if (!(json instanceof Map<?, ?> map)) {
      throw error(at, "is " + json + "; expected an object");
    }
    RawNode node = new RawNode();
    map.forEach((name, value) -> key(node, String.valueOf(name), value, at));
    return node.read(file, rank, repairs);
  }

  private void key(RawNode node, String name, Object value, int at) {
    switch (name.toLowerCase(Locale.ROOT)) {
      case "id" -> node.id = integer(name, value, at);
      case "name" -> node.name = String.valueOf(value);
      case "nodetype", "type" -> node.type = type(value, at);
      case "data_deps", "ctrl_deps" -> dependencies(node, name, value, at);
      case "runtime", "duration_micros" -> node.durationMicros = integer(name, value, at);
      case "start_time_micros" -> node.startMicros = integer(name, value, at);
      default -> {
        if (!IGNORED.contains(name)) {
          node.add(attribute(name, value));
        }
      }
    }
  }

  private void dependencies(RawNode node, String name, Object value, int at) {
    if (!(value instanceof List<?> list)) {
      throw error(at, name + " is " + value + "; expected an array of ids");
    }
    list.forEach(id -> node.before.add(integer(name, id, at)));
  }

  private long type(Object value, int at) {
    if (value instanceof String text) {
      for (NodeType each : NodeType.values()) {
        if (text.equals(each.name()) || text.equals(each.name() + "_NODE")) {
          return each.ordinal();
        }
      }
    }
    return integer("NodeType", value, at);
  }

  private long integer(String name, Object value, int at) {
    if (value instanceof Long number) {
      return number;
    }
    if (value instanceof String text) {
      try {
        return Long.parseLong(text);
      } catch (NumberFormatException e) {
        // reported below
      }
    }
    throw error(at, name + " is " + value + "; expected a whole number");
  }

  /** Numbers of JSON have no kind, so they are of the usual one. */
  private static Attribute attribute(String name, Object value) {
    return switch (value) {
      case Long number -> new Attribute(name, RawNode.usualKind(name), number);
      case Boolean truth -> new Attribute(name, Kind.BOOL, truth);
      case Double number -> new Attribute(name, RawNode.usualKind(name), number);
      default -> new Attribute(name, Kind.STRING, value);
    };
  }
}
