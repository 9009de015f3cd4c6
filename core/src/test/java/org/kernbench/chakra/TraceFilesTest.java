package org.kernbench.chakra;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.DynamicMessage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TraceFilesTest {
  private static final Schema SCHEMA = new Schema();

  @TempDir private Path folder;

  private Workload load(byte[]... files) throws IOException {
    return load(".et", files);
  }

  private Workload load(String end, byte[]... files) throws IOException {
    for (int rank = 0; rank < files.length; rank++) {
      Files.write(folder.resolve("t." + rank + end), files[rank]);
    }
    return Workload.load(folder.resolve("t").toString(), Optional.empty());
  }

  private static byte[] file(DynamicMessage.Builder... nodes) throws IOException {
    List<DynamicMessage> all = new ArrayList<>(List.of(SCHEMA.metadata("0.0.4")));
    Arrays.stream(nodes).forEach(n -> all.add(n.build()));
    return Schema.file(all);
  }

  private static DynamicMessage.Builder with(
      DynamicMessage.Builder node, DynamicMessage... attributes) {
    for (DynamicMessage each : attributes) {
      SCHEMA.add(node, "attr", each);
    }
    return node;
  }

  private static DynamicMessage.Builder computation(long id, long micros, long... before) {
    DynamicMessage.Builder node = SCHEMA.node(id, "c" + id, 4);
    SCHEMA.add(node, "duration_micros", micros);
    for (long each : before) {
      SCHEMA.add(node, "data_deps", each);
    }
    return with(node, SCHEMA.attribute("is_cpu_op", "bool", false));
  }

  private static DynamicMessage.Builder collective(
      long id, String kind, Object type, Object bytes) {
    return with(
        SCHEMA.node(id, "a" + id, 7),
        SCHEMA.attribute("is_cpu_op", "bool", false),
        SCHEMA.attribute("comm_type", kind, type),
        SCHEMA.attribute("comm_size", kind, bytes));
  }

  private static List<Repair> mended(Workload w) {
    return w.repairs().lines().stream().map(Repairs.Line::repair).toList();
  }

  // ---- reading ----

  @Test
  void nodes_asProtobufWritesThem_areRead() throws IOException {
    DynamicMessage.Builder second = computation(9, 5, 3);
    SCHEMA.add(second, "ctrl_deps", 3L);
    SCHEMA.add(second, "start_time_micros", 77L);
    with(
        second,
        SCHEMA.attribute("num_ops", "int64", 123L),
        SCHEMA.attribute("tensor_size", "uint64", 456L),
        SCHEMA.attribute("stream", "int64", 7L));
    Workload w = load(file(computation(3, 4), second));

    assertThat(w.traces().getFirst().nodes())
        .containsExactly(
            new TraceNode(
                3,
                "c3",
                NodeType.COMP,
                List.of(),
                0,
                4_000_000,
                false,
                0,
                0,
                OptionalLong.empty(),
                Optional.empty()),
            new TraceNode(
                9,
                "c9",
                NodeType.COMP,
                List.of(3L),
                77,
                5_000_000,
                false,
                123,
                456,
                OptionalLong.of(7),
                Optional.empty()));
    assertThat(mended(w)).isEmpty();
  }

  @Test
  void attributes_ofEveryKind_haveTheirValues() throws IOException {
    for (int i = 0; i < Schema.VALUES.size(); i++) {
      String kind = Attribute.Kind.values()[i].name().toLowerCase(java.util.Locale.ROOT);
      for (int n = 0; n < 3; n++) {
        Object value = Schema.value(Schema.VALUES.get(i), n);
        if (value instanceof Number number
            && !(value instanceof Double || value instanceof Float)) {
          boolean unsigned = kind.equals("uint32") || kind.equals("fixed32");
          long expected = unsigned ? number.intValue() & 0xffffffffL : number.longValue();
          DynamicMessage.Builder node =
              with(
                  SCHEMA.node(1, "m", 5),
                  SCHEMA.attribute("comm_dst", "int32", 1),
                  SCHEMA.attribute("comm_tag", kind, value));
          assertThat(load(file(node)).traces().getFirst().nodes().getFirst().comm().tag())
              .as(kind + " " + value)
              .isEqualTo(expected);
        }
      }
      DynamicMessage.Builder lists =
          with(
              computation(1, 1),
              SCHEMA.attribute("scope", kind + "_list", Schema.values(Schema.VALUES.get(i))),
              SCHEMA.attribute("num_ops", "int64", 5L));
      assertThat(load(file(lists)).traces().getFirst().nodes().getFirst().operations())
          .as("after a list of " + kind)
          .isEqualTo(5);
    }
  }

  @ParameterizedTest
  @EnumSource(TraceSamples.Kind.class)
  void samples_writtenAndRead_areTheSame(TraceSamples.Kind kind) throws IOException {
    TraceSamples samples = new TraceSamples(3, 2, 1000);
    byte[][] files = new byte[3][];
    for (int rank = 0; rank < 3; rank++) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      TraceWriter.write(samples.nodes(kind, rank), out);
      files[rank] = out.toByteArray();
    }
    Workload read = load(files);

    for (int rank = 0; rank < 3; rank++) {
      assertThat(read.traces().get(rank).nodes()).isEqualTo(samples.nodes(kind, rank));
    }
    assertThat(mended(read))
        .containsOnlyOnceElementsOf(mended(read))
        .isSubsetOf(Repair.ID_ABSENT, Repair.WORLD_GROUP, Repair.EMPTY_ATTRIBUTE);
  }

  @Test
  void writer_protobufReadsWhatItWrites() throws IOException {
    TraceNode node = new TraceSamples(2, 1, 999).nodes(TraceSamples.Kind.DATA_PARALLEL, 0).get(2);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    TraceWriter.write(List.of(node), out);
    java.io.ByteArrayInputStream in = new java.io.ByteArrayInputStream(out.toByteArray());
    DynamicMessage.newBuilder(SCHEMA.type("Metadata")).mergeDelimitedFrom(in);
    DynamicMessage.Builder back = DynamicMessage.newBuilder(SCHEMA.type("Node"));
    back.mergeDelimitedFrom(in);

    DynamicMessage.Builder want = SCHEMA.node(2, "layer 0 gradients", 7);
    SCHEMA.add(want, "data_deps", 1L);
    with(
        want,
        SCHEMA.attribute("is_cpu_op", "bool", false),
        SCHEMA.attribute("comm_size", "int64", 999L),
        SCHEMA.attribute("comm_type", "int64", 0L),
        SCHEMA.attribute("pg_name", "string", ""));
    SCHEMA.add(want, "start_time_micros", 0L);
    SCHEMA.add(want, "duration_micros", 0L);
    assertThat(back.build()).isEqualTo(want.build());
    assertThat(in.available()).isZero();
  }

  @Test
  void gzipAndJson_areReadLikeTheRest() throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
      gzip.write(file(computation(3, 4)));
    }
    List<TraceNode> plain = load(file(computation(3, 4))).traces().getFirst().nodes();
    assertThat(load(packed.toByteArray()).traces().getFirst().nodes()).isEqualTo(plain);
    Files.delete(folder.resolve("t.0.et"));

    String json =
        """
        {"workload_graph": [{"Id": 3, "Name": "c3", "NodeType": 4, "is_cpu_op": false,
          "runtime": 4, "data_deps": []}]}
        """;
    assertThat(load(".json", json.getBytes(StandardCharsets.UTF_8)).traces().getFirst().nodes())
        .isEqualTo(plain);
  }

  /** As {@code MessageToJson} of protobuf writes it, in either case: 64 bits are text. */
  @Test
  void messagesAsJson_areReadLikeTheRest() throws IOException {
    List<TraceNode> plain = load(file(collective(3, "int64", 2L, 64L))).traces().getFirst().nodes();
    Files.delete(folder.resolve("t.0.et"));
    String name = plain.getFirst().name();
    String camel =
        """
        {"version": "0.0.4"}
        {"id": "3", "name": "%s", "type": "COMM_COLL_NODE", "attr": [
          {"name": "comm_type", "int64Val": "2"}, {"name": "comm_size", "int64Val": "64"},
          {"name": "involved_dim", "boolList": {"values": [true, true]}},
          {"name": "pg_name", "stringVal": ""}]}
        """
            .formatted(name);
    for (String json : List.of(camel, camel.replace("int64Val", "int64_val"))) {
      Workload w = load(".json", json.getBytes(StandardCharsets.UTF_8));
      assertThat(w.traces().getFirst().nodes()).isEqualTo(plain);
      assertThat(mended(w)).contains(Repair.ALL_DIMENSIONS).doesNotContain(Repair.INTEGER_KIND);
    }
    String graph = camel.replaceFirst("\\{.*\\}\\s", "{\"workload_graph\": [") + "]}";
    assertThat(load(".json", graph.getBytes(StandardCharsets.UTF_8)).traces().getFirst().nodes())
        .isEqualTo(plain);
    byte[] wrong = camel.replace("\"64\"", "\"x\"").getBytes(StandardCharsets.UTF_8);
    assertThatThrownBy(() -> load(".json", wrong))
        .hasMessageContaining("message 0: comm_size is x; expected a whole number");
  }

  // ---- mending ----

  @Test
  void writersOfAllSorts_areMended_andEachIsNamed() throws IOException {
    assertThat(mended(load(file(collective(1, "int64", 0L, 64L)))))
        .containsExactly(Repair.WORLD_GROUP);
    for (String kind : List.of("int32", "uint32", "sint32")) {
      Workload w = load(file(collective(1, kind, 2, 64)));
      assertThat(mended(w)).as(kind).contains(Repair.INTEGER_KIND);
      assertThat(w.traces().getFirst().nodes().getFirst().comm().collective())
          .isEqualTo(CollectiveType.ALL_GATHER);
      assertThat(w.traces().getFirst().nodes().getFirst().comm().bytes()).isEqualTo(64);
    }
    assertThat(mended(load(file(collective(1, "sint64", 7L, 64L))))).contains(Repair.INTEGER_KIND);
    assertThat(mended(load(file(collective(1, "string", "7", "64")))))
        .contains(Repair.NUMBER_AS_TEXT);
    assertThat(mended(load(file(collective(0, "int64", 0L, 64L))))).contains(Repair.ID_ABSENT);
    assertThat(mended(load(file(computation(1, 0))))).containsExactly(Repair.NO_DURATION);
    assertThat(mended(load(file(SCHEMA.node(1, "x", 4))))).contains(Repair.HOST_NOT_SAID);
    assertThat(mended(load(file(SCHEMA.node(1, "x", 0))))).containsExactly(Repair.INVALID_TYPE);
    assertThat(mended(load(file(SCHEMA.node(1, "x", 9))))).containsExactly(Repair.STORAGE_TYPE);
    assertThat(
            mended(load(file(with(SCHEMA.node(1, "x", 1), SCHEMA.attribute("odd", "bool", true))))))
        .containsExactly(Repair.UNKNOWN_ATTRIBUTE);
    assertThat(mended(load(Schema.file(List.of(SCHEMA.metadata("9.9"))))))
        .containsExactly(Repair.VERSION);
    List<DynamicMessage> said =
        List.of(
            SCHEMA.attribute("schema", "string", "x"),
            SCHEMA.attribute("sizes", "int64_list", List.of(3L, 4L)));
    assertThat(mended(load(Schema.file(List.of(SCHEMA.metadata("0.0.4", said))))))
        .as("what a trace says of itself besides its version")
        .isEmpty();
    assertThat(mended(load(file(with(collective(1, "int64", 5L, 8L))))))
        .contains(Repair.ROOT_ABSENT);
    assertThat(
            mended(
                load(
                    file(
                        with(
                            collective(1, "int64", 0L, 8L),
                            SCHEMA.attribute("involved_dim", "bool_list", List.of(true, true)))))))
        .contains(Repair.ALL_DIMENSIONS);
    Workload absent = load(file(computation(1, 1, 44)));
    TraceGraph.of(absent);
    assertThat(mended(absent)).containsExactly(Repair.DEPENDENCY_ABSENT);
  }

  // ---- errors ----

  @Test
  void files_thatCannotBe_saysWhichAndWhy() throws IOException {
    assertThatThrownBy(() -> Workload.load(folder.resolve("no").toString(), Optional.empty()))
        .isInstanceOf(TraceException.class)
        .hasMessageContaining("no trace; expected files no.0.et");
    assertThatThrownBy(() -> load(new byte[0])).hasMessageContaining("is empty");
    assertThatThrownBy(() -> load(file(computation(1, 1), computation(1, 2))))
        .hasMessageContaining("have one id");
    assertThatThrownBy(() -> load(file(computation(1, 100_000_000_001L))))
        .hasMessageContaining("lasts 100000000001 us; expected 0 to 100000000000");
    DynamicMessage.Builder[] month = new DynamicMessage.Builder[24];
    for (int i = 0; i < month.length; i++) {
      month[i] = computation(i, 100_000_000_000L);
    }
    assertThatThrownBy(() -> load(file(month)))
        .hasMessageContaining("its nodes last longer than 26 days, one after the other");
    assertThat(load(file(Arrays.copyOf(month, 23)))).isNotNull();
    assertThatThrownBy(() -> load(file(SCHEMA.node(1, "x", 77))))
        .hasMessageContaining("type 77; expected 0 to 10");
    assertThatThrownBy(() -> load(file(collective(1, "int64", 44L, 1L))))
        .hasMessageContaining("comm_type 44; expected 0 to 9");
    assertThatThrownBy(() -> load(file(collective(1, "int64", 0L, -1L))))
        .hasMessageContaining("comm_size is -1; expected 0 or more");
    assertThatThrownBy(() ->
            load(
                file(
                    with(
                        collective(1, "int64", 0L, 8L),
                        SCHEMA.attribute("involved_dim", "bool_list", List.of(true, false))))))
        .hasMessageContaining("involved_dim leaves out dimensions");
    byte[] cut = file(computation(1, 1));
    assertThatThrownBy(() -> load(Arrays.copyOf(cut, cut.length - 2)))
        .isInstanceOf(TraceException.class)
        .hasMessageContaining("no message of a trace");
    Files.write(folder.resolve("t.2.et"), file(computation(1, 1)));
    assertThatThrownBy(() -> load(file(computation(1, 1))))
        .hasMessageContaining("no file of rank 1");
  }

  /** Two thousand files with a few bytes changed, cut or doubled: a message, or a result. */
  @Test
  void files_mangled_endInAMessageOrAResult() throws IOException {
    List<byte[]> seeds = new ArrayList<>();
    for (TraceSamples.Kind kind : TraceSamples.Kind.values()) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      TraceWriter.write(new TraceSamples(1, 2, 64).nodes(kind, 0), out);
      seeds.add(out.toByteArray());
    }
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
      gzip.write(seeds.getFirst());
    }
    seeds.add(packed.toByteArray());
    SplittableRandom random = new SplittableRandom(20);
    int refused = 0;
    for (int i = 0; i < 2000; i++) {
      byte[] bytes = mangled(seeds.get(i % seeds.size()), random);
      try {
        TraceGraph.of(load(bytes)).inOrder(s -> 1);
      } catch (TraceException e) {
        refused++;
        assertThat(e.getMessage()).as("file %s", i).isNotBlank().doesNotContain("null");
      }
    }
    assertThat(refused).isBetween(400, 1999);
  }

  private static byte[] mangled(byte[] from, SplittableRandom random) {
    byte[] bytes = from.clone();
    switch (random.nextInt(4)) {
      case 0 -> bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length));
      case 1 -> {
        int at = random.nextInt(bytes.length);
        byte[] more = Arrays.copyOf(bytes, bytes.length + 9);
        System.arraycopy(
            bytes,
            at,
            more,
            Math.min(at + 9, more.length - (bytes.length - at)),
            bytes.length - at);
        bytes = more;
      }
      default -> {
        for (int n = 1 + random.nextInt(6); n > 0; n--) {
          bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
        }
      }
    }
    return bytes;
  }

  // ---- graphs ----

  private TraceGraph graph(Map<String, List<Integer>> groups, List<List<TraceNode>> ranks) {
    List<RankTrace> traces = new ArrayList<>();
    for (int rank = 0; rank < ranks.size(); rank++) {
      traces.add(new RankTrace(rank, "t." + rank, ranks.get(rank)));
    }
    return TraceGraph.of(Workload.of(traces, groups, new Repairs()));
  }

  private static TraceNode comp(long id, long ps, Long... before) {
    return new TraceNode(
        id,
        "c" + id,
        NodeType.COMP,
        List.of(before),
        0,
        ps,
        false,
        0,
        0,
        OptionalLong.empty(),
        Optional.empty());
  }

  private static TraceNode sum(long id, String group, long bytes, Long... before) {
    return new TraceNode(
        id,
        "sum" + id,
        NodeType.COMM_COLL,
        List.of(before),
        0,
        0,
        false,
        0,
        0,
        OptionalLong.empty(),
        Optional.of(
            new TraceNode.Communication(
                CollectiveType.ALL_REDUCE, bytes, group, OptionalLong.empty(), 0, 0, 0)));
  }

  private static TraceNode send(long id, boolean sends, int from, int to, int tag, Long... before) {
    return new TraceNode(
        id,
        (sends ? "send" : "recv") + id,
        sends ? NodeType.COMM_SEND : NodeType.COMM_RECV,
        List.of(before),
        0,
        0,
        false,
        0,
        0,
        OptionalLong.empty(),
        Optional.of(
            new TraceNode.Communication(
                CollectiveType.BARRIER, 8, "", OptionalLong.empty(), from, to, tag)));
  }

  @Test
  void graph_cycle_isPrintedInItsOrder() {
    assertThatThrownBy(
            () -> graph(Map.of(), List.of(List.of(comp(1, 5, 3L), comp(2, 5, 1L), comp(3, 5, 2L)))))
        .hasMessageContaining("node 1 \"c1\" -> node 2 \"c2\" -> node 3 \"c3\" -> node 1 \"c1\"");
  }

  @Test
  void graph_rankThatNeverComes_isADeadlockReport() {
    assertThatThrownBy(() ->
            graph(
                Map.of(),
                List.of(List.of(sum(1, "", 8), sum(2, "", 8, 1L)), List.of(sum(5, "", 8)))))
        .hasMessageContaining("rank 1 comes to 1 of the 2 collectives of group of all ranks")
        .hasMessageContaining("t.0: node 2 \"sum2\" waits for it");
    assertThatThrownBy(() -> graph(Map.of(), List.of(List.of(send(1, true, 0, 1, 3)), List.of())))
        .hasMessageContaining("rank 0 sends rank 1 1 messages of tag 3, which receives 0");
  }

  @Test
  void graph_ranksThatDisagree_areNamed() {
    assertThatThrownBy(
            () -> graph(Map.of(), List.of(List.of(sum(1, "", 8)), List.of(sum(1, "", 16)))))
        .hasMessageContaining(
            "t.0: node 1 \"sum1\" is all_reduce of 8 B, t.1: node 1 \"sum1\" is all_reduce of 16 B");
    assertThatThrownBy(() -> graph(Map.of(), List.of(List.of(sum(1, "x", 8)))))
        .hasMessageContaining("process group \"x\" is not known");
    assertThatThrownBy(
            () -> graph(Map.of("x", List.of(1)), List.of(List.of(sum(1, "x", 8)), List.of())))
        .hasMessageContaining("rank 0 is not in process group \"x\"");
  }

  private static TraceNode message(boolean sends, int from, int to, long bytes) {
    return new TraceNode(
        1,
        sends ? "send" : "recv",
        sends ? NodeType.COMM_SEND : NodeType.COMM_RECV,
        List.of(),
        0,
        0,
        false,
        0,
        0,
        OptionalLong.empty(),
        Optional.of(
            new TraceNode.Communication(
                CollectiveType.BARRIER, bytes, "", OptionalLong.empty(), from, to, 0)));
  }

  private static TraceNode rooted(CollectiveType op, OptionalLong root) {
    return new TraceNode(
        1,
        "rooted",
        NodeType.COMM_COLL,
        List.of(),
        0,
        0,
        false,
        0,
        0,
        OptionalLong.empty(),
        Optional.of(new TraceNode.Communication(op, 8, "g", root, 0, 0, 0)));
  }

  /** Messages go to another rank that there is, and both ends say the same size. */
  @Test
  void graph_messages_atTheirLimits() {
    Map<String, List<Integer>> none = Map.of();
    assertThat(
            graph(none, List.of(List.of(message(true, 0, 1, 8)), List.of(message(false, 0, 1, 8))))
                .inOrder(s -> 1))
        .isNotNull();
    for (int to : new int[] {-1, 0, 2}) {
      assertThatThrownBy(() -> graph(none, List.of(List.of(message(true, 0, to, 8)), List.of())))
          .hasMessageContaining("the other end is rank " + to + "; expected one of 0 to 1 but 0");
    }
    assertThatThrownBy(() -> graph(none, List.of(List.of(message(true, 0, 0, 8)))))
        .hasMessageContaining("the other end is rank 0; expected traces of other ranks too");
    assertThatThrownBy(() ->
            graph(
                none, List.of(List.of(message(true, 0, 1, 8)), List.of(message(false, 0, 1, 16)))))
        .hasMessageContaining("t.0: node 1 \"send\" sends 8 B, t.1: node 1 \"recv\" receives 16 B");
    assertThatThrownBy(() -> graph(none, List.of(List.of(), List.of(message(false, 0, 1, 8)))))
        .hasMessageContaining(
            "rank 0 sends rank 1 0 messages of tag 0, which receives 1; t.1: node 1 \"recv\" waits");
  }

  /** A root is a rank of its group; operations without one may say anything. */
  @Test
  void graph_roots_areRanksOfTheirGroup() {
    Map<String, List<Integer>> groups = Map.of("g", List.of(1, 2), "h", List.of(0));
    for (CollectiveType op : CollectiveType.values()) {
      boolean hasRoot = List.of("BROADCAST", "REDUCE", "GATHER", "SCATTER").contains(op.name());
      TraceNode right = rooted(op, OptionalLong.of(2));
      TraceNode unsaid = rooted(op, OptionalLong.empty());
      List<TraceNode> nothing = List.of();
      assertThat(graph(groups, List.of(nothing, List.of(right), List.of(right)))).isNotNull();
      assertThat(graph(groups, List.of(nothing, List.of(unsaid), List.of(unsaid)))).isNotNull();
      for (long root : new long[] {-1, 0, 3, (1L << 32) + 1}) {
        TraceNode wrong = rooted(op, OptionalLong.of(root));
        List<List<TraceNode>> ranks = List.of(nothing, List.of(wrong), List.of(wrong));
        if (hasRoot) {
          assertThatThrownBy(() -> graph(groups, ranks))
              .hasMessageContaining("root " + root + "; expected a rank of its group, [1, 2]");
        } else {
          assertThat(graph(groups, ranks)).isNotNull();
        }
      }
    }
    assertThatThrownBy(() -> graph(groups, List.of(List.of(sum(1, "x", 8)))))
        .hasMessageContaining("process group \"x\" is not known")
        .hasMessageContaining("(it has ");
    assertThatThrownBy(() -> graph(Map.of(), List.of(List.of(sum(1, "x", 8)))))
        .hasMessageContaining("(none was given)");
  }

  /**
   * Rank 0 waits in group a for rank 1, which waits in group b for rank 0: no single file shows it.
   */
  @Test
  void graph_cycleAcrossRanks_isADeadlockReport() {
    TraceGraph graph =
        graph(
            Map.of("a", List.of(0, 1), "b", List.of(0, 1)),
            List.of(
                List.of(sum(1, "a", 8), sum(2, "b", 8, 1L)),
                List.of(sum(1, "b", 8), sum(2, "a", 8, 1L))));
    assertThatThrownBy(() -> graph.inOrder(s -> 1))
        .hasMessageContaining("deadlock: steps that wait for each other across ranks");
  }

  @Test
  void graph_nodesWithoutTime_passTheirOrderOn() {
    TraceNode host =
        new TraceNode(
            2,
            "cpu",
            NodeType.COMP,
            List.of(1L),
            0,
            99,
            true,
            0,
            0,
            OptionalLong.empty(),
            Optional.empty());
    TraceGraph graph = graph(Map.of(), List.of(List.of(comp(1, 5), host, comp(3, 7, 2L))));

    assertThat(graph.steps()).hasSize(2);
    assertThat(graph.steps().get(1).before()).containsExactly(0);
    assertThat(graph.longestChainPs(s -> s.node().durationPs())).isEqualTo(12);
  }

  @Test
  void graph_messagesOfTags_meetTheirOwn() {
    TraceGraph graph =
        graph(
            Map.of(),
            List.of(
                List.of(send(1, true, 0, 1, 7), send(2, true, 0, 1, 8)),
                List.of(send(1, false, 0, 1, 8), send(2, false, 0, 1, 7))));
    assertThat(graph.steps())
        .extracting(s -> s.nodes().get(0).id() + "-" + s.nodes().get(1).id())
        .containsExactly("1-2", "2-1");
  }

  /** Kernels of a stream ran in the order of their starts, though nothing else says so. */
  @Test
  void graph_streams_orderTheirKernels() {
    List<TraceNode> nodes = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      nodes.add(
          new TraceNode(
              i,
              "k" + i,
              NodeType.COMP,
              List.of(),
              30 - 10 * i,
              5,
              false,
              0,
              0,
              OptionalLong.of(4),
              Optional.empty()));
    }
    TraceGraph graph = graph(Map.of(), List.of(nodes));

    assertThat(graph.longestChainPs(s -> 5)).isEqualTo(15);
    assertThat(graph.inOrder(s -> 5)).extracting(s -> s.node().id()).containsExactly(2L, 1L, 0L);
  }
}
