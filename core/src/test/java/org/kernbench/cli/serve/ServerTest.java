package org.kernbench.cli.serve;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kernbench.cli.Commands;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.JsonObject;
import org.kernbench.eval.program.ProgramException;

/** The server of a pipe in this process, with both ends in hand. */
@Timeout(120)
final class ServerTest {
  private static final String LIST = "{\"do\":\"version\"}";
  private static final long PATIENCE_MS = 150;

  /** One server and the other end of its pipe. */
  private static final class Line implements AutoCloseable {
    final DataOutputStream out;
    final DataInputStream in;
    final CompletableFuture<Integer> code = new CompletableFuture<>();
    final CompletableFuture<Boolean> gone = new CompletableFuture<>();

    Line() throws IOException {
      PipedInputStream requests = new PipedInputStream(1 << 16);
      PipedInputStream answers = new PipedInputStream(1 << 20);
      out = new DataOutputStream(new PipedOutputStream(requests));
      in = new DataInputStream(answers);
      PipedOutputStream to = new PipedOutputStream(answers);
      Server server = new Server(requests, to, PATIENCE_MS, () -> gone.complete(true));
      Thread.ofPlatform().daemon().start(() -> code.complete(server.serve()));
      assertThat(answer().text("is")).isEqualTo("ready");
    }

    void send(byte[] message) throws IOException {
      out.writeInt(message.length);
      out.write(message);
      out.flush();
    }

    JsonObject answer() throws IOException {
      byte[] bytes = new byte[in.readInt()];
      in.readFully(bytes);
      return JsonObject.read(bytes);
    }

    JsonObject ask(String request) throws IOException {
      send(request.getBytes(StandardCharsets.UTF_8));
      return answer();
    }

    @Override
    public void close() throws IOException {
      out.close();
    }
  }

  @Test
  void command_saysWhatTheCommandLineSays() throws IOException {
    try (Line line = new Line()) {
      JsonObject good =
          line.ask("{\"do\":\"command\",\"args\":[\"run\",\"hello-send\",\"--format\",\"json\"]}");
      assertThat(good.text("is")).isEqualTo("done");
      assertThat(good.whole("code")).isZero();
      assertThat(good.text("out")).contains("\"crit_ns\": 178.354");
      JsonObject bad = line.ask("{\"do\":\"command\",\"args\":[\"run\",\"hello-sent\"]}");
      assertThat(bad.whole("code")).isEqualTo(2);
      assertThat(bad.text("err"))
          .isEqualTo("kernbench: unknown bench hello-sent; did you mean hello-send?\n");
      assertThat(line.ask(LIST).text("is")).isEqualTo("done");
    }
  }

  @Test
  void error_saysItsKindAndText_alsoWithoutOne() {
    Map<String, Object> wrong = Server.error(new UsageException("no such thing"));
    assertThat(wrong)
        .containsEntry("is", "error")
        .containsEntry("code", 2)
        .containsEntry("err", "kernbench: no such thing\n")
        .containsEntry("type", "UsageException")
        .containsEntry("text", "no such thing");

    Map<String, Object> program = Server.error(new ProgramException("rank 1 stopped"));
    assertThat(program)
        .containsEntry("code", 1)
        .containsEntry("err", "kernbench: rank 1 stopped\n")
        .containsEntry("text", "rank 1 stopped");

    Map<String, Object> silent = Server.error(new IllegalStateException());
    assertThat(silent).containsEntry("code", 1).containsEntry("text", Json.NULL);
    assertThat((String) silent.get("err"))
        .startsWith("kernbench: internal error: this is a bug")
        .contains("java.lang.IllegalStateException\n");
    assertThat(Json.compact(silent)).contains("\"text\":null");
  }

  @Test
  void program_thatIsNotOpen_isRefused() throws IOException {
    try (Line line = new Line()) {
      for (String what : List.of("act", "close")) {
        JsonObject answer = line.ask("{\"do\":\"%s\",\"program\":1}".formatted(what));
        assertThat(answer.text("is")).isEqualTo("error");
        assertThat(answer.text("type")).isEqualTo("UsageException");
        assertThat(answer.text("text"))
            .isEqualTo("message: program: there is no number 1; open one");
      }
      JsonObject unknown = line.ask("{\"do\":\"dance\"}");
      assertThat(unknown.text("text"))
          .isEqualTo("message: do: got \"dance\"; expected command, open, act, close or version");
      assertThat(line.ask(LIST).text("kernbench")).isEqualTo(Commands.version());
    }
  }

