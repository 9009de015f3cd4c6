package org.kernbench.chakra;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.chakra.Attribute.Kind;

/** A node as a file has it, before it is known what it means. */
final class RawNode {
  /** Longest recorded time: a day and a bit; what is longer is a mistake. */
  private static final long MOST_MICROS = 100_000L * 1_000_000;

  private static final long PS_PER_MICRO = 1_000_000;

  /** Attributes that are known and say nothing about time, as profilers of PyTorch write them. */
  private static final Set<String> PASSED_OVER =
      Set.of(
          "rf_id",
          "seq_id",
          "scope",
          "tid",
          "fw_parent",
          "fw_tid",
          "op_schema",
          "kernel_backend",
          "kernel_file",
          "pg_desc",
          "group_size",
          "comm_priority",
          "tensor_loc",
          "inclusive_dur",
          "exclusive_dur",
          "ts",
          "cat",
          "ph",
          "in_msg_nelems",
          "out_msg_nelems",
          "dtype",
          "in_split_size",
          "out_split_size",
          "global_rank_start",
          "global_rank_stride",
          "pg_size");

  private static final Map<String, Kind> USUAL =
      Map.of(
          "num_ops", Kind.INT64,
          "tensor_size", Kind.UINT64,
          "comm_type", Kind.INT64,
          "comm_size", Kind.INT64,
          "comm_src", Kind.INT32,
          "comm_dst", Kind.INT32,
          "comm_tag", Kind.INT32);

  private static final Set<String> KNOWN =
      Set.of(
          "num_ops",
          "tensor_size",
          "comm_type",
          "comm_size",
          "comm_src",
          "comm_dst",
          "comm_tag",
          "root_rank",
          "is_cpu_op",
          "pg_name",
          "involved_dim",
          "stream",
          TraceWriter.DURATION_PS);

  /** The kind that an attribute usually has. */
  static Kind usualKind(String attribute) {
    return USUAL.getOrDefault(attribute, Kind.INT64);
  }

  @Nullable Long id;
  String name = "";
  long type;
  final Set<Long> before = new LinkedHashSet<>();
  long startMicros;
  long durationMicros;
  private final Map<String, Attribute> attributes = new LinkedHashMap<>();

  void add(Attribute attribute) {
    attributes.put(attribute.name(), attribute);
  }

  /** What it means. */
  TraceNode read(String file, int rank, Repairs repairs) {
    return new Reading(file, rank, repairs).node();
  }

  private final class Reading {
    private final String place;
    private final int rank;
    private final Repairs repairs;

    Reading(String file, int rank, Repairs repairs) {
      String number = id == null ? "0" : Long.toUnsignedString(id);
      this.place = file + ": node " + number + (name.isEmpty() ? "" : " \"" + name + "\"");
      this.rank = rank;
      this.repairs = repairs;
    }

    TraceException error(String problem) {
      return new TraceException(place + ": " + problem);
    }

    TraceNode node() {
      if (id == null) {
        repairs.add(Repair.ID_ABSENT, place);
      }
      NodeType what =
          NodeType.of(type)
              .orElseThrow(
                  () -> error("type " + type + "; expected 0 to 10, as the schema has it"));
      for (String each : attributes.keySet()) {
        if (!KNOWN.contains(each) && !PASSED_OVER.contains(each)) {
          repairs.add(Repair.UNKNOWN_ATTRIBUTE, place, each);
        }
      }
      boolean host = isHost(what);
      long operations = size("num_ops");
      long duration = duration();
      switch (what) {
        case INVALID -> repairs.add(Repair.INVALID_TYPE, place);
        case STORAGE, BATCH, CHECKPOINT -> repairs.add(Repair.STORAGE_TYPE, place, what.name());
        case COMP -> {
          if (host) {
            repairs.add(Repair.HOST_WORK, place);
          } else if (duration == 0) {
            repairs.add(Repair.NO_DURATION, place);
          }
        }
        case METADATA, MEM_LOAD, MEM_STORE, COMM_SEND, COMM_RECV, COMM_COLL -> {}
      }
      return new TraceNode(
          id == null ? 0 : id,
          name,
          what,
          new ArrayList<>(before),
          startMicros,
          duration,
          host,
          operations,
          size("tensor_size"),
          stream(),
          what.isCommunication() ? Optional.of(communication(what)) : Optional.empty());
    }

    private OptionalLong stream() {
      return attributes.containsKey("stream")
          ? OptionalLong.of(integer("stream"))
          : OptionalLong.empty();
    }

    private long duration() {
      if (durationMicros < 0 || durationMicros > MOST_MICROS) {
        throw error("lasts %s us; expected 0 to %s".formatted(durationMicros, MOST_MICROS));
      }
      if (startMicros < 0) {
        throw error("starts at " + Long.toUnsignedString(startMicros) + " us; expected below 2^63");
      }
      long exact = size(TraceWriter.DURATION_PS);
      if (exact > MOST_MICROS * PS_PER_MICRO) {
        throw error("lasts %s ps; expected at most %s us".formatted(exact, MOST_MICROS));
      }
      return exact > 0 ? exact : durationMicros * PS_PER_MICRO;
    }

