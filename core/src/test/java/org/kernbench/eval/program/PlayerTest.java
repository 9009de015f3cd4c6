package org.kernbench.eval.program;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.QueuePlan;
import org.kernbench.eval.output.JsonObject;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.DpPolicy;

/**
 * Each call of a tape, against numbers computed by hand. A kernel has {@code x = [[1 2 3 4] [5 6 7
 * 8]]} as tensor 0, {@code w = [[1 0] [0 1] [1 1] [0 2]]} as tensor 1, and a tensor of nines that
 * it stores into as tensor 2; {@code x w = [[4 13] [12 29]]}.
 */
final class PlayerTest {
  private static final double[] X = {1, 2, 3, 4, 5, 6, 7, 8};
  private static final double[] W = {1, 0, 0, 1, 1, 1, 0, 2};
  private static final String LOAD_X = "{'c':'load','o':1,'s':{'t':0,'at':'own'}}";
  private static final String LOAD_W = "{'c':'load','o':2,'s':{'t':1,'at':'own'}}";

  private static JsonObject json(String text) {
    return JsonObject.read(text.replace('\'', '"').getBytes(StandardCharsets.UTF_8));
  }

  private static JsonObject tape(List<String> calls, String rest) {
    List<String> lines = calls.stream().map(c -> "{'l':0," + c.substring(1)).toList();
    return json("{'lines':['k.py:1'],'tape':[%s],%s}".formatted(String.join(",", lines), rest));
  }

  private static Torch open() {
    return Torch.open(Machines.load("tiny", List.of()), TorchOptions.DEFAULT);
  }

  private static List<Tensor> tensors(Torch torch, Shape out) {
    Tensor y = torch.empty(out, DType.F32, "y");
    y.fillInPlace(9);
    return List.of(
        torch.from(X, Shape.of(2, 4), DType.F32, "x"),
        torch.from(W, Shape.of(4, 2), DType.F32, "w"),
        y);
  }

  /** What tensor 2 has when a kernel has made these calls. */
  private static double[] played(Shape out, String... calls) {
    try (Torch torch = open()) {
      List<Tensor> all = tensors(torch, out);
      Asker author = new Answers(List.of(tape(List.of(calls), "'consulted':[]")));
      torch.launch("k", new TapeKernel(1, all, author), all.get(0), all.get(1), all.get(2));
      return all.get(2).toDoubles();
    }
  }

  private static String store(int value) {
    return "{'c':'store','o':99,'s':{'t':2,'at':'own'},'a':%d}".formatted(value);
  }

  /** An author who has written all answers beforehand. */
  private static final class Answers implements Asker {
    private final List<JsonObject> answers;
    private final List<Map<String, Object>> questions = new ArrayList<>();

    Answers(List<JsonObject> answers) {
      this.answers = answers;
    }

    @Override
    public void put(Map<String, Object> question) {
      questions.add(Map.copyOf(question));
    }

    @Override
    public JsonObject hear() {
      return answers.get(questions.size() - 1);
    }

    Object seen(int question) {
      return questions.get(question).get("seen");
    }
  }

  // ---- memory ----

  @Test
  void load_masked_hasTheOtherNumberElsewhere() {
    assertThat(
            played(
                Shape.of(2, 4),
                LOAD_X,
                "{'c':'le','o':2,'a':1,'x':5}",
                "{'c':'load','o':3,'s':{'t':0,'at':'own'},'mask':2,'x':-1}",
                store(3)))
        .containsExactly(1, 2, 3, 4, 5, -1, -1, -1);
  }

  @Test
  void store_masked_leavesTheRest() {
    assertThat(
            played(
                Shape.of(2, 4),
                LOAD_X,
                "{'c':'gt','o':2,'a':1,'x':6}",
                "{'c':'store','o':3,'s':{'t':2,'at':'own'},'a':1,'mask':2}"))
        .containsExactly(9, 9, 9, 9, 9, 9, 7, 8);
  }

