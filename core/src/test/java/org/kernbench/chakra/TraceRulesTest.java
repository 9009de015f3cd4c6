package org.kernbench.chakra;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a node means, rule by rule and at each limit; orders and chains against slow twins. */
class TraceRulesTest {
  private static final String COMPUTES = "'NodeType': 4, 'is_cpu_op': false, ";

  private static TraceNode node(String fields, Repairs repairs) {
    String json = ("{'workload_graph': [{" + fields + "}]}").replace('\'', '"');
    return JsonTraceReader.read(json, "t.1.json", 1, repairs).getFirst();
  }

  private static String repairs(Repairs found) {
    return found.lines().stream()
        .map(l ->
            l.repair()
                + (l.count() > 1 ? " x" + l.count() : "")
                + (l.names().isEmpty() ? "" : " " + l.names()))
        .collect(Collectors.joining(", "));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      nullValues = "none",
      value = {
        "'Id': 7, 'NodeType': 4, 'is_cpu_op': false, 'runtime': 1 | none",
        "'Id': 7, 'NodeType': 4, 'is_cpu_op': true, 'runtime': 1 | HOST_WORK",
        "'Id': 7, 'NodeType': 4, 'is_cpu_op': true | HOST_WORK",
        "'Id': 7, 'NodeType': 4, 'is_cpu_op': 0, 'runtime': 1 | none",
        "'Id': 7, 'NodeType': 4, 'is_cpu_op': 1, 'runtime': 1 | HOST_WORK",
        "'Id': 7, 'NodeType': 4, 'is_cpu_op': false | NO_DURATION",
        "'Id': 7, 'NodeType': 4, 'is_cpu_op': false, 'kernbench_duration_ps': 1 | none",
        "'NodeType': 4, 'is_cpu_op': false, 'runtime': 1 | ID_ABSENT",
        "'Id': 7, 'NodeType': 2, 'is_cpu_op': true | none",
        "'Id': 7, 'NodeType': 3 | HOST_NOT_SAID",
        "'Id': 7, 'NodeType': 2 | HOST_NOT_SAID",
        "'Id': 7, 'NodeType': 4 | NO_DURATION, HOST_NOT_SAID",
        "'Id': 7, 'NodeType': 0 | INVALID_TYPE",
        "'Id': 7, 'NodeType': 1 | none",
        "'Id': 7, 'NodeType': 8 | STORAGE_TYPE [STORAGE]",
        "'Id': 7, 'NodeType': 9 | STORAGE_TYPE [BATCH]",
        "'Id': 7, 'NodeType': 10 | STORAGE_TYPE [CHECKPOINT]",
        "'Id': 7, 'NodeType': 1, 'odd': 3, 'new': 4 | UNKNOWN_ATTRIBUTE x2 [new, odd]",
        "'Id': 7, 'NodeType': 1, 'rf_id': 3, 'pg_size': 4, 'inputs': {}, 'outputs': {}, 'children': 1 | none",
        "'Id': 7, 'NodeType': 7, 'comm_type': 0, 'comm_size': 8, 'pg_name': '3' | none",
        "'Id': 7, 'NodeType': 7, 'comm_type': 0, 'comm_size': 8, 'pg_name': '0' | WORLD_GROUP",
        "'Id': 7, 'NodeType': 7, 'comm_type': 0, 'comm_size': 8 | WORLD_GROUP",
        "'Id': 7, 'NodeType': 7, 'comm_type': 0, 'comm_size': null, 'pg_name': '3' | EMPTY_ATTRIBUTE [comm_size]",
        "'Id': 7, 'NodeType': 7, 'comm_type': '0', 'comm_size': '8', 'pg_name': '3' | NUMBER_AS_TEXT x2 [comm_size, comm_type]",
        "'Id': 7, 'NodeType': 7, 'comm_type': 0, 'pg_name': '3' | SIZE_ABSENT",
        "'Id': 7, 'NodeType': 7, 'comm_type': 1, 'comm_size': 8, 'pg_name': '3' | ROOT_ABSENT",
        "'Id': 7, 'NodeType': 7, 'comm_type': 3, 'comm_size': 8, 'pg_name': '3' | ROOT_ABSENT",
        "'Id': 7, 'NodeType': 7, 'comm_type': 4, 'comm_size': 8, 'pg_name': '3' | ROOT_ABSENT",
        "'Id': 7, 'NodeType': 7, 'comm_type': 5, 'comm_size': 8, 'pg_name': '3' | ROOT_ABSENT",
        "'Id': 7, 'NodeType': 7, 'comm_type': 5, 'comm_size': 8, 'pg_name': '3', 'root_rank': 2 | none",
        "'Id': 7, 'NodeType': 7, 'comm_type': 9, 'comm_size': 8, 'pg_name': '3' | none",
        "'Id': 7, 'NodeType': 5, 'comm_size': 8, 'comm_dst': 2 | PEER_ABSENT",
        "'Id': 7, 'NodeType': 5, 'comm_size': 8, 'comm_src': 1, 'comm_dst': 2 | none",
        "'Id': 7, 'NodeType': 6, 'comm_size': 8, 'comm_src': 2 | PEER_ABSENT",
        "'Id': 7, 'NodeType': 6, 'comm_size': 8, 'comm_src': 2, 'comm_dst': 1 | none",
      })
  void node_whatIsMendedInIt_isNamed(String fields, String mended) {
    Repairs repairs = new Repairs();
    node(fields, repairs);

    assertThat(repairs(repairs)).isEqualTo(mended == null ? "" : mended);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "'Id': 7, 'NodeType': 11 | t.1.json: node 7: type 11; expected 0 to 10, as the schema has it",
        "'Id': 7, 'NodeType': -1 | node 7: type -1; expected 0 to 10",
        "'Id': -1, 'Name': 'x', 'NodeType': 11 | node 18446744073709551615 \"x\": type 11",
        "'NodeType': 11 | node 0: type 11",
        "'Id': 7, 'NodeType': 4, 'runtime': -1 | lasts -1 us; expected 0 to 100000000000",
        "'Id': 7, 'NodeType': 4, 'runtime': 100000000001 | lasts 100000000001 us",
        "'Id': 7, 'NodeType': 4, 'start_time_micros': -1 | starts at 18446744073709551615 us; expected below 2^63",
        "'Id': 7, 'NodeType': 7 | a collective without comm_type; expected which one it is, 0 to 9",
        "'Id': 7, 'NodeType': 7, 'comm_type': 10 | comm_type 10; expected 0 to 9",
        "'Id': 7, 'NodeType': 7, 'comm_type': -1 | comm_type -1; expected 0 to 9",
        "'Id': 7, 'NodeType': 7, 'comm_type': 0, 'comm_size': -1 | comm_size is -1; expected 0 or more",
        "'Id': 7, 'NodeType': 4, 'num_ops': -1 | num_ops is -1; expected 0 or more",
        "'Id': 7, 'NodeType': 4, 'tensor_size': -1 | tensor_size is -1; expected 0 or more",
        "'Id': 7, 'NodeType': 4, 'num_ops': 0.5 | num_ops is 0.5; expected a whole number",
        "'Id': 7, 'NodeType': 4, 'num_ops': 9007199254740992.0 | expected a whole number",
        "'Id': 7, 'NodeType': 4, 'num_ops': 'x' | num_ops is \"x\"; expected a whole number",
        "'Id': 7, 'NodeType': 5, 'comm_size': 8 | a message without comm_dst; expected the rank at its other end",
        "'Id': 7, 'NodeType': 6, 'comm_size': 8 | a message without comm_src; expected the rank at its other end",
        "'Id': 7, 'NodeType': 5, 'comm_size': 8, 'comm_src': 0, 'comm_dst': 2 | comm_src is 0 in the file of rank 1; expected its own number",
        "'Id': 7, 'NodeType': 6, 'comm_size': 8, 'comm_src': 0, 'comm_dst': 2 | comm_dst is 2 in the file of rank 1",
        "'Id': 'x' | workload_graph[0]: Id is x; expected a whole number",
        "'Id': 7, 'NodeType': 'COMPUTE' | workload_graph[0]: NodeType is COMPUTE; expected a number, or one of ",
        "'Id': 7, 'data_deps': 3 | workload_graph[0]: data_deps is 3; expected an array of ids",
        "'Id': 7, 'attr': 3 | workload_graph[0]: attr is 3; expected an array of attributes",
        "'Id': 7, 'attr': [3] | workload_graph[0]: attr has 3; expected {\"name\": .., \"int64_val\": ..}",
        "'Id': 7, 'attr': [{'name': 'num_ops', 'boolList': 4}] | num_ops is 4; expected {\"values\": [..]}",
      })
  void node_thatCannotBe_isRefusedWithItsPlace(String fields, String message) {
    assertThatThrownBy(() -> node(fields, new Repairs()))
        .isInstanceOf(TraceException.class)
        .hasMessageContaining(message);
  }

  @Test
  void node_atItsLimits_isRead() {
    Repairs repairs = new Repairs();
    TraceNode longest = node(COMPUTES + "'Id': 1, 'runtime': 100000000000", repairs);
    assertThat(longest.durationPs()).isEqualTo(100_000_000_000_000_000L);
    assertThat(node(COMPUTES + "'Id': 1, 'num_ops': 9007199254740991.0", repairs).operations())
        .isEqualTo(9007199254740991L);
    assertThat(node(COMPUTES + "'Id': 1, 'runtime': 3, 'kernbench_duration_ps': 2500001", repairs))
        .extracting(TraceNode::durationPs)
        .isEqualTo(2_500_001L);
    assertThat(node("'Id': 1, 'NodeType': 7, 'comm_type': 9, 'tensor_size': 5", repairs).comm())
        .isEqualTo(
            new TraceNode.Communication(
                CollectiveType.BARRIER, 5, "", OptionalLong.empty(), 1, 1, 0));
    assertThat(
            node(
                    "'Id': 1, 'NodeType': 5, 'comm_size': 6, 'comm_src': 1, 'comm_dst': 4,"
                        + " 'comm_tag': 9, 'pg_name': '8'",
                    repairs)
                .comm())
        .isEqualTo(
            new TraceNode.Communication(
                CollectiveType.BARRIER, 6, "8", OptionalLong.empty(), 1, 4, 9));
    assertThat(
            node("'Id': 1, 'NodeType': 7, 'comm_type': 5, 'comm_src': 3, 'comm_size': 1", repairs))
        .extracting(n -> n.comm().root())
        .isEqualTo(OptionalLong.of(3));
    assertThat(
            node(
                "'Id': 1, 'NodeType': 7, 'comm_type': 5, 'comm_src': 3, 'root_rank': 2, 'comm_size': 1",
                repairs))
        .extracting(n -> n.comm().root())
        .isEqualTo(OptionalLong.of(2));
    assertThat(
            node("'Id': 1, 'NodeType': 7, 'comm_type': 0, 'root_rank': 2", repairs).comm().root())
        .isEmpty();
  }

  @Test
  void types_byNameAndNumber_areThoseOfTheSchema() {
    List<String> schema =
        List.of(
            "INVALID",
            "METADATA",
            "MEM_LOAD",
            "MEM_STORE",
            "COMP",
            "COMM_SEND",
            "COMM_RECV",
            "COMM_COLL",
            "STORAGE",
            "BATCH",
            "CHECKPOINT");
    String rest = ", 'comm_type': 0, 'comm_src': 1, 'comm_dst': 1";
    for (int code = 0; code < schema.size(); code++) {
      for (String type :
          List.of("" + code, "'" + schema.get(code) + "'", "'" + schema.get(code) + "_NODE'")) {
        TraceNode read = node("'Id': 1, 'NodeType': " + type + rest, new Repairs());
        assertThat(read.type().name()).as(type).isEqualTo(schema.get(code));
        assertThat(read.communication().isPresent()).isEqualTo(schema.get(code).startsWith("COMM"));
        assertThat(read.isWork())
            .isEqualTo(schema.get(code).startsWith("COMM") || Set.of(2, 3, 4).contains(code));
      }
    }
    List<String> operations =
        List.of(
            "all_reduce",
            "reduce",
            "all_gather",
            "gather",
            "scatter",
            "broadcast",
            "all_to_all",
            "reduce_scatter",
            "reduce_scatter_block",
            "barrier");
    for (int code = 0; code < operations.size(); code++) {
      assertThat(
              node("'Id': 1, 'NodeType': 7, 'comm_type': " + code, new Repairs())
                  .comm()
                  .collective())
          .hasToString(operations.get(code));
    }
  }

  // ---- files ----

  @Test
  void writer_everyField_isReadAgain() throws IOException {
    Repairs repairs = new Repairs();
    List<TraceNode> nodes =
        List.of(
            new TraceNode(
                1,
                "a",
                NodeType.COMP,
                List.of(),
                5,
                2_000_000,
                false,
                6,
                7,
                OptionalLong.of(8),
                Optional.empty()),
            new TraceNode(
                2,
                "b",
                NodeType.COMP,
                List.of(1L),
                9,
                2_000_001,
                true,
                1,
                1,
                OptionalLong.of(0),
                Optional.empty()),
            new TraceNode(
                3,
                "c",
                NodeType.COMM_COLL,
                List.of(1L, 2L),
                0,
                0,
                false,
                0,
                0,
                OptionalLong.empty(),
                Optional.of(
                    new TraceNode.Communication(
                        CollectiveType.BROADCAST, 10, "g", OptionalLong.of(1), 1, 1, 0))),
            new TraceNode(
                4,
                "d",
                NodeType.COMM_SEND,
                List.of(),
                0,
                1,
                false,
                0,
                0,
                OptionalLong.empty(),
                Optional.of(
                    new TraceNode.Communication(
                        CollectiveType.BARRIER, 11, "", OptionalLong.empty(), 1, 3, 12))));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    TraceWriter.write(nodes, out);

    assertThat(
            ProtoTraceReader.read(
                new ByteArrayInputStream(out.toByteArray()), "t.1.et", 1, repairs))
        .isEqualTo(nodes);
    assertThat(repairs(repairs)).isEqualTo("HOST_WORK");
  }

  @TempDir private Path folder;

  private void file(String name, String text) throws IOException {
    Files.writeString(folder.resolve(name), text.replace('\'', '"'));
  }

  private static final String NOTHING = "{'workload_graph': []}";

  @Test
  void files_areFoundByFolderByNameAndByOneOfThem() throws IOException {
    file("a.0.json", "{'workload_graph': [{'Id': 3, 'NodeType': 1}]}");
    file("a.1.json", NOTHING);
    file("a.groups.json", "{'x': [1, 0], 'y': [1]}");
    file("notes.txt", "nothing");
    for (String from : List.of("", "a", "a.1.json")) {
      Workload read = Workload.load(folder.resolve(from).toString(), Optional.empty());
      assertThat(read.traces()).hasSize(2);
      assertThat(read.traces().get(0).nodes()).hasSize(1);
      assertThat(read.groups()).isEqualTo(Map.of("x", List.of(0, 1), "y", List.of(1)));
    }
    file("other.json", "{'z': [0]}");
    assertThat(
            Workload.load(
                    folder.resolve("a").toString(),
                    Optional.of(folder.resolve("other.json").toString()))
                .groups())
        .isEqualTo(Map.of("z", List.of(0)));
    assertThatThrownBy(() -> Workload.load(folder.resolve("none/a").toString(), Optional.empty()))
        .hasMessageContaining("no such folder; expected one with files name.0.et");
    assertThatThrownBy(() -> Workload.load(folder.resolve("b").toString(), Optional.empty()))
        .hasMessageEndingWith("b: no trace; expected files b.0.et, b.1.et, .. (or .json, or .gz)");
    file("a.1.et", "");
    assertThatThrownBy(() -> Workload.load(folder.resolve("a").toString(), Optional.empty()))
        .hasMessageContaining("are of one rank; expected one file for each rank");
    Files.delete(folder.resolve("a.1.et"));
    file("b.0.json", NOTHING);
    assertThatThrownBy(() -> Workload.load(folder.toString(), Optional.empty()))
        .hasMessageContaining("has traces of several runs: a, b; expected folder/name of one");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "[] | expected {\"name\": [ranks], ..}",
        "{'x': []} | group x: is []; expected a list of ranks",
        "{'x': 3} | group x: is 3; expected a list of ranks",
        "{'x': [2]} | group x: rank 2; expected each once, 0 to 1, as there are 2 traces",
        "{'x': [-1]} | group x: rank -1; expected each once",
        "{'x': [0, 0]} | group x: rank 0; expected each once",
        "{'0': [1]} | group 0: has ranks [1]; in a trace \"0\" means all 2; expected all of them, or another name",
        "{'x': ['0']} | group x: rank 0; expected each once",
        "{'x': [0]} {'y': [0]} | more than one value; expected one JSON object",
        "{'x': [0], 'x': [1]} | no JSON",
        "{'x': | no JSON",
      })
  void groups_thatCannotBe_areRefused(String json, String message) throws IOException {
    file("a.0.json", NOTHING);
    file("a.1.json", NOTHING);
    file("a.groups.json", json);
    assertThatThrownBy(() -> Workload.load(folder.resolve("a").toString(), Optional.empty()))
        .isInstanceOf(TraceException.class)
        .hasMessageContaining(message);
  }

  // ---- samples and mistakes ----

  /** Nodes, recorded time of a rank and the longest chain, all from the text of each kind. */
  @Test
  void samples_haveTheTimesOfTheirText() {
    int layers = 3;
    long layer = 20_000_000;
    for (int ranks : List.of(1, 2, 4)) {
      TraceSamples samples = new TraceSamples(ranks, layers, 64);
      int batches = 2 * ranks;
      for (int rank = 0; rank < ranks; rank++) {
        boolean first = rank == 0;
        boolean last = rank == ranks - 1;
        assertSample(
            samples.nodes(TraceSamples.Kind.DATA_PARALLEL, rank),
            3 * layers + 1,
            3 * layers * layer + layer / 2);
        assertSample(
            samples.nodes(TraceSamples.Kind.TENSOR_PARALLEL, rank), 8 * layers, 3 * layers * layer);
        assertSample(
            samples.nodes(TraceSamples.Kind.EXPERTS, rank), 8 * layers, 3 * layers * layer);
        int messages = 2 * batches * ((first ? 0 : 1) + (last ? 0 : 1));
        assertSample(
            samples.nodes(TraceSamples.Kind.PIPELINE, rank),
            2 * batches + messages,
            batches * 3L * layers * layer);
      }
      // the optimizer waits for all sums; a pipeline of p stages fills and drains in p - 1 slots
      // each way
      assertThat(chain(samples, TraceSamples.Kind.DATA_PARALLEL))
          .isEqualTo(3 * layers * layer + layer / 2);
      assertThat(chain(samples, TraceSamples.Kind.TENSOR_PARALLEL)).isEqualTo(3 * layers * layer);
      assertThat(chain(samples, TraceSamples.Kind.PIPELINE))
          .isEqualTo((batches + ranks - 1) * 3L * layers * layer);
    }
  }

  private static long chain(TraceSamples samples, TraceSamples.Kind kind) {
    return TraceGraph.of(samples.workload(kind)).longestChainPs(s -> s.node().durationPs());
  }

  private static void assertSample(List<TraceNode> nodes, int count, long ps) {
    assertThat(nodes).hasSize(count);
    assertThat(nodes.stream().mapToLong(TraceNode::durationPs).sum()).isEqualTo(ps);
    for (TraceNode node : nodes) {
      boolean computes = node.type() == NodeType.COMP;
      assertThat(node.operations()).isEqualTo(computes ? 40_000_000_000L : 0);
      assertThat(node.memoryBytes()).isEqualTo(computes ? 64 : 0);
      assertThat(node.communication().map(TraceNode.Communication::bytes))
          .isEqualTo(computes ? Optional.empty() : Optional.of(64L));
    }
  }

  @Test
  void mistakes_changeWhatTheySay() {
    List<TraceNode> nodes = new TraceSamples(2, 2, 64).nodes(TraceSamples.Kind.DATA_PARALLEL, 0);
    // forwards 0 1, backwards 2 and sum 3, backwards 4 and sum 5, optimizer 6
    assertThat(TraceMistake.MISSING_COLLECTIVE.in(nodes))
        .extracting(TraceNode::id)
        .containsExactly(0L, 1L, 2L, 3L, 4L, 6L);
    assertThat(TraceMistake.MISSING_COLLECTIVE.in(nodes.subList(0, 2)))
        .as("the first, where none communicates")
        .extracting(TraceNode::id)
        .containsExactly(1L);
    List<TraceNode> other = TraceMistake.OTHER_SIZE.in(nodes);
    assertThat(other).hasSize(7);
    for (int i = 0; i < 7; i++) {
      TraceNode want = nodes.get(i);
      if (i == 5) {
        assertThat(other.get(i).comm().bytes()).isEqualTo(65);
        assertThat(other.get(i))
            .usingRecursiveComparison()
            .ignoringFields("communication.value.bytes")
            .isEqualTo(want);
      } else {
        assertThat(other.get(i)).isEqualTo(want);
      }
    }
    assertThat(TraceMistake.CYCLE.in(nodes).getFirst().before()).containsExactly(6L);
    assertThat(TraceMistake.CYCLE.in(nodes).getFirst())
        .usingRecursiveComparison()
        .ignoringFields("before")
        .isEqualTo(nodes.getFirst());
    assertThat(TraceMistake.CYCLE.in(nodes).subList(1, 7)).isEqualTo(nodes.subList(1, 7));
    ByteArrayOutputStream whole = new ByteArrayOutputStream();
    ByteArrayOutputStream cut = new ByteArrayOutputStream();
    TraceWriter.write(nodes, whole);
    TraceMistake.CUT_OFF.write(nodes, cut);
    assertThat(cut.toByteArray())
        .hasSize(whole.size() - 5)
        .isEqualTo(java.util.Arrays.copyOf(whole.toByteArray(), whole.size() - 5));
    ByteArrayOutputStream missing = new ByteArrayOutputStream();
    TraceMistake.MISSING_COLLECTIVE.write(nodes, missing);
    assertThat(missing.size()).isLessThan(whole.size());
  }

  // ---- orders and chains beside slow twins ----

  private static TraceNode drawn(int id, SplittableRandom random, List<Long> before) {
    boolean hosts = random.nextInt(4) == 0;
    return new TraceNode(
        id,
        "n" + id,
        NodeType.COMP,
        before,
        random.nextInt(3) * 10L,
        1 + random.nextInt(9),
        hosts,
        0,
        0,
        random.nextInt(3) == 0 ? OptionalLong.of(random.nextInt(2)) : OptionalLong.empty(),
        Optional.empty());
  }

  /**
   * The edges of a rank as the rules say: dependencies, and streams by start where nothing
   * contradicts.
   */
  private static List<Set<Integer>> edges(List<TraceNode> nodes) {
    List<Set<Integer>> all = new ArrayList<>();
    for (TraceNode node : nodes) {
      all.add(
          node.before().stream()
              .map(Long::intValue)
              .filter(i -> i < nodes.size())
              .collect(Collectors.toCollection(HashSet::new)));
    }
    for (long stream = 0; stream < 2; stream++) {
      long s = stream;
      List<Integer> own = new ArrayList<>();
      for (int i = 0; i < nodes.size(); i++) {
        TraceNode n = nodes.get(i);
        if (!n.isHost() && n.startMicros() > 0 && n.stream().equals(OptionalLong.of(s))) {
          own.add(i);
        }
      }
      own.sort(
          Comparator.comparing((Integer i) -> nodes.get(i).startMicros()).thenComparing(i -> i));
      for (int i = 1; i < own.size(); i++) {
        int a = own.get(i - 1);
        int b = own.get(i);
        if (nodes.get(a).startMicros() != nodes.get(b).startMicros() && !all.get(a).contains(b)) {
          all.get(b).add(a);
        }
      }
    }
    return all;
  }

  @Test
  void order_isTheOneThatTheRulesSay_onDrawnTraces() {
    SplittableRandom random = new SplittableRandom(16);
    int ordered = 0;
    for (int draw = 0; draw < 400; draw++) {
      int n = 1 + random.nextInt(9);
      List<TraceNode> nodes = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        List<Long> before = new ArrayList<>();
        for (int j = 0; j < n; j++) {
          if (random.nextInt(5) == 0 && (j < i || random.nextInt(40) == 0)) {
            before.add((long) j);
          }
        }
        nodes.add(drawn(i, random, before));
      }
      List<Set<Integer>> edges = edges(nodes);
      List<Integer> expected = new ArrayList<>();
      while (true) { // of those whose dependencies are done, the earliest start, then the first
        Optional<Integer> next =
            java.util.stream.IntStream.range(0, n)
                .boxed()
                .filter(i -> !expected.contains(i) && expected.containsAll(edges.get(i)))
                .min(
                    Comparator.comparing((Integer i) -> nodes.get(i).startMicros())
                        .thenComparing(i -> i));
        if (next.isEmpty()) {
          break;
        }
        expected.add(next.get());
      }
      RankTrace trace = new RankTrace(0, "t.0", nodes);
      if (expected.size() < n) {
        assertThatThrownBy(() -> new RankOrder(trace, new Repairs()))
            .hasMessageContaining("nodes that wait for each other");
        continue;
      }
      ordered++;
      RankOrder order = new RankOrder(trace, new Repairs());
      assertThat(order.order())
          .as("draw %s", draw)
          .containsExactly(expected.stream().mapToInt(i -> i).toArray());
      for (int i = 0; i < n; i++) {
        assertThat(order.node(i)).isSameAs(nodes.get(i));
        assertThat(order.before(i))
            .containsExactlyInAnyOrder(edges.get(i).stream().mapToInt(j -> j).toArray());
      }
      assertChain(nodes, edges);
    }
    assertThat(ordered).isBetween(200, 399);
  }

  /** The longest chain by trying all ways through the nodes; those of the host take no time. */
  private static void assertChain(List<TraceNode> nodes, List<Set<Integer>> edges) {
    long longest = 0;
    for (int i = 0; i < nodes.size(); i++) {
      longest = Math.max(longest, endOf(i, nodes, edges));
    }
    TraceGraph graph =
        TraceGraph.of(
            Workload.of(List.of(new RankTrace(0, "t.0", nodes)), Map.of(), new Repairs()));
    assertThat(graph.longestChainPs(s -> s.node().durationPs())).isEqualTo(longest);
    assertThat(graph.steps()).hasSize((int) nodes.stream().filter(n -> !n.isHost()).count());
  }

  private static long endOf(int i, List<TraceNode> nodes, List<Set<Integer>> edges) {
    long start = edges.get(i).stream().mapToLong(j -> endOf(j, nodes, edges)).max().orElse(0);
    return start + (nodes.get(i).isHost() ? 0 : nodes.get(i).durationPs());
  }

  /** Two ranks that each compute and sum: launches in the order in which they become ready. */
  @Test
  void launches_areInOrderOfReadiness_withComputationAndCommunicationApart() {
    List<List<TraceNode>> ranks = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      ranks.add(
          List.of(
              local(0, 10),
              collective(1, 0L),
              local(2, 30),
              local(3, 5, 1L),
              collective(4, 3L),
              local(5, 1, 2L, 4L)));
    }
    List<RankTrace> traces =
        List.of(new RankTrace(0, "t.0", ranks.get(0)), new RankTrace(1, "t.1", ranks.get(1)));
    TraceGraph graph = TraceGraph.of(Workload.of(traces, Map.of(), new Repairs()));

    // 0 [0,10] and 2 [10,40] compute; sum 1 [10,12]; 3 ready at 12 waits for 2: [40,45]; sum 4
    // [45,47]; 5 [47,48]
    assertThat(graph.ranks()).isEqualTo(2);
    assertThat(graph.inOrder(s -> s.type() == NodeType.COMP ? s.node().durationPs() : 2))
        .extracting(s -> s.ranks().getFirst() + ":" + s.node().id())
        .containsExactly("0:0", "0:2", "1:0", "1:2", "0:1", "0:3", "1:3", "0:4", "0:5", "1:5");
    assertThat(graph.longestChainPs(s -> s.type() == NodeType.COMP ? s.node().durationPs() : 2))
        .isEqualTo(31);
    assertThat(graph.steps().getFirst())
        .hasToString("all_reduce of 8 B on ranks [0, 1]: node 1 \"s1\"");
  }

  private static TraceNode local(long id, long ps, Long... before) {
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

  private static TraceNode collective(long id, Long... before) {
    return new TraceNode(
        id,
        "s" + id,
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
                CollectiveType.ALL_REDUCE, 8, "", OptionalLong.empty(), 0, 0, 0)));
  }

  @Test
  void repairs_countAll_andNameTheFirstDozen() {
    Repairs repairs = new Repairs();
    for (int i = 0; i < 20; i++) {
      repairs.add(Repair.UNKNOWN_ATTRIBUTE, "at " + i, "name" + (char) ('a' + i));
    }
    repairs.add(Repair.NO_DURATION, "there");
    assertThat(repairs.count()).isEqualTo(21);
    assertThat(repairs.lines())
        .extracting(Repairs.Line::repair)
        .containsExactly(Repair.NO_DURATION, Repair.UNKNOWN_ATTRIBUTE);
    assertThat(repairs.lines().get(1).first()).isEqualTo("at 0");
    assertThat(repairs.lines().get(1).count()).isEqualTo(20);
    assertThat(repairs.lines().get(1).names()).hasSize(12);
  }
}
