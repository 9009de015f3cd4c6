package org.kernbench.eval.program;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Writes pieces of a file with two threads, while the one that brings them goes on: most of what
 * writing to memory takes is the system's, to find and clear pages.
 */
final class TwoWriters implements AutoCloseable {
  private static final int BUFFERS = 8;
  private static final int BUFFER_BYTES = 1 << 18;

  private final FileChannel channel;
  private final ExecutorService threads = Executors.newFixedThreadPool(2);
  private final BlockingQueue<ByteBuffer> free = new ArrayBlockingQueue<>(BUFFERS);
  private CompletableFuture<Void> all = CompletableFuture.completedFuture(null);

  TwoWriters(FileChannel channel) {
    this.channel = channel;
    for (int i = 0; i < BUFFERS; i++) {
      free.add(ByteBuffer.allocateDirect(BUFFER_BYTES));
    }
  }

  /** Takes bytes, at most {@code BUFFER_BYTES}, to a position. */
  void write(long position, byte[] bytes, int count) {
    ByteBuffer buffer = take().clear().put(bytes, 0, count).flip();
    CompletableFuture<Void> one =
        CompletableFuture.runAsync(
            () -> {
              try {
                write(channel, buffer, position);
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              } finally {
                free.add(buffer);
              }
            },
            threads);
    all = all.isDone() && !all.isCompletedExceptionally() ? one : CompletableFuture.allOf(all, one);
  }

  private ByteBuffer take() {
    try {
      return free.take();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while an array is written", e);
    }
  }

  static void write(FileChannel channel, ByteBuffer buffer, long position) throws IOException {
    for (long at = position; buffer.hasRemaining(); ) {
      at += channel.write(buffer, at);
    }
  }

  /**
   * Waits for all that was taken.
   *
   * @throws IOException the first that one of the threads has met
   */
  void finish() throws IOException {
    try {
      all.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof UncheckedIOException io) {
        throw io.getCause();
      }
      throw e;
    }
  }

  @Override
  public void close() {
    threads.close();
  }
}