  /** The end of the input is seen while a simulation runs: whoever asked is gone. */
  @Test
  void end_duringARun_isSeenAtOnce() throws Exception {
    Line line = new Line();
    line.send(
        "{\"do\":\"command\",\"args\":[\"run\",\"ccl-allreduce\"]}"
            .getBytes(StandardCharsets.UTF_8));
    line.close();
    assertThat(line.gone.get(10, TimeUnit.SECONDS)).isTrue();
  }

  /**
   * Of 200 spoilt messages each gets an error or an answer, and a good one after it is answered.
   */
  @Test
  void spoiltMessages_endInAnError_neverInSilence() throws IOException {
    Random random = new Random(7);
    List<String> good =
        List.of(
            LIST,
            "{\"do\":\"command\",\"args\":[\"--version\"]}",
            "{\"do\":\"command\",\"args\":[\"machine\",\"show\",\"tiny\"]}");
    int errors = 0;
    try (Line line = new Line()) {
      for (int i = 0; i < 200; i++) {
        byte[] message = spoilt(good.get(i % good.size()), random);
        line.send(message);
        JsonObject answer = line.answer();
        if (answer.text("is").equals("error")) {
          errors++;
          assertThat(answer.whole("code")).isEqualTo(2);
          assertThat(answer.text("err")).startsWith("kernbench: ").doesNotContain("\tat ");
        }
        assertThat(line.ask(LIST).text("is")).isEqualTo("done");
      }
    }
    assertThat(errors)
        .isGreaterThan(120); // some spoilt letters stand in arguments, for the command to judge
  }

  /**
   * Cut, letters changed, doubled, or noise; at least two bytes, which is what a frame may hold.
   */
  private static byte[] spoilt(String text, Random random) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return switch (random.nextInt(4)) {
      case 0 -> Arrays.copyOf(bytes, 2 + random.nextInt(bytes.length - 3));
      case 1 -> {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
        yield bytes;
      }
      case 2 -> (text + text).getBytes(StandardCharsets.UTF_8);
      default -> {
        byte[] noise = new byte[2 + random.nextInt(80)];
        random.nextBytes(noise);
        yield noise;
      }
    };
  }

  @Test
  void spoiltLengths_endTheServer_withAnError() throws Exception {
    for (int length : new int[] {-1, 0, 1, Frames.LONGEST_BYTES + 1, Integer.MIN_VALUE}) {
      try (Line line = new Line()) {
        line.out.writeInt(length);
        line.out.flush();
        assertThat(line.answer().text("err"))
            .contains("pipe: a message of " + Integer.toUnsignedString(length) + " bytes");
        assertThat(line.code.get(10, TimeUnit.SECONDS)).isEqualTo(2);
      }
    }
  }

  /** A length that promises more than comes: the writer waits for an answer, and must get one. */
  @Test
  void messageThatStandsStill_endsTheServer_withAnError() throws Exception {
    for (int promised : new int[] {3, 100, 1_000_000}) {
      try (Line line = new Line()) {
        line.out.write(ByteBuffer.allocate(6).putInt(promised).put(new byte[2]).array());
        line.out.flush();
        assertThat(line.answer().text("err")).contains("stands still");
        assertThat(line.code.get(10, TimeUnit.SECONDS)).isEqualTo(2);
      }
    }
  }

  @Test
  void longMessages_areWhole() throws IOException {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    text.writeBytes("{\"do\":\"".getBytes(StandardCharsets.UTF_8));
    text.writeBytes("x".repeat(300_000).getBytes(StandardCharsets.UTF_8));
    text.writeBytes("\"}".getBytes(StandardCharsets.UTF_8));
    try (Line line = new Line()) {
      line.send(text.toByteArray());
      assertThat(line.answer().text("err")).contains("expected command");
    }
  }
}