  @Test
  void slice_range_andBlock_andShapes() {
    assertThat(
            played(Shape.of(4), "{'c':'get','o':1,'s':{'t':0,'at':'own','part':[3,4]}}", store(1)))
        .containsExactly(4, 5, 6, 7);
    assertThat(
            played(
                Shape.of(2, 2),
                "{'c':'get','o':1,'s':{'t':0,'at':'whole','part':[0,2,1,2]}}",
                store(1)))
        .containsExactly(2, 3, 6, 7);
    // as [4, 2] the blocks lie elsewhere
    assertThat(
            played(
                Shape.of(2, 1),
                "{'c':'get','o':1,'s':{'t':0,'at':'own','as':[4,2],'part':[1,2,1,1]}}",
                store(1)))
        .containsExactly(4, 6);
    assertThat(
            played(
                Shape.of(4),
                "{'c':'get','o':1,'s':{'t':0,'at':'own','shape':[4,2]}}",
                "{'c':'sum','o':2,'a':1,'n':1}",
                store(2)))
        .containsExactly(3, 7, 11, 15);
  }

  @Test
  void slice_ofAPeer_isThePartThere() {
    try (Torch torch = open()) {
      Tensor x =
          torch.from(X, Shape.of(8), DType.F32, DpPolicy.rowWise().withCubes(1).withPes(2), "x");
      Tensor y = torch.empty(Shape.of(4), DType.F32, "y");
      Asker author =
          new Answers(
              List.of(
                  tape(
                      List.of(
                          "{'c':'get','o':1,'s':{'t':0,'at':'peer','pe':[0,0,1]}}",
                          "{'c':'store','o':2,'s':{'t':1,'at':'own'},'a':1}"),
                      "'consulted':[]")));
      torch.launch(
          "k", new TapeKernel(1, List.of(x, y), author), List.of(new Pe(0, 0, 0)), List.of(x, y));
      assertThat(y.toDoubles()).containsExactly(5, 6, 7, 8);
    }
  }

  // ---- values ----

  @Test
  void values_areMadeAsTheirNamesSay() {
    String two = "{'c':'mul','o':2,'a':1,'x':2}";
    assertThat(
            played(Shape.of(4, 4), LOAD_X, two, "{'c':'concat','o':3,'all':[1,2],'n':0}", store(3)))
        .containsExactly(1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 6, 8, 10, 12, 14, 16);
    assertThat(
            played(
                Shape.of(2, 12), LOAD_X, two, "{'c':'concat','o':3,'all':[2,1,2],'n':1}", store(3)))
        .containsExactly(
            2, 4, 6, 8, 1, 2, 3, 4, 2, 4, 6, 8, 10, 12, 14, 16, 5, 6, 7, 8, 10, 12, 14, 16);
    assertThat(
            played(
                Shape.of(2, 4),
                LOAD_X,
                "{'c':'full','o':2,'shape':[2,4],'x':0.5,'dtype':'f32'}",
                "{'c':'fma','o':3,'a':1,'b':1,'acc':2}",
                store(3)))
        .containsExactly(1.5, 4.5, 9.5, 16.5, 25.5, 36.5, 49.5, 64.5);
    assertThat(
            played(
                Shape.of(2, 4), LOAD_X, "{'c':'clamp','o':2,'a':1,'low':2.5,'high':6}", store(2)))
        .containsExactly(2.5, 2.5, 3, 4, 5, 6, 6, 6);
    assertThat(played(Shape.of(4), LOAD_X, "{'c':'range','o':2,'a':1,'n':3,'count':4}", store(2)))
        .containsExactly(4, 5, 6, 7);
  }

  @Test
  void views_areMadeAsTheirNamesSay() {
    assertThat(
            played(
                Shape.of(4),
                LOAD_X,
                "{'c':'reshape','o':2,'a':1,'shape':[4,2]}",
                "{'c':'sum','o':3,'a':2,'n':1}",
                store(3)))
        .containsExactly(3, 7, 11, 15);
    assertThat(
            played(
                Shape.of(2, 2),
                LOAD_X,
                "{'c':'narrow','o':2,'a':1,'axis':1,'n':1,'count':2}",
                store(2)))
        .containsExactly(2, 3, 6, 7);
    assertThat(
            played(Shape.of(4, 2), LOAD_X, "{'c':'permute','o':2,'a':1,'shape':[1,0]}", store(2)))
        .containsExactly(1, 5, 2, 6, 3, 7, 4, 8);
    assertThat(
            played(
                Shape.of(3, 4),
                LOAD_X,
                "{'c':'narrow','o':2,'a':1,'axis':0,'n':1,'count':1}",
                "{'c':'broadcast_to','o':3,'a':2,'shape':[3,4]}",
                store(3)))
        .containsExactly(5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8);
  }