    private boolean isHost(NodeType what) {
      Attribute said = attributes.get("is_cpu_op");
      if (said == null) {
        if (what.isLocalWork()) {
          repairs.add(Repair.HOST_NOT_SAID, place);
        }
        return false;
      }
      return said.value() instanceof Boolean b ? b : integer("is_cpu_op") != 0;
    }

    private TraceNode.Communication communication(NodeType what) {
      long bytes = size("comm_size");
      if (!attributes.containsKey("comm_size")) {
        repairs.add(Repair.SIZE_ABSENT, place);
        bytes = size("tensor_size");
      }
      CollectiveType op = CollectiveType.BARRIER;
      OptionalLong root = OptionalLong.empty();
      if (what == NodeType.COMM_COLL) {
        op = collective();
        root = root(op);
        checkDimensions();
      }
      return new TraceNode.Communication(
          op, bytes, group(what), root, peer("comm_src", what), peer("comm_dst", what), tag());
    }

    private CollectiveType collective() {
      if (!attributes.containsKey("comm_type")) {
        throw error("a collective without comm_type; expected which one it is, 0 to 9");
      }
      long code = integer("comm_type");
      return CollectiveType.of(code)
          .orElseThrow(() -> error("comm_type " + code + "; expected 0 to 9"));
    }

    private OptionalLong root(CollectiveType op) {
      boolean rooted =
          switch (op) {
            case REDUCE, GATHER, SCATTER, BROADCAST -> true;
            case ALL_REDUCE,
                ALL_GATHER,
                ALL_TO_ALL,
                REDUCE_SCATTER,
                REDUCE_SCATTER_BLOCK,
                BARRIER ->
                false;
          };
      if (!rooted) {
        return OptionalLong.empty();
      }
      for (String each : List.of("root_rank", "comm_src")) {
        if (attributes.containsKey(each)) {
          return OptionalLong.of(integer(each));
        }
      }
      repairs.add(Repair.ROOT_ABSENT, place);
      return OptionalLong.empty();
    }

    private void checkDimensions() {
      Attribute dimensions = attributes.get("involved_dim");
      if (dimensions == null) {
        return;
      }
      if (!dimensions.isTrueThroughout()) {
        throw error(
            """
            involved_dim leaves out dimensions of the network; expected the ranks as a process \
            group (pg_name), or all dimensions\
            """);
      }
      repairs.add(Repair.ALL_DIMENSIONS, place);
    }

    private long peer(String attribute, NodeType what) {
      if (what == NodeType.COMM_COLL) {
        return rank;
      }
      boolean isOwn = attribute.equals(what == NodeType.COMM_SEND ? "comm_src" : "comm_dst");
      if (!attributes.containsKey(attribute)) {
        if (!isOwn) {
          throw error("a message without " + attribute + "; expected the rank at its other end");
        }
        repairs.add(Repair.PEER_ABSENT, place);
        return rank;
      }
      long said = integer(attribute);
      if (isOwn && said != rank) {
        throw error(
            "%s is %s in the file of rank %s; expected its own number"
                .formatted(attribute, said, rank));
      }
      return said;
    }

    private long tag() {
      return attributes.containsKey("comm_tag") ? integer("comm_tag") : 0;
    }

    private String group(NodeType what) {
      Attribute said = attributes.get("pg_name");
      String group =
          said == null || said.value() == Attribute.NOTHING ? "" : said.value().toString();
      if (group.isEmpty() || group.equals("0")) {
        if (what == NodeType.COMM_COLL) {
          repairs.add(Repair.WORLD_GROUP, place);
        }
        return "";
      }
      return group;
    }

    /** A number that cannot be negative; 0 if it is not there. */
    private long size(String attribute) {
      long value = attributes.containsKey(attribute) ? integer(attribute) : 0;
      if (value < 0) {
        throw error(attribute + " is " + value + "; expected 0 or more");
      }
      return value;
    }

    private long integer(String attribute) {
      Attribute a = attributes.get(attribute);
      if (a == null) {
        throw new IllegalStateException("nobody asked whether there is " + attribute);
      }
      Kind usual = USUAL.getOrDefault(attribute, a.kind());
      if (a.value() == Attribute.NOTHING) {
        repairs.add(Repair.EMPTY_ATTRIBUTE, place, attribute);
        return 0;
      }
      if (a.kind() != usual && !(a.value() instanceof String)) {
        repairs.add(Repair.INTEGER_KIND, place, attribute);
      }
      return switch (a.value()) {
        case Long number -> number;
        case Boolean truth -> truth ? 1 : 0;
        case Double number when number == Math.rint(number) && Math.abs(number) < 1L << 53 ->
            number.longValue();
        case String text -> numberIn(attribute, text);
        default -> throw error(attribute + " is " + a.value() + "; expected a whole number");
      };
    }

    private long numberIn(String attribute, String text) {
      try {
        long number = Long.parseLong(text.strip());
        repairs.add(Repair.NUMBER_AS_TEXT, place, attribute);
        return number;
      } catch (NumberFormatException e) {
        throw error(attribute + " is \"" + text + "\"; expected a whole number");
      }
    }
  }
}
