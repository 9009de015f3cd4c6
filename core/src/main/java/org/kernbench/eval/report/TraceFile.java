package org.kernbench.eval.report;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.output.OutputException;
import org.kernbench.eval.output.WholeFile;

/**
 * A {@link Trace} in a file that Perfetto (ui.perfetto.dev, offline too) and Chrome's trace viewer
 * open: Perfetto's protobuf, or Chrome's JSON if the name ends in {@code .json}.
 *
 * <p>Viewers count whole nanoseconds, and a link may take half of one for a chunk. So one
 * nanosecond of the file is one picosecond of the run: what the viewer calls 1 µs is 1 ns. The
 * first group of tracks says so.
 *
 * <p>The protobuf is written by hand, field by field, as in Perfetto's {@code
 * protos/perfetto/trace}: {@code Trace.packet 1; TracePacket.timestamp 8,
 * trusted_packet_sequence_id 10, track_event 11, track_descriptor 60; TrackDescriptor.uuid 1, name
 * 2, process 3 (pid 1, process_name 6), parent_uuid 5, counter 8 (unit_name 6); TrackEvent.type 9,
 * track_uuid 11, name 23, debug_annotations 4 (name 10, int 4, string 6), double_counter_value 44,
 * flow_ids 47, terminating_flow_ids 48}.
 */
public final class TraceFile {
  private static final String SCALE = " (1 us here is 1 ns simulated)";
  private static final int SLICE_BEGIN = 1;
  private static final int SLICE_END = 2;
  private static final int COUNTER = 4;

  private TraceFile() {}

  /**
   * What was written.
   *
   * @param slices of all tracks
   * @param flows messages
   * @param samples values of counters
   * @param tracks engines, queues and links
   * @param bytes size of the file
   */
  public record Size(long slices, long flows, long samples, int tracks, long bytes) {}

  /**
   * Writes the trace of a run.
   *
   * @throws OutputException if the run kept no operations or not all, or the file cannot be
   *     written; what was there before is unchanged
   */
  public static Size write(RunResult result, Path file) {
    if (result.log().isEmpty() || result.machine().isEmpty()) {
      throw new OutputException(
          """
          --trace: bench %s keeps no operations%s; trace a bench of a single run, such as \
          ccl-allreduce, in mode full or time\
          """
              .formatted(result.bench(), result.mode().equals("values") ? " in mode values" : ""));
    }
    Trace trace = Trace.of(result.machine().get(), result.log().get());
    long bytes =
        WholeFile.write(
            file,
            out -> {
              if (file.toString().toLowerCase(Locale.ROOT).endsWith(".json")) {
                new Chrome(trace, result).to(out);
              } else {
                new Perfetto(trace, result).to(out);
              }
            });
    return new Size(trace.slices(), trace.flows(), trace.samples(), trace.tracks().size(), bytes);
  }

  private static String group(Trace.Group group, int sip) {
    return switch (group) {
      case ENGINES -> "sip" + sip;
      case QUEUES -> "queues";
      case LINKS -> "links";
    };
  }

  private static String title(RunResult r) {
    return "kernbench " + r.bench() + " on " + r.machineName() + SCALE;
  }

  /** Numbers of processes by group. */
  private static final class Groups {
    private final Map<String, Integer> numbers = new LinkedHashMap<>();

    int of(String name) {
      return numbers.computeIfAbsent(name, n -> numbers.size() + 2);
    }
  }

  // ---- Perfetto ----

  /** Writes packets. */
  private static final class Perfetto {
    private final Trace trace;
    private final RunResult result;
    private final Groups groups = new Groups();
    private final Set<Integer> described = new HashSet<>();
    private long lastUuid = 1_000_000;

    Perfetto(Trace trace, RunResult result) {
      this.trace = trace;
      this.result = result;
    }

    void to(OutputStream out) throws IOException {
      process(out, 1, title(result));
      for (Trace.Track track : trace.tracks()) {
        int group = groups.of(group(track.group(), track.sip()));
        describe(out, group, group(track.group(), track.sip()));
        long uuid = ++lastUuid;
        packet(
            out,
            new Proto()
                .message(
                    60,
                    new Proto()
                        .number(1, uuid)
                        .text(2, track.name())
                        .number(5, group)
                        .number(13, 1))); // never merged with a track of the same name
        for (Trace.Slice slice : track.slices()) {
          slice(out, uuid, slice);
        }
      }
      for (Trace.Counter counter : trace.counters()) {
        counter(out, counter);
      }
    }

    private void describe(OutputStream out, int number, String name) throws IOException {
      if (described.add(number)) {
        process(out, number, name);
      }
    }

    private static void process(OutputStream out, int number, String name) throws IOException {
      Proto process = new Proto().number(1, number).text(6, name);
      packet(out, new Proto().message(60, new Proto().number(1, number).message(3, process)));
    }

    private static void slice(OutputStream out, long uuid, Trace.Slice slice) throws IOException {
      Proto begin = new Proto().number(9, SLICE_BEGIN).number(11, uuid).text(23, slice.name());
      slice
          .notes()
          .forEach((name, value) -> {
            Proto note = new Proto().text(10, name);
            if (value instanceof Number number) {
              note.number(4, number.longValue());
            } else {
              note.text(6, value.toString());
            }
            begin.message(4, note);
          });
      if (slice.flowOut() > 0) {
        begin.fixed(47, slice.flowOut());
      }
      if (slice.flowIn() > 0) {
        begin.fixed(48, slice.flowIn());
      }
      event(out, slice.fromPs(), begin);
      event(out, slice.toPs(), new Proto().number(9, SLICE_END).number(11, uuid));
    }