  @Test
  void numbers_andChoices_areMadeAsTheirNamesSay() {
    assertThat(
            played(
                Shape.of(4), "{'c':'arange','o':1,'x':0.5,'y':0.25,'n':4,'dtype':'f32'}", store(1)))
        .containsExactly(0.5, 0.75, 1, 1.25);
    String even = "{'c':'rem','o':2,'a':1,'x':2}";
    String isEven = "{'c':'eq','o':3,'a':2,'x':0}";
    assertThat(
            played(
                Shape.of(2, 4),
                LOAD_X,
                even,
                isEven,
                "{'c':'where','o':4,'if':3,'a':1,'b':2}",
                store(4)))
        .containsExactly(1, 2, 1, 4, 1, 6, 1, 8);
    assertThat(
            played(
                Shape.of(2, 4),
                LOAD_X,
                even,
                isEven,
                "{'c':'where','o':4,'if':3,'a':1,'y':-3}",
                store(4)))
        .containsExactly(-3, 2, -3, 4, -3, 6, -3, 8);
    assertThat(
            played(
                Shape.of(2, 4),
                LOAD_X,
                even,
                isEven,
                "{'c':'where','o':4,'if':3,'x':-3,'b':1}",
                store(4)))
        .containsExactly(1, -3, 3, -3, 5, -3, 7, -3);
  }

  // ---- composite products ----

  private static double[] composite(String operands, String epilogues) {
    return played(
        Shape.of(2, 2),
        LOAD_X,
        LOAD_W,
        "{'c':'full','o':3,'shape':[2],'x':3,'dtype':'f32'}",
        "{'c':'full','o':4,'shape':[2,2],'x':-5,'dtype':'f32'}",
        "{'c':'full','o':6,'shape':[2],'x':-5,'dtype':'f32'}",
        "{'c':'composite','o':5,%s,'s':{'t':2,'at':'own'},'tile':[2,2,2],'epilogues':[%s]}"
            .formatted(operands, epilogues),
        "{'c':'await_handle','h':5}");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      value = {
        "'a':1,'b':2",
        "'a':1,'sb':{'t':1,'at':'own'}",
        "'sa':{'t':0,'at':'own'},'b':2",
        "'sa':{'t':0,'at':'own'},'sb':{'t':1,'at':'own'}"
      })
  void composite_ofValuesAndSlices_isTheProduct(String operands) {
    assertThat(composite(operands, "")).containsExactly(4, 13, 12, 29);
  }

