package org.kernbench.chakra;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.kernbench.chakra.Attribute.Kind;

/**
 * Reads the JSON forms: {@code workload_graph}, an array of nodes whose attributes are keys of the
 * node itself, next to {@code Id}, {@code Name}, {@code NodeType}, {@code data_deps}, {@code
 * ctrl_deps}, {@code runtime} in microseconds; or the messages of the protobuf form as JSON, one
 * after the other as converters write them, with {@code attr} a list of {@code {"name": ..,
 * "int64Val": ..}}, in camel or snake case. Nodes of both kinds may stand in {@code
 * workload_graph}.
 */
final class JsonTraceReader {
  private static final List<String> IGNORED = List.of("inputs", "outputs", "children");
  private static final String GRAPH = "workload_graph";

  private final String file;
  private final String place;
  private final int rank;
  private final Repairs repairs;

  private JsonTraceReader(String file, String place, int rank, Repairs repairs) {
    this.file = file;
    this.place = place;
    this.rank = rank;
    this.repairs = repairs;
  }

  static List<TraceNode> read(String text, String file, int rank, Repairs repairs) {
    List<Object> all = JsonTree.readAll(text, file);
    boolean isGraph = all.getFirst() instanceof Map<?, ?> map && map.containsKey(GRAPH);
    JsonTraceReader reader =
        new JsonTraceReader(file, isGraph ? GRAPH + "[%s]" : "message %s", rank, repairs);
    List<?> nodes = isGraph ? reader.graph(all) : reader.messages(all);
    List<TraceNode> read = new ArrayList<>(nodes.size());
    for (Object node : nodes) {
      read.add(reader.node(node, read.size()));
    }
    return read;
  }

  private List<?> graph(List<Object> all) {
    if (all.size() == 1
        && all.getFirst() instanceof Map<?, ?> map
        && map.get(GRAPH) instanceof List<?> nodes) {
      return nodes;
    }
    throw new TraceException(file + ": expected one object {\"workload_graph\": [..]}");
  }

  /** All but the first, which says what follows. */
  private List<?> messages(List<Object> all) {
    if (all.getFirst() instanceof Map<?, ?> map && map.get("version") instanceof String) {
      return all.subList(1, all.size());
    }
    throw new TraceException(
        """
        %s: no workload_graph; expected {"workload_graph": [..]}, or {"version": ..} and nodes \
        one after the other\
        """
            .formatted(file));
  }

  private TraceException error(int at, String problem) {
    return new TraceException("%s: %s: %s".formatted(file, place.formatted(at), problem));
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
    switch (plain(name)) {
      case "id" -> node.id = integer(name, value, at);
      case "name" -> node.name = String.valueOf(value);
      case "nodetype", "type" -> node.type = type(value, at);
      case "datadeps", "ctrldeps" -> dependencies(node, name, value, at);
      case "runtime", "durationmicros" -> node.durationMicros = integer(name, value, at);
      case "starttimemicros" -> node.startMicros = integer(name, value, at);
      case "attr", "attributes" -> attributes(node, name, value, at);
      default -> {
        if (!IGNORED.contains(name)) {
          node.add(attribute(name, value));
        }
      }
    }
  }

  /** A name that is alike in camel and snake case. */
  private static String plain(String name) {
    return name.replace("_", "").toLowerCase(Locale.ROOT);
  }

  private void attributes(RawNode node, String name, Object value, int at) {
    if (!(value instanceof List<?> list)) {
      throw error(at, name + " is " + value + "; expected an array of attributes");
    }
    for (Object each : list) {
      if (!(each instanceof Map<?, ?> map) || !(map.get("name") instanceof String called)) {
        throw error(at, name + " has " + each + "; expected {\"name\": .., \"int64_val\": ..}");
      }
      Attribute read = new Attribute(called, Kind.INT64, Attribute.NOTHING);
      for (Kind kind : Kind.values()) {
        for (Map.Entry<?, ?> field : map.entrySet()) {
          String type = plain(String.valueOf(field.getKey()));
          String of = kind.name().toLowerCase(Locale.ROOT);
          if (type.equals(of + "val")) {
            read = new Attribute(called, kind, typed(kind, called, field.getValue(), at));
          } else if (type.equals(of + "list")) {
            read = new Attribute(called, kind, list(kind, called, field.getValue(), at));
          }
        }
      }
      node.add(read);
    }
  }

  private List<Object> list(Kind kind, String name, Object value, int at) {
    if (value instanceof Map<?, ?> map && map.isEmpty()) {
      return List.of(); // a list of nothing has no values
    }
    if (!(value instanceof Map<?, ?> map) || !(map.get("values") instanceof List<?> values)) {
      throw error(at, name + " is " + value + "; expected {\"values\": [..]}");
    }
    List<Object> list = new ArrayList<>();
    values.forEach(each -> list.add(typed(kind, name, each, at)));
    return list;
  }

  /** Numbers of 64 bits stand there as text. */
  private Object typed(Kind kind, String name, Object value, int at) {
    return switch (kind) {
      case INT32, INT64, UINT32, UINT64, SINT32, SINT64, FIXED32, FIXED64, SFIXED32, SFIXED64 ->
          integer(name, value, at);
      case DOUBLE, FLOAT, BOOL, STRING, BYTES -> value;
    };
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
      if (!text.matches("-?\\d+")) {
        String names =
            Stream.of(NodeType.values())
                .map(each -> each.name() + "_NODE")
                .collect(Collectors.joining(", "));
        throw error(at, "NodeType is " + text + "; expected a number, or one of " + names);
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
