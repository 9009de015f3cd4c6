package org.kernbench.cli.process;

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.kernbench.config.UsageException;
import org.kernbench.eval.sweep.Sweep;
import org.kernbench.eval.sweep.SweepRow;
import org.kernbench.eval.sweep.SweepRunner;

/**
 * A process that runs points of a sweep: this program again, told by {@code --worker} to read
 * points from its standard input and to write rows to its standard output.
 *
 * <p>Processes rather than threads: a simulation hands over between virtual threads a few million
 * times a second, which is fast only if one carrier thread does it all, and the virtual machine has
 * one set of carriers for all simulations in it (numbers in ADR 0031). A point that takes the
 * memory of its process takes no other point with it.
 */
public final class WorkerProcess implements SweepRunner.Worker {
  private static final int OUT_OF_MEMORY = 3;
  private static final long QUICK_NS = 30_000_000_000L;

  private final Process process;
  private final boolean quick;
  private final long startedNs = System.nanoTime();
  private final DataOutputStream requests;
  private final DataInputStream rows;
  private final Thread listener;
  private volatile String complaint = "";

  private WorkerProcess(Process process, boolean quick) {
    this.process = process;
    this.quick = quick;
    this.requests = new DataOutputStream(new BufferedOutputStream(process.getOutputStream()));
    this.rows = new DataInputStream(process.getInputStream());
    listener = new Thread(this::listen, "complaints");
    listener.setDaemon(true);
    listener.start();
  }

  /** Remembers the last line that the process complained with. */
  private void listen() {
    try (BufferedReader err = process.errorReader(StandardCharsets.UTF_8)) {
      for (String line = err.readLine(); line != null; line = err.readLine()) {
        if (!line.equals(VectorProcess.REMARK)) {
          complaint = line;
        }
      }
    } catch (IOException e) {
      complaint = ""; // the process has ended
    }
  }

  /**
   * One that starts fast and, if the sweep turns out to be long, goes on as one that runs fast: the
   * optimising compiler takes four seconds of a processor per process, which short sweeps never get
   * back and which take the second core away from the second worker.
   *
   * @param args the arguments of this sweep
   */
  public static SweepRunner.Worker growing(List<String> args) {
    return new SweepRunner.Worker() {
      private WorkerProcess now = start(args, true);

      @Override
      public SweepRow run(Sweep.Point point) {
        if (now.quick && System.nanoTime() - now.startedNs > QUICK_NS) {
          now.close();
          now = start(args, false);
        }
        return now.run(point);
      }

      @Override
      public void close() {
        now.close();
      }
    };
  }

  private static WorkerProcess start(List<String> args, boolean quick) {
    try {
      JavaProcess.Kind kind = quick ? JavaProcess.Kind.QUICK : JavaProcess.Kind.VECTOR;
      return new WorkerProcess(JavaProcess.command(kind, args).start(), quick);
    } catch (IOException e) {
      throw new UsageException("cannot start a process for the sweep: " + e.getMessage());
    }
  }

  @Override
  public SweepRow run(Sweep.Point point) {
    try {
      requests.writeInt(point.index());
      requests.writeUTF(point.key());
      requests.flush();
      List<String> texts = new ArrayList<>();
      for (int left = rows.readInt(); left > 0; left--) {
        texts.add(new String(rows.readNBytes(rows.readInt()), StandardCharsets.UTF_8));
      }
      return SweepRow.fromTexts(texts);
    } catch (IOException e) {
      throw new SweepRunner.WorkerLostException(epitaph());
    }
  }

  private String epitaph() {
    try {
      if (!process.waitFor(5, TimeUnit.SECONDS)) {
        return "its process no longer answers";
      }
      listener.join(Duration.ofSeconds(5)); // what it complained of may still be on its way
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    int code = process.isAlive() ? 0 : process.exitValue();
    return code == OUT_OF_MEMORY
        ? """
        its process ran out of memory; use --mode time, fewer --jobs, or more memory \
        (KERNBENCH_JAVA_OPTS=-Xmx8g)\
        """
        : "its process was killed or crashed (exit code %s)%s"
            .formatted(code, complaint.isEmpty() ? "" : ": " + complaint);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }

  // ---- the other side ----

  /** A point to run: its index, and the key that both sides must agree on. */
  private record Request(int index, String key) {}

  /**
   * Serves until standard input ends; then the process ends at once, also in the middle of a point,
   * since nobody waits for its row any more.
   */
  public static int serve(Sweep sweep, InputStream in) {
    OutputStream rows = new FileOutputStream(FileDescriptor.out);
    System.setOut(System.err); // what a bench prints is no row
    return serve(sweep, in, rows, () -> Runtime.getRuntime().halt(0));
  }

  static int serve(Sweep sweep, InputStream in, OutputStream rows, Runnable ended) {
    DataOutputStream out = new DataOutputStream(new BufferedOutputStream(rows));
    BlockingQueue<Request> requests = new LinkedBlockingQueue<>();
    Thread reader = new Thread(() -> read(in, requests, ended), "requests");
    reader.setDaemon(true);
    reader.start();
    List<Sweep.Point> points = sweep.points();
    SweepRunner.Worker worker = SweepRunner.inPlace(sweep);
    try {
      while (true) {
        Request request = requests.take();
        Sweep.Point point = points.get(request.index());
        if (!point.key().equals(request.key())) {
          return 1; // a file of the sweep has changed since it began
        }
        write(out, worker.run(point));
      }
    } catch (InterruptedException | IOException e) {
      return 1;
    } catch (OutOfMemoryError e) {
      return OUT_OF_MEMORY;
    }
  }

  private static void read(InputStream in, BlockingQueue<Request> requests, Runnable ended) {
    try (DataInputStream data = new DataInputStream(in)) {
      while (true) {
        requests.add(new Request(data.readInt(), data.readUTF()));
      }
    } catch (EOFException e) {
      ended.run();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void write(DataOutputStream out, SweepRow row) throws IOException {
    List<String> texts = row.toTexts();
    out.writeInt(texts.size());
    for (String text : texts) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      out.writeInt(bytes.length);
      out.write(bytes);
    }
    out.flush();
  }
}
