package org.kernbench.cli.serve;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.JsonObject;

/**
 * Messages on two streams: four bytes of length, the most significant first, then a JSON object in
 * UTF-8.
 *
 * <p>A thread of its own reads, so that the end of the input is seen at once, also while a
 * simulation runs: whoever wrote there is gone then, and this process has to go too.
 */
final class Frames {
  /** The longest message: arrays travel beside. */
  static final int LONGEST_BYTES = 64 << 20;

  /** For how long a message that has begun may stand still. */
  private final long patienceMs;

  private final InputStream in;
  private final OutputStream out;
  private final Runnable gone;
  private final BlockingQueue<Arrived> arrived = new LinkedBlockingQueue<>();

  private volatile int missing;
  private volatile long moved;

  /** A whole message, or why none can come any more. */
  private record Arrived(byte[] bytes, String broken) {}

  /** What came is no message, and where the next one begins is not known. */
  static final class BrokenStreamException extends IOException {
    private static final long serialVersionUID = 1L;

    BrokenStreamException(String message) {
      super(message);
    }
  }

  /**
   * Begins to read.
   *
   * @param gone is run, on another thread, when the input ends
   */
  Frames(InputStream in, OutputStream out, long patienceMs, Runnable gone) {
    this.in = in;
    this.out = out;
    this.patienceMs = patienceMs;
    this.gone = gone;
    Thread.ofPlatform().daemon().name("messages").start(this::readAll);
  }

  private void readAll() {
    try (DataInputStream data = new DataInputStream(in)) {
      while (true) {
        byte[] head = read(data, Integer.BYTES);
        int length = ByteBuffer.wrap(head).getInt();
        if (length < 2 || length > LONGEST_BYTES) {
          arrived.add(
              new Arrived(
                  head,
                  "a message of %s bytes is announced; expected 2 to %s, then a JSON object"
                      .formatted(Integer.toUnsignedString(length), LONGEST_BYTES)));
          data.transferTo(OutputStream.nullOutputStream());
          break;
        }
        missing = length;
        arrived.add(new Arrived(read(data, length), ""));
      }
    } catch (IOException e) {
      missing = 0;
    }
    gone.run();
  }

  private byte[] read(InputStream data, int length) throws IOException {
    byte[] bytes = new byte[length];
    for (int at = 0; at < length; ) {
      int count = data.read(bytes, at, length - at);
      if (count < 0) {
        throw new EOFException();
      }
      at += count;
      moved = System.nanoTime();
      missing = length - at;
    }
    return bytes;
  }

  /**
   * The next message; waits for it.
   *
   * @throws org.kernbench.config.UsageException if it is no JSON object; the next one can be read
   * @throws BrokenStreamException if no other can be read
   */
  JsonObject next() throws BrokenStreamException {
    Arrived message = take();
    if (!message.broken().isEmpty()) {
      throw new BrokenStreamException(message.broken());
    }
    return JsonObject.read(message.bytes());
  }

  private Arrived take() throws BrokenStreamException {
    try {
      while (true) {
        Arrived message = arrived.poll(patienceMs, TimeUnit.MILLISECONDS);
        if (message != null) {
          return message;
        }
        int left = missing;
        if (left > 0 && System.nanoTime() - moved > patienceMs * 1_000_000) {
          throw new BrokenStreamException(
              "a message stands still %s bytes before its end; expected all of it".formatted(left));
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BrokenStreamException("interrupted");
    }
  }

  /** Sends a message. */
  void send(Map<String, ?> message) throws IOException {
    byte[] text = Json.compact(message).getBytes(StandardCharsets.UTF_8);
    out.write(
        ByteBuffer.allocate(Integer.BYTES + text.length).putInt(text.length).put(text).array());
    out.flush();
  }
}