    private void counter(OutputStream out, Trace.Counter counter) throws IOException {
      long uuid = ++lastUuid;
      int group = groups.of(group(counter.group(), -1));
      describe(out, group, group(counter.group(), -1));
      packet(
          out,
          new Proto()
              .message(
                  60,
                  new Proto()
                      .number(1, uuid)
                      .text(2, counter.name())
                      .number(5, group)
                      .message(8, new Proto().text(6, counter.unit()))));
      for (Trace.Sample sample : counter.samples()) {
        event(
            out,
            sample.timePs(),
            new Proto().number(9, COUNTER).number(11, uuid).real(44, sample.value()));
      }
    }

    private static void event(OutputStream out, long timePs, Proto event) throws IOException {
      packet(out, new Proto().number(8, timePs).message(11, event));
    }

    private static void packet(OutputStream out, Proto packet) throws IOException {
      out.write(new Proto().message(1, packet.number(10, 1)).bytes());
    }
  }

  /** A protobuf message. */
  private static final class Proto {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    Proto number(int field, long value) {
      varint((long) field << 3);
      varint(value);
      return this;
    }

    Proto fixed(int field, long value) {
      varint(((long) field << 3) | 1);
      for (int shift = 0; shift < Long.SIZE; shift += Byte.SIZE) {
        out.write((int) (value >>> shift));
      }
      return this;
    }

    Proto real(int field, double value) {
      return fixed(field, Double.doubleToRawLongBits(value));
    }

    Proto text(int field, String value) {
      return bytes(field, value.getBytes(StandardCharsets.UTF_8));
    }

    Proto message(int field, Proto value) {
      return bytes(field, value.bytes());
    }

    private Proto bytes(int field, byte[] value) {
      varint(((long) field << 3) | 2);
      varint(value.length);
      out.writeBytes(value);
      return this;
    }

    private void varint(long value) {
      long rest = value;
      while ((rest & ~0x7FL) != 0) {
        out.write((int) ((rest & 0x7F) | 0x80));
        rest >>>= 7;
      }
      out.write((int) rest);
    }

    byte[] bytes() {
      return out.toByteArray();
    }
  }

  // ---- Chrome ----

  /** Writes one event per line. */
  private static final class Chrome {
    private final Trace trace;
    private final RunResult result;
    private final Groups groups = new Groups();
    private final StringBuilder line = new StringBuilder();
    private String separator = "\n";

    Chrome(Trace trace, RunResult result) {
      this.trace = trace;
      this.result = result;
    }

    void to(OutputStream out) throws IOException {
      write(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":");
      Map<String, Object> about = new LinkedHashMap<>();
      about.put("kernbench", result.version());
      about.put("bench", result.bench());
      about.put("machine", result.machineName());
      about.put("machine_hash", result.machineHash());
      about.put("time", "1 us of this file is 1 ns simulated");
      write(out, Json.compact(about) + ",\"traceEvents\":[");
      meta(out, 1, 0, "process_name", title(result));
      int tid = 0;
      for (Trace.Track track : trace.tracks()) {
        String group = group(track.group(), track.sip());
        int pid = pid(out, group);
        tid++;
        meta(out, pid, tid, "thread_name", track.name());
        for (Trace.Slice slice : track.slices()) {
          slice(out, pid, tid, slice);
        }
      }
      for (Trace.Counter counter : trace.counters()) {
        int pid = pid(out, group(counter.group(), -1));
        for (Trace.Sample sample : counter.samples()) {
          event("C", pid, 0, counter.name(), sample.timePs());
          line.append(",\"args\":{").append(Json.compact(counter.unit())).append(':');
          line.append(sample.value()).append("}}");
          end(out);
        }
      }
      write(out, "\n]}\n");
    }

    private int pid(OutputStream out, String group) throws IOException {
      int known = groups.numbers.size();
      int pid = groups.of(group);
      if (groups.numbers.size() > known) {
        meta(out, pid, 0, "process_name", group);
      }
      return pid;
    }

    private void slice(OutputStream out, int pid, int tid, Trace.Slice s) throws IOException {
      event("X", pid, tid, s.name(), s.fromPs());
      line.append(",\"dur\":").append(micros(s.toPs() - s.fromPs()));
      line.append(",\"args\":").append(Json.compact(s.notes())).append('}');
      end(out);
      if (s.flowOut() > 0) {
        flow(out, "s", pid, tid, s.fromPs(), s.flowOut(), "");
      }
      if (s.flowIn() > 0) {
        flow(out, "f", pid, tid, s.fromPs(), s.flowIn(), ",\"bp\":\"e\"");
      }
    }

    private void flow(
        OutputStream out, String phase, int pid, int tid, long timePs, long id, String more)
        throws IOException {
      event(phase, pid, tid, "message", timePs);
      line.append(",\"cat\":\"message\",\"id\":").append(id).append(more).append('}');
      end(out);
    }

    private void meta(OutputStream out, int pid, int tid, String what, String name)
        throws IOException {
      event("M", pid, tid, what, 0);
      line.append(",\"args\":{\"name\":").append(Json.compact(name)).append("}}");
      end(out);
    }

    private void event(String phase, int pid, int tid, String name, long timePs) {
      line.append(separator).append("{\"ph\":\"").append(phase).append("\",\"pid\":").append(pid);
      line.append(",\"tid\":").append(tid).append(",\"name\":").append(Json.compact(name));
      line.append(",\"ts\":").append(micros(timePs));
      separator = ",\n";
    }

    /** Picoseconds as thousandths. */
    private static String micros(long ps) {
      return Numbers.ns(ps).toPlainString();
    }

    private void end(OutputStream out) throws IOException {
      write(out, line.toString());
      line.setLength(0);
    }

    private static void write(OutputStream out, String text) throws IOException {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
  }
}
