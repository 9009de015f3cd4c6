package org.kernbench.eval.report;

import java.io.IOException;
import java.io.OutputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.report.PerfettoSchema.Descriptor;
import org.kernbench.eval.report.PerfettoSchema.Event;
import org.kernbench.eval.report.PerfettoSchema.Packet;

/**
 * Writes a {@link Trace} as packets of Perfetto's protobuf, in the words of {@link PerfettoSchema}.
 */
final class PerfettoTrace {
  private static final long NEVER_MERGED = 2; // with a track of the same name
  private static final long SEQUENCE = 1;

  private final Trace trace;
  private final RunResult result;
  private final OutputStream out;
  private final Map<String, Integer> processes = new LinkedHashMap<>();
  private long lastUuid = 1_000_000;

  PerfettoTrace(Trace trace, RunResult result, OutputStream out) {
    this.trace = trace;
    this.result = result;
    this.out = out;
  }

  void write() throws IOException {
    process(1, TraceFile.title(result));
    for (Trace.Track track : trace.tracks()) {
      int process = process(TraceFile.group(track.group(), track.sip()));
      long uuid = ++lastUuid;
      describe(
          new ProtoMessage<Descriptor>()
              .set(Descriptor.UUID, uuid)
              .set(Descriptor.NAME, track.name())
              .set(Descriptor.PARENT_UUID, process)
              .set(Descriptor.SIBLING_MERGE_BEHAVIOR, NEVER_MERGED));
      for (Trace.Slice slice : track.slices()) {
        slice(uuid, slice);
      }
    }
    for (Trace.Counter counter : trace.counters()) {
      counter(counter);
    }
  }

  private int process(String group) throws IOException {
    Integer known = processes.get(group);
    if (known != null) {
      return known;
    }
    int number = processes.size() + 2;
    processes.put(group, number);
    process(number, group);
    return number;
  }

  private void process(int number, String name) throws IOException {
    describe(
        new ProtoMessage<Descriptor>()
            .set(Descriptor.UUID, number)
            .set(
                Descriptor.PROCESS,
                new ProtoMessage<PerfettoSchema.Process>()
                    .set(PerfettoSchema.Process.PID, number)
                    .set(PerfettoSchema.Process.PROCESS_NAME, name)));
  }

  private void slice(long uuid, Trace.Slice slice) throws IOException {
    ProtoMessage<Event> begin = event(Event.SLICE_BEGIN, uuid).set(Event.NAME, slice.name());
    slice.notes().forEach((name, value) -> begin.set(Event.DEBUG_ANNOTATIONS, note(name, value)));
    if (slice.flowOut() > 0) {
      begin.set(Event.FLOW_IDS, slice.flowOut());
    }
    if (slice.flowIn() > 0) {
      begin.set(Event.TERMINATING_FLOW_IDS, slice.flowIn());
    }
    at(slice.fromPs(), begin);
    at(slice.toPs(), event(Event.SLICE_END, uuid));
  }

  private static ProtoMessage<PerfettoSchema.Annotation> note(String name, Object value) {
    ProtoMessage<PerfettoSchema.Annotation> note =
        new ProtoMessage<PerfettoSchema.Annotation>().set(PerfettoSchema.Annotation.NAME, name);
    return value instanceof Number number
        ? note.set(PerfettoSchema.Annotation.INT_VALUE, number.longValue())
        : note.set(PerfettoSchema.Annotation.STRING_VALUE, value.toString());
  }

  private void counter(Trace.Counter counter) throws IOException {
    long uuid = ++lastUuid;
    int process = process(TraceFile.group(counter.group(), -1));
    describe(
        new ProtoMessage<Descriptor>()
            .set(Descriptor.UUID, uuid)
            .set(Descriptor.NAME, counter.name())
            .set(Descriptor.PARENT_UUID, process)
            .set(
                Descriptor.COUNTER,
                new ProtoMessage<PerfettoSchema.Counter>()
                    .set(PerfettoSchema.Counter.UNIT_NAME, counter.unit())));
    for (Trace.Sample sample : counter.samples()) {
      at(
          sample.timePs(),
          event(Event.COUNTER, uuid).set(Event.DOUBLE_COUNTER_VALUE, sample.value()));
    }
  }

  private static ProtoMessage<Event> event(long type, long uuid) {
    return new ProtoMessage<Event>().set(Event.TYPE, type).set(Event.TRACK_UUID, uuid);
  }

  private void at(long timePs, ProtoMessage<Event> event) throws IOException {
    packet(new ProtoMessage<Packet>().set(Packet.TIMESTAMP, timePs).set(Packet.TRACK_EVENT, event));
  }

  private void describe(ProtoMessage<Descriptor> track) throws IOException {
    packet(new ProtoMessage<Packet>().set(Packet.TRACK_DESCRIPTOR, track));
  }

  private void packet(ProtoMessage<Packet> packet) throws IOException {
    packet.set(Packet.TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
    new ProtoMessage<PerfettoSchema.File>().set(PerfettoSchema.File.PACKET, packet).writeTo(out);
  }
}
