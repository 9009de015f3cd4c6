package org.kernbench.eval.program;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.JsonObject;
import org.kernbench.tensor.Loan;
import org.kernbench.torch.Tensor;

/**
 * Arrays that travel between a program's author, in another process, and tensors. They pass in
 * pieces through a window, two pieces of memory that both processes have mapped: while one side
 * fills a piece, the other empties the other (ADR 0218).
 *
 * <p>What a large array takes is pages: one of 4 KiB that is touched for the first time costs more
 * than to copy it. The window has few, which are used again and again; what arrives lies in {@link
 * HostMemory}, whose pages are large, and is lent to device memory.
 */
final class ArrayWindow implements AutoCloseable {
  private static final int PIECES = 2;

  /** From here on an array is lent, not copied. */
  private static final int LENT_BYTES = 1 << 20;

  private final Asker author;
  private final int pieceBytes;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment window;

  /** Arrays that device memory still reads. */
  private final Set<Arena> lent = new LinkedHashSet<>();

  /**
   * Maps a file of two pieces, whose name may go afterwards.
   *
   * @throws UsageException if it cannot be read and written, or has another size
   */
  ArrayWindow(Asker author, String file, int pieceBytes) {
    this.author = author;
    this.pieceBytes = pieceBytes;
    try (FileChannel channel =
        FileChannel.open(Path.of(file), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      if (pieceBytes < 1 || channel.size() != (long) PIECES * pieceBytes) {
        throw new UsageException(
            "file %s of %s bytes; expected %s pieces of %s"
                .formatted(file, channel.size(), PIECES, pieceBytes));
      }
      this.window =
          channel.map(FileChannel.MapMode.READ_WRITE, 0, (long) PIECES * pieceBytes, arena);
    } catch (IOException e) {
      throw new UsageException("file " + file + " cannot be mapped: " + e.getMessage());
    }
  }

  // ---- in ----

  /** Overwrites a tensor; the first two pieces lie in the window. */
  void write(int transfer, Tensor tensor) {
    long bytes = tensor.sizeBytes();
    if (bytes < LENT_BYTES) {
      byte[] elements = new byte[(int) bytes];
      receive(transfer, MemorySegment.ofArray(elements));
      tensor.copyInPlace(elements);
      return;
    }
    Arena memory = Arena.ofShared();
    lent.add(memory);
    Loan loan = new Loan(HostMemory.take(bytes, memory), () -> giveBack(memory));
    try {
      receive(transfer, loan.bytes());
      tensor.lendInPlace(loan);
    } finally {
      loan.release();
    }
  }

  /** Overwrites a tensor with values in f64, each rounded once; as above. */
  void writeDoubles(int transfer, Tensor tensor) {
    byte[] bytes = new byte[Math.toIntExact(tensor.shape().elements() * Double.BYTES)];
    receive(transfer, MemorySegment.ofArray(bytes));
    double[] values = new double[bytes.length / Double.BYTES];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer().get(values);
    tensor.copyInPlace(values);
  }

  private void giveBack(Arena memory) {
    if (lent.remove(memory)) {
      memory.close();
    }
  }

  /**
   * All of it, before anything else happens: other ranks may use the window as soon as this one
   * waits.
   */
  private void receive(int transfer, MemorySegment to) {
    long pieces = Math.ceilDiv(to.byteSize(), pieceBytes);
    try (Question question = new Question(transfer, "fill")) {
      for (long k = 0; k < pieces; k++) {
        long at = k * pieceBytes;
        MemorySegment.copy(
            window, k % PIECES * pieceBytes, to, at, Math.min(pieceBytes, to.byteSize() - at));
        question.hear();
        if (k + PIECES < pieces) {
          long next = (k + PIECES) * pieceBytes;
          question.put(k % PIECES, next, Math.min(pieceBytes, to.byteSize() - next));
        }
      }
    }
  }

  // ---- out ----

  /** Sends a tensor's bytes; gives the piece that is left in the window. */
  Map<String, Object> read(int transfer, Tensor tensor) {
    try (Sender sender = new Sender(transfer)) {
      if (tensor.isInRuns()) {
        tensor.toRuns((position, bytes, count) ->
            sender.take(position, MemorySegment.ofArray(bytes).asSlice(0, count)));
      } else {
        try (Arena memory = Arena.ofShared()) {
          MemorySegment whole = HostMemory.take(tensor.sizeBytes(), memory);
          tensor.toMemory(whole);
          sender.take(0, whole);
        }
      }
      return sender.last();
    }
  }

  /** Sends a tensor's values in f64; as above. */
  Map<String, Object> readDoubles(int transfer, Tensor tensor) {
    double[] values = tensor.toDoubles();
    byte[] bytes = new byte[Math.multiplyExact(values.length, Double.BYTES)];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer().put(values);
    try (Sender sender = new Sender(transfer)) {
      sender.take(0, MemorySegment.ofArray(bytes));
      return sender.last();
    }
  }

  /** Collects neighbouring bytes until a piece is full. */
  private final class Sender implements AutoCloseable {
    private final Question question;
    private int piece;
    private long start;
    private long filled;

    Sender(int transfer) {
      this.question = new Question(transfer, "take");
    }

    void take(long position, MemorySegment bytes) {
      long done = 0;
      while (done < bytes.byteSize()) {
        if (filled == pieceBytes || position + done != start + filled) {
          next(position + done);
        }
        long count = Math.min(bytes.byteSize() - done, pieceBytes - filled);
        MemorySegment.copy(bytes, done, window, (long) piece * pieceBytes + filled, count);
        filled += count;
        done += count;
      }
    }

    private void next(long position) {
      if (filled > 0) {
        question.hear();
        question.put(piece, start, filled);
        piece = (piece + 1) % PIECES;
      }
      start = position;
      filled = 0;
    }

    Map<String, Object> last() {
      question.hear();
      return place(piece, start, filled);
    }

    @Override
    public void close() {
      question.close();
    }
  }

  private static Map<String, Object> place(long piece, long at, long count) {
    Map<String, Object> place = new LinkedHashMap<>();
    place.put("piece", piece);
    place.put("at", at);
    place.put("count", count);
    return place;
  }

  /** What is asked of the author about one array: one piece at a time. */
  private final class Question implements AutoCloseable {
    private final int transfer;
    private final String what;
    private boolean open;

    Question(int transfer, String what) {
      this.transfer = transfer;
      this.what = what;
    }

    /** Asks for a piece to be filled or taken, and does not wait. */
    void put(long piece, long at, long count) {
      Map<String, Object> question = place(piece, at, count);
      question.put("what", what);
      question.put("transfer", transfer);
      author.put(question);
      open = true;
    }

    /** Waits for what was asked last, if that is not answered. */
    void hear() {
      if (open) {
        open = false;
        JsonObject answer = author.hear();
        answer
            .textIfAny("failed")
            .ifPresent(failed -> {
              throw new ProgramException(failed);
            });
      }
    }

    /** The other side has answered, whatever happened here; else its next message would be that. */
    @Override
    public void close() {
      if (open) {
        open = false;
        author.hear();
      }
    }
  }

  /** Gives back what device memory still reads; it must not be read any more. */
  @Override
  public void close() {
    lent.forEach(Arena::close);
    lent.clear();
    arena.close();
  }
}
