package org.kernbench.cli.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;

/** Messages on a stream, byte by byte. */
@Timeout(60)
final class FramesTest {
  private static byte[] head(int length) {
    return ByteBuffer.allocate(4).putInt(length).array();
  }

  private static byte[] joined(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }

  private static byte[] message(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return joined(head(bytes.length), bytes);
  }

  private static Frames over(InputStream in, long patienceMs, Runnable gone) {
    return new Frames(in, OutputStream.nullOutputStream(), patienceMs, gone);
  }

  @Test
  void messages_areReadOneAfterTheOther_thenTheReaderIsTold() throws Exception {
    byte[] all =
        joined(message("{}"), message("{\"a\":\"ü\"}"), message("[1]"), message("{\"b\":2}"));
    CountDownLatch gone = new CountDownLatch(1);
    Frames frames = over(new ByteArrayInputStream(all), 60_000, gone::countDown);

    assertThat(frames.next().names()).isEmpty();
    assertThat(frames.next().text("a")).isEqualTo("ü");
    assertThatThrownBy(frames::next).isInstanceOf(UsageException.class);
    assertThat(frames.next().whole("b")).isEqualTo(2);
    assertThat(gone.await(30, TimeUnit.SECONDS)).isTrue();
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "1, 1", "67108865, 67108865", "-1, 4294967295"})
  void lengthThatNoMessageHas_endsTheStream(int length, String shown) {
    Frames frames =
        over(new ByteArrayInputStream(joined(head(length), message("{}"))), 60_000, () -> {});

    assertThatThrownBy(frames::next)
        .isInstanceOf(Frames.BrokenStreamException.class)
        .hasMessage(
            """
            a message of %s bytes is announced; expected 2 to 67108864, then a JSON object\
            """
                .formatted(shown));
  }

  /** Also the longest message may begin; when it does not go on, the stream is broken. */
  @Test
  void messageThatStandsStill_isSaid_withWhatIsMissing() throws IOException {
    PipedOutputStream out = new PipedOutputStream();
    Frames frames = over(new PipedInputStream(out), 100, () -> {});
    out.write(joined(head(Frames.LONGEST_BYTES), new byte[] {'{', '"', 'a'}));
    out.flush();

    assertThatThrownBy(frames::next)
        .isInstanceOf(Frames.BrokenStreamException.class)
        .hasMessage("a message stands still 67108861 bytes before its end; expected all of it");
  }

  /** Between messages one may wait for as long as one likes. */
  @Test
  void silenceBetweenMessages_isNoError() throws Exception {
    PipedOutputStream out = new PipedOutputStream();
    Frames frames = over(new PipedInputStream(out), 20, () -> {});
    Thread writer =
        Thread.ofVirtual()
            .start(() -> {
              try {
                Thread.sleep(300);
                out.write(message("{\"late\":1}"));
                out.flush();
              } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
              }
            });

    assertThat(frames.next().whole("late")).isEqualTo(1);
    writer.join();
  }

  @Test
  void endInTheMiddleOfAMessage_isTheEnd() throws Exception {
    CountDownLatch gone = new CountDownLatch(1);
    byte[] cut = joined(head(10), new byte[] {'{'});
    Frames frames = over(new ByteArrayInputStream(cut), 60_000, gone::countDown);

    assertThat(gone.await(30, TimeUnit.SECONDS)).isTrue();
    assertThat(frames).isNotNull();
  }

  @Test
  void send_writesLengthAndText_atOnce() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    int[] flushed = new int[1];
    OutputStream counted =
        new OutputStream() {
          @Override
          public void write(int b) {
            out.write(b);
          }

          @Override
          public void flush() {
            flushed[0] = out.size();
          }
        };
    Frames frames = new Frames(new ByteArrayInputStream(new byte[0]), counted, 1000, () -> {});

    frames.send(Map.of("is", "ü"));

    assertThat(out.toByteArray()).isEqualTo(message("{\"is\":\"ü\"}"));
    assertThat(flushed[0]).isEqualTo(out.size());
  }
}
