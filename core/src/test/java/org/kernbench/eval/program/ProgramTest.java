package org.kernbench.eval.program;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.JsonObject;

/** Host programs and ranks whose every action is written here, against numbers found by hand. */
final class ProgramTest {
  private static final int PIECE = 1024;
  private static final String RING =
      """
      {"machine":"tiny","mode":"full","lines":false,
       "set":["system.sips.count=3"],"ccl_set":["defaults.algorithm=ring"]}
      """;

  @TempDir private Path directory;

  private static JsonObject json(String text) {
    return JsonObject.read(text.replace('\'', '"').getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Actions of one author: {@code x = tensor, ...} keeps the number that it gives under a name,
   * {@code $x} is that number, and {@code read, 'tensor':$x} keeps the elements that it gives.
   */
  private final class Script {
    private final List<String> actions;
    private final Map<String, Object> names = new LinkedHashMap<>();
    private final List<List<Double>> reads = new ArrayList<>();
    private final List<Map<String, Object>> given = new ArrayList<>();
    private int next;

    Script(List<String> actions) {
      this.actions = actions;
    }

    boolean isDone() {
      return next == actions.size();
    }

    JsonObject action() {
      String action = actions.get(next++).replaceFirst("^\\w+ = ", "");
      for (Map.Entry<String, Object> name : names.entrySet()) {
        action = action.replace("$" + name.getKey(), name.getValue().toString());
      }
      String op = action.replaceFirst(",.*", "");
      return json("{'op':'" + op + "'" + action.substring(op.length()) + "}");
    }

    @SuppressWarnings("unchecked")
    void hear(Object answer) {
      Map<String, Object> map = (Map<String, Object>) answer;
      given.add(map);
      String action = actions.get(next - 1);
      if (action.contains(" = ")) {
        names.put(action.substring(0, action.indexOf(' ')), map.get("id"));
      }
      if (action.startsWith("read")) {
        assertThat(map).containsEntry("at", 0L);
        reads.add(elements((Long) map.get("piece"), (Long) map.get("count")));
      }
    }
  }

  /** The author: of the host program, of ranks by number, and of kernels by launch. */
  private final class Author implements Asker {
    private final Map<Integer, Script> ranks = new TreeMap<>();
    private final Map<Long, String> kernels = new TreeMap<>();
    private final List<Map<String, Object>> facts = new ArrayList<>();
    private JsonObject answer = json("{}");

    @Override
    @SuppressWarnings("unchecked")
    public void put(Map<String, Object> question) {
      if (question.get("what").equals("kernel")) {
        facts.add((Map<String, Object>) question.get("facts"));
        answer =
            json(
                "{'lines':['k.py:1'],'consulted':['pe'],'tape':[%s]}"
                    .formatted(kernels.get((Long) question.get("launch"))));
        return;
      }
      assertThat(question).containsEntry("what", "rank").containsEntry("world", 3);
      Script script = ranks.get((Integer) question.get("rank"));
      assertThat(question.containsKey("given")).isEqualTo(script.next > 0);
      if (script.next > 0) {
        script.hear(question.get("given"));
      }
      answer = script.isDone() ? json("{'ended':true}") : script.action();
    }

    @Override
    public JsonObject hear() {
      return answer;
    }

    List<Object> fact(String name) {
      return facts.stream().map(each -> each.get(name)).toList();
    }
  }

  private List<Double> elements(long piece, long bytes) {
    try {
      ByteBuffer all =
          ByteBuffer.wrap(Files.readAllBytes(directory.resolve("window")))
              .order(ByteOrder.LITTLE_ENDIAN);
      List<Double> elements = new ArrayList<>();
      for (int i = 0; i < bytes / Float.BYTES; i++) {
        elements.add((double) all.getFloat((int) piece * PIECE + i * Float.BYTES));
      }
      return elements;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Program open(String options, Asker author) throws IOException {
    Path window = Files.write(directory.resolve("window"), new byte[2 * PIECE]);
    Program program = Program.open(json(options), author);
    program.perform(json("{'op':'window','file':'%s','piece':%d}".formatted(window, PIECE)));
    return program;
  }

  /** Performs the host program; what its reads have given. */
  private Script host(Program program, String... actions) {
    Script script = new Script(List.of(actions));
    while (!script.isDone()) {
      script.hear(program.perform(script.action()));
    }
    return script;
  }

  private static List<Double> list(double... values) {
    List<Double> list = new ArrayList<>();
    for (double value : values) {
      list.add(value);
    }
    return list;
  }

  private static String tensor(String name, int n) {
    return name + " = tensor,'shape':[" + n + "],'dtype':'f32','name':'" + name + "'";
  }

  private static String read(String name) {
    return "read,'tensor':$" + name + ",'transfer':1,'exact':false";
  }

  // ---- the host program ----

  @Test
  void memory_viewsAreParts_copiesAreCopies_andWhatIsDroppedIsGone() throws IOException {
    try (Program program = open(RING, new Author())) {
      Script script =
          host(
              program,
              tensor("x", 6),
              "fill,'tensor':$x,'x':1",
              "part = view,'tensor':$x,'start':2,'shape':[3],'name':'part'",
              "fill,'tensor':$part,'x':5",
              tensor("y", 6),
              "copy,'tensor':$y,'source':$x",
              "fill,'tensor':$x,'x':0",
              read("x"),
              read("y"),
              read("part"),
              "drop,'tensor':$y");
      assertThat(script.reads)
          .containsExactly(list(0, 0, 0, 0, 0, 0), list(1, 1, 5, 5, 5, 1), list(0, 0, 0));
      assertThat(script.given.getLast()).isEmpty();
      Object dropped = script.names.get("y");
      assertThatThrownBy(
              () -> program.perform(json("{'op':'fill','tensor':%s,'x':1}".formatted(dropped))))
          .hasMessageContaining("tensor y");
      assertThatThrownBy(() -> program.perform(json("{'op':'fill','tensor':77,'x':1}")))
          .isInstanceOf(UsageException.class)
          .hasMessage("message: tensor: there is no number 77");
    }
  }

  @Test
  void launch_isWhereItsTensorsAre_orWhereItSays() throws IOException {
    Author author = new Author();
    try (Program program = open(RING, author)) {
      author.kernels.put(1L, "");
      author.kernels.put(
          2L,
          """
          {"c":"full","l":0,"o":1,"shape":[2],"x":4,"dtype":"f32"},
          {"c":"store","l":0,"o":2,"a":1,"s":{"t":0,"at":"whole","part":[1,2]}}
          """);
      Script script =
          host(
              program,
              "device,'index':2",
              tensor("x", 4),
              "fill,'tensor':$x,'x':1",
              "launch,'kernel':1,'name':'own','tensors':[$x],'queues':false",
              "launch,'kernel':1,'name':'none','tensors':[],"
                  + "'pes':[{'pe':[1,2,1]},{'pe':[0,1,0]}]",
              "launch,'kernel':2,'name':'whole','tensors':[$x],'pes':[{'pe':[0,3,1]}]",
              "synchronize",
              read("x"));
      assertThat(author.fact("pe"))
          .containsExactly(List.of(2, 0, 0), List.of(0, 1, 0), List.of(1, 2, 1), List.of(0, 3, 1));
      assertThat(script.reads).containsExactly(list(1, 4, 4, 1));
      assertThatThrownBy(
              () -> host(program, "launch,'kernel':1,'name':'lost','tensors':[],'queues':false"))
          .isInstanceOf(UsageException.class)
          .hasMessage(
              "launch of kernel lost: no tensor among its arguments; expected one, or pes=");
    }
  }

  /** Only with queues has a kernel somewhere to send to. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void launch_withQueues_hasThoseOfTheWorld(boolean queues) throws IOException {
    Author author = new Author();
    author.kernels.put(
        1L,
        """
        {"c":"zeros","l":0,"o":1,"shape":[4],"dtype":"f32"},
        {"c":"send","l":0,"to":"E","a":1}
        """);
    try (Program program = open(RING, author)) {
      host(program, "init_group", tensor("x", 4));
      String launch = "launch,'kernel':1,'name':'k','tensors':[1],'queues':%s".formatted(queues);
      if (queues) {
        host(program, launch, "synchronize");
      } else {
        assertThatThrownBy(() -> host(program, launch, "synchronize"))
            .hasMessageContaining("sip0.cube0.pe0")
            .hasMessageContaining("E");
      }
    }
  }

  @Test
  void open_modeUnknown_isRefusedWithAllThereAre() {
    assertThatThrownBy(() -> Program.open(json(RING.replace("full", "fast")), new Author()))
        .isInstanceOf(UsageException.class)
        .hasMessage("mode: got \"fast\"; expected one of full, time, values");
  }

  // ---- ranks ----

  /** Rank r has {@code x = [1 1 2 2 3 3] + 10 r}. */
  private static List<String> start(int rank) {
    List<String> actions = new ArrayList<>();
    actions.add(tensor("x", 6));
    for (int i = 0; i < 3; i++) {
      actions.add("v%d = view,'tensor':$x,'start':%d,'shape':[2],'name':'v'".formatted(i, 2 * i));
      actions.add("fill,'tensor':$v%d,'x':%d".formatted(i, i + 1 + 10 * rank));
    }
    return actions;
  }

  private static void add(List<String> actions, boolean async, String collective) {
    if (async) {
      actions.add("job = " + collective + ",'async':true");
      actions.add("wait,'work':$job");
    } else {
      actions.add(collective + ",'async':false");
    }
  }

  private static List<String> everything(int rank, boolean async) {
    List<String> all = start(rank);
    all.add(tensor("part", 2));
    add(all, async, "reduce_scatter,'output':$part,'input':$x,'reduce':'sum'");
    all.add(read("part"));
    all.add(tensor("whole", 18));
    add(all, async, "all_gather,'output':$whole,'input':$x");
    all.add(read("whole"));
    all.add(tensor("turned", 6));
    add(all, async, "all_to_all,'output':$turned,'input':$x");
    all.add(read("turned"));
    all.add(tensor("y", 6));
    all.add("copy,'tensor':$y,'source':$x");
    add(all, async, "reduce,'tensor':$y,'root':1,'reduce':'max'");
    all.add(read("y"));
    all.add("copy,'tensor':$y,'source':$x");
    add(all, async, "broadcast,'tensor':$y,'root':2");
    all.add(read("y"));
    all.add("copy,'tensor':$y,'source':$x");
    add(all, async, "all_reduce,'tensor':$y,'reduce':'avg'");
    all.add(read("y"));
    if (rank == 0) {
      add(all, async, "send,'tensor':$part,'root':2");
    } else if (rank == 2) {
      add(all, async, "recv,'tensor':$part,'root':0");
    }
    all.add(read("part"));
    return all;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void ranks_collectives_computeWhatTheirNamesSay(boolean async) throws IOException {
    Author author = new Author();
    try (Program program = open(RING, author)) {
      program.perform(json("{'op':'init_group'}"));
      for (int rank = 0; rank < 3; rank++) {
        author.ranks.put(rank, new Script(everything(rank, async)));
      }
      program.perform(json("{'op':'spawn','world':3}"));
      for (int rank = 0; rank < 3; rank++) {
        int r = rank;
        double own = 10 * rank;
        Script script = author.ranks.get(rank);
        assertThat(script.isDone()).isTrue();
        List<Double> part = list(3 * (rank + 1) + 30, 3 * (rank + 1) + 30);
        assertThat(script.reads)
            .as("rank %s", rank)
            .containsExactly(
                part,
                list(1, 1, 2, 2, 3, 3, 11, 11, 12, 12, 13, 13, 21, 21, 22, 22, 23, 23),
                list(r + 1, r + 1, r + 11, r + 11, r + 21, r + 21),
                rank == 1
                    ? list(21, 21, 22, 22, 23, 23)
                    : list(1 + own, 1 + own, 2 + own, 2 + own, 3 + own, 3 + own),
                list(21, 21, 22, 22, 23, 23),
                list(11, 11, 12, 12, 13, 13),
                rank == 2 ? list(33, 33) : part);
      }
      assertThat(collectives(program))
          .containsExactlyInAnyOrder(
              "reduce_scatter world",
              "all_gather world",
              "all_to_all world",
              "reduce world",
              "broadcast world",
              "all_reduce world",
              "point_to_point world");
    }
  }

  @SuppressWarnings("unchecked")
  private static List<String> collectives(Program program) {
    List<Map<String, Object>> all =
        (List<Map<String, Object>>) program.perform(json("{'op':'history'}")).get("collectives");
    for (Map<String, Object> one : all) {
      assertThat((Long) one.get("end_ps")).isGreaterThan((Long) one.get("start_ps"));
    }
    return all.stream().map(one -> one.get("op") + " " + one.get("group")).toList();
  }

  @Test
  void ranks_groupsOpenAndClose() throws IOException {
    Author author = new Author();
    try (Program program = open(RING, author)) {
      for (int rank = 0; rank < 3; rank++) {
        List<String> all = start(rank);
        all.add("init_group");
        all.add("world");
        all.add("g = new_group,'ranks':[0,2]");
        if (rank != 1) {
          all.add("all_reduce,'tensor':$x,'reduce':'sum','group':$g,'async':false");
        }
        all.add("destroy_group");
        all.add("init_group");
        all.add("destroy_group");
        all.add(read("x"));
        author.ranks.put(rank, new Script(all));
      }
      program.perform(json("{'op':'spawn','world':3}"));
      for (int rank = 0; rank < 3; rank++) {
        Script script = author.ranks.get(rank);
        assertThat(script.given.get(8)).isEqualTo(Map.of("size", 3, "algorithm", "ring"));
        Map<String, Object> group = script.given.get(9);
        assertThat(group).containsEntry("member", rank != 1).containsEntry("ranks", List.of(0, 2));
        assertThat(group.get("rank").toString())
            .isEqualTo(rank == 0 ? "0" : rank == 2 ? "1" : group.get("rank").toString());
        assertThat(script.reads)
            .containsExactly(
                rank == 1 ? list(11, 11, 12, 12, 13, 13) : list(22, 22, 24, 24, 26, 26));
      }
      assertThatThrownBy(() -> program.perform(json("{'op':'world'}")))
          .hasMessageContaining("initProcessGroup");
    }
  }

  @Test
  void together_whatIsUnknown_isRefused() throws IOException {
    try (Program program = open(RING, new Author())) {
      host(program, "init_group", tensor("x", 2));
      for (boolean async : Set.of(true, false)) {
        assertThatThrownBy(() -> host(program, "all_swap,'async':" + async))
            .isInstanceOf(UsageException.class)
            .hasMessage("message: op: got \"all_swap\", which this version does not know");
        assertThatThrownBy(
                () -> host(program, "all_reduce,'tensor':1,'reduce':'xor','async':" + async))
            .isInstanceOf(UsageException.class)
            .hasMessage("reduce: got \"xor\"; expected one of sum, product, min, max, avg");
        assertThatThrownBy(() -> host(program, "all_gather,'output':1,'input':8,'async':" + async))
            .isInstanceOf(UsageException.class)
            .hasMessage("message: input: there is no number 8");
      }
    }
  }
}