  /** With bias 3, scales of 3 and a matrix of -5 in TCM; x[0:2, 0:2] lies in memory. */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      value = {
        "'e':'bias','a':3; 7 16 15 32",
        "'e':'scale','x':0.5; 2 6.5 6 14.5",
        "'e':'dequant','a':3; 12 39 36 87",
        "'e':'add','a':4; -1 8 7 24",
        "'e':'add','s':{'t':0,'at':'own','part':[0,2,0,2]}; 5 15 17 35"
      })
  void epilogue_ofAnOutputTile_isApplied(String epilogue, String wanted) {
    double[] all = DoubleStream.of(composite("'a':1,'b':2", at("output_tile", epilogue))).toArray();
    assertThat(all).containsExactly(numbers(wanted));
  }

  /** Of {@code (x w - 5) / 4}: gelu(y) = y Phi(y), silu(y) = y / (1 + exp(-y)). */
  @ParameterizedTest
  @CsvSource({
    "relu, 0, 2, 1.75, 6",
    "gelu, -0.10032342, 1.95449974, 1.67989788, 5.99999999",
    "silu, -0.10945588, 1.76159416, 1.49091742, 5.98516427"
  })
  void epilogue_activation_isApplied(String name, double a, double b, double c, double d) {
    String all =
        at("output_tile", "'e':'add','a':4")
            + ","
            + at("output_tile", "'e':'scale','x':0.25")
            + ","
            + at("output_tile", "'e':'%s'".formatted(name));
    assertThat(composite("'a':1,'b':2", all))
        .containsExactly(new double[] {a, b, c, d}, within(2e-6));
  }

  /** The two K steps give {@code [1 2] [5 6]} and {@code [3 11] [7 23]}; less 5 and cut at 0. */
  @Test
  void epilogue_when_isThatOfTheField() {
    String less = "'e':'bias','a':6";
    String cut = "'e':'relu'";
    assertThat(composite("'a':1,'b':2", at("k_tile", less) + "," + at("k_tile", cut)))
        .containsExactly(0, 6, 0 + 2, 1 + 18);
    assertThat(composite("'a':1,'b':2", at("output_tile", less) + "," + at("output_tile", cut)))
        .containsExactly(0, 8, 7, 24);
    // what is listed first is done last
    assertThat(
            composite(
                "'a':1,'b':2",
                at("kernel", "'e':'add','a':4") + "," + at("output_tile", "'e':'scale','x':2")))
        .containsExactly(3, 21, 19, 53);
  }

  private static String at(String when, String epilogue) {
    return "{'when':'%s',%s}".formatted(when, epilogue);
  }

  private static double[] numbers(String words) {
    return Arrays.stream(words.split(" ")).mapToDouble(Double::parseDouble).toArray();
  }

  // ---- waiting ----

  /** When the clock is looked at after these calls, in ns. */
  private static double clock(String... calls) {
    try (Torch torch = open()) {
      List<Tensor> all = tensors(torch, Shape.of(2, 4));
      Answers author =
          new Answers(
              List.of(
                  tape(List.of(calls), "'run':1,'look':{'at':'clock'}"),
                  tape(List.of(), "'run':1")));
      torch.launch("k", new TapeKernel(1, all, author), all.get(0), all.get(1), all.get(2));
      torch.synchronize();
      assertThat(author.questions).hasSize(2);
      return ((Number) author.seen(1)).doubleValue();
    }
  }

  @Test
  void await_standsStillUntilAValueOrAllIsThere() {
    double asked = clock(LOAD_X);
    double there = clock(LOAD_X, "{'c':'await','a':1}");
    assertThat(there).isGreaterThan(asked + 50);
    assertThat(clock(LOAD_X, "{'c':'await_all'}")).isEqualTo(there);

    double stored = clock(LOAD_X, store(1), "{'c':'await_handle','h':99}");
    assertThat(stored).isGreaterThan(there + 50);
    assertThat(clock(LOAD_X, store(1), "{'c':'await_all'}")).isEqualTo(stored);
    assertThat(clock(LOAD_X, store(1))).isLessThan(there);
  }

  /** To the nearest picosecond. */
  @Test
  void elapse_takesTheNanosecondsThatItSays() {
    String wait = "{'c':'await_handle','h':1}";
    double base = clock("{'c':'elapse','o':1,'x':100}", wait);
    assertThat(clock("{'c':'elapse','o':1,'x':350.0016}", wait) - base)
        .isCloseTo(250.002, within(1e-7));
  }

  // ---- messages between PEs ----

  /** A value goes from PE 0 to PE 1, which receives it with this call. */
  private static Sent sent(boolean inJava, String receive) {
    try (Torch torch = open()) {
      Pe left = new Pe(0, 0, 0);
      Pe right = new Pe(0, 0, 1);
      torch
          .simulator()
          .install(
              new QueuePlan(
                  torch.machine().ipcq(),
                  List.of(new QueuePlan.Connection(left, "E", right, "W"))));
      DpPolicy rows = DpPolicy.rowWise().withCubes(1).withPes(2);
      Tensor x = torch.from(X, Shape.of(2, 4), DType.F32, rows, "x");
      Tensor y = torch.zeros(Shape.of(2, 4), DType.F32, rows, "y");
      String field = "'%s':'%s','shape':[1,4],'dtype':'f32'";
      Answers author =
          new Answers(
              List.of(
                  tape(
                      List.of(LOAD_X, "{'c':'send','to':'E','a':1}"),
                      "'consulted':['program_id0']"),
                  tape(
                      List.of(
                          "{'c':'%s','o':1,%s}".formatted(receive, field.formatted("from", "W")),
                          "{'c':'mul','o':2,'a':1,'x':10}",
                          "{'c':'store','o':3,'s':{'t':1,'at':'own'},'a':2}"),
                      "'consulted':['program_id0']")));
      Launch launch =
          inJava
              ? torch.launch("k", tl -> inJava(tl, receive, x, y), x, y)
              : torch.launch("k", new TapeKernel(1, List.of(x, y), author), x, y);
      torch.await(launch);
      return new Sent(y.toDoubles(), torch.simulator().opLog().hash());
    }
  }

  private record Sent(double[] values, String log) {}

  private static void inJava(Tl tl, String receive, Tensor x, Tensor y) {
    if (tl.programId(0) == 0) {
      tl.send("E", tl.load(x));
      return;
    }
    Shape shape = Shape.of(1, 4);
    tl.store(
        y,
        switch (receive) {
          case "recv" -> tl.recv("W", shape, DType.F32).mul(10);
          case "recv_copy" -> tl.recvCopy("W", shape, DType.F32).mul(10);
          default -> tl.recvAsync("W", shape, DType.F32).mul(10);
        });
  }

  @ParameterizedTest
  @CsvSource({"recv", "recv_copy", "recv_async"})
  void receive_hasTheMessage_andTheLogOfTheSameCallInJava(String receive) {
    Sent tape = sent(false, receive);
    assertThat(tape.values).containsExactly(0, 0, 0, 0, 10, 20, 30, 40);
    assertThat(tape.log).isEqualTo(sent(true, receive).log);
  }

  // ---- what is refused ----

  private static void refused(String call, String message) {
    try (Torch torch = open()) {
      List<Tensor> all = tensors(torch, Shape.of(2, 4));
      List<String> messages = new ArrayList<>();
      Consumer<Tl> body =
          tl -> {
            Player player = new Player(tl, all);
            assertThat(player.line()).isEqualTo("an unknown line");
            player.set(1, tl.zeros(Shape.of(2, 4), DType.F32));
            assertThatThrownBy(
                    () -> CallTape.of(tape(List.of(call), "'consulted':[]")).playOn(player))
                .isInstanceOf(UsageException.class)
                .satisfies(e -> messages.add(e.getMessage()));
            assertThat(player.line()).isEqualTo("k.py:1");
          };
      torch.launch("k", body::accept, all.get(0), all.get(1), all.get(2));
      torch.synchronize();
      assertThat(messages).containsExactly("message: " + message);
    }
  }

  @Test
  void play_whatIsUnknown_isRefusedByName() {
    String unknown = ", which this version does not know";
    refused("{'c':'neg','o':2,'a':7}", "there is no value 7");
    refused("{'c':'await_handle','h':4}", "there is no handle 4");
    refused("{'c':'fly','o':2,'a':1}", "c: got \"fly\"" + unknown);
    refused("{'c':'xor','o':2,'a':1,'x':3}", "c: got \"xor\"" + unknown);
    refused("{'c':'get','o':2,'s':{'t':3,'at':'own'}}", "t: got 3; the kernel was launched with 3");
    refused(
        "{'c':'get','o':2,'s':{'t':-1,'at':'own'}}", "t: got -1; the kernel was launched with 3");
    refused("{'c':'get','o':2,'s':{'t':2,'at':'home'}}", "at: got \"home\"" + unknown);
    refused(
        "{'c':'get','o':2,'s':{'t':0,'at':'peer','pe':[0,1]}}",
        "pe: got [0, 1]; expected [sip, cube, pe]");
    String composite =
        "{'c':'composite','o':2,'sa':{'t':0,'at':'own'},'sb':{'t':1,'at':'own'},"
            + "'s':{'t':2,'at':'own','part':[0,2,0,2]},'epilogues':[{'when':'%s','e':'%s'}]}";
    refused(composite.formatted("k_tile", "swish"), "e: got \"swish\"" + unknown);
    refused(composite.formatted("never", "relu"), "when: got \"never\"" + unknown);
  }

  @Test
  void tape_lineOutOfRange_isRefused() {
    for (int line : new int[] {-1, 2}) {
      assertThatThrownBy(() ->
              CallTape.of(json("{'lines':['a','b'],'tape':[{'c':'neg','l':%d}]}".formatted(line))))
          .isInstanceOf(UsageException.class)
          .hasMessage("message: l: got " + line + "; expected a line of 2");
    }
  }

  @Test
  void look_unknown_isRefused() {
    try (Torch torch = open()) {
      List<Tensor> all = tensors(torch, Shape.of(2, 4));
      Asker author = new Answers(List.of(tape(List.of(LOAD_X), "'run':1,'look':{'at':'stars'}")));
      assertThatThrownBy(
              () -> {
                torch.launch(
                    "k", new TapeKernel(1, all, author), all.get(0), all.get(1), all.get(2));
                torch.synchronize();
              })
          .hasStackTraceContaining(
              "message: look: got \"stars\", which this version does not know");
    }
  }
}
