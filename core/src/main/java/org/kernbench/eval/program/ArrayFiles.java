package org.kernbench.eval.program;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Set;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.OutputException;
import org.kernbench.tensor.Loan;
import org.kernbench.torch.Tensor;

/**
 * Arrays that travel in files (ADR 0157). What a large one takes is pages: each that is touched for
 * the first time costs as much as to copy it twice. So a file that comes becomes device memory as
 * it is, and one that goes is written, not mapped, by two threads.
 */
final class ArrayFiles implements AutoCloseable {
  /** Below this a copy is quicker than a map. */
  private static final long LENT_BYTES = 1 << 20;

  /** Maps that device memory still reads. */
  private final Set<Arena> lent = new LinkedHashSet<>();

  /** Overwrites a tensor with a file that nobody changes any more. */
  void write(String file, Tensor tensor) {
    try (FileChannel channel = open(file, READ)) {
      Arena arena = Arena.ofShared();
      lent.add(arena);
      Loan loan =
          new Loan(
              channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena),
              () -> giveBack(arena));
      try {
        if (channel.size() < LENT_BYTES) {
          tensor.copyInPlace(loan.bytes());
        } else {
          tensor.lendInPlace(loan);
        }
      } finally {
        loan.release();
      }
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }

  private void giveBack(Arena arena) {
    if (lent.remove(arena)) {
      arena.close();
    }
  }

  /** Writes a tensor's bytes to a file. */
  void read(String file, Tensor tensor) {
    try (FileChannel channel = open(file, READ, WRITE, CREATE)) {
      if (tensor.isInRuns()) {
        try (TwoWriters writers = new TwoWriters(channel)) {
          tensor.toRuns(writers::write);
          writers.finish();
        }
      } else {
        scatter(channel, tensor);
      }
    } catch (IOException e) {
      throw unwritable(file, e);
    }
  }

  /** Memory is reserved first: a full folder is an exception here, and a fault in a map. */
  private static void scatter(FileChannel channel, Tensor tensor) throws IOException {
    ByteBuffer zeros = ByteBuffer.allocateDirect(1 << 20);
    for (long at = 0; at < tensor.sizeBytes(); at += zeros.capacity()) {
      zeros.clear().limit((int) Math.min(zeros.capacity(), tensor.sizeBytes() - at));
      TwoWriters.write(channel, zeros, at);
    }
    try (Arena arena = Arena.ofConfined()) {
      tensor.toMemory(channel.map(FileChannel.MapMode.READ_WRITE, 0, tensor.sizeBytes(), arena));
    }
  }

  /** Values in f64, which any dtype is rounded from once. */
  double[] doubles(String file) {
    try {
      byte[] bytes = Files.readAllBytes(Path.of(file));
      double[] values = new double[bytes.length / Double.BYTES];
      ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer().get(values);
      return values;
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }

  /** Writes values in f64. */
  void save(String file, double[] values) {
    byte[] bytes = new byte[Math.multiplyExact(values.length, Double.BYTES)];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer().put(values);
    try {
      Files.write(Path.of(file), bytes);
    } catch (IOException e) {
      throw unwritable(file, e);
    }
  }

  private static FileChannel open(String file, OpenOption... options) throws IOException {
    return FileChannel.open(Path.of(file), options);
  }

  private static UsageException unreadable(String file, IOException e) {
    return new UsageException("file " + file + " cannot be read: " + e.getMessage());
  }

  private static OutputException unwritable(String file, IOException e) {
    return new OutputException("file " + file + " cannot be written: " + e.getMessage(), e);
  }

  /** Gives back what device memory still reads; it must not be read any more. */
  @Override
  public void close() {
    lent.forEach(Arena::close);
    lent.clear();
  }
}
