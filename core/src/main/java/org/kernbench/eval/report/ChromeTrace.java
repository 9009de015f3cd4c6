package org.kernbench.eval.report;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;
import tools.jackson.core.JsonGenerator;

/** Writes a {@link Trace} as the JSON of Chrome's trace viewer, one event per line. */
final class ChromeTrace {
  private final Trace trace;
  private final RunResult result;
  private final OutputStream file;
  private final JsonGenerator out;
  private final Map<String, Integer> processes = new LinkedHashMap<>();

  ChromeTrace(Trace trace, RunResult result, OutputStream file) {
    this.trace = trace;
    this.result = result;
    this.file = file;
    this.out = Json.items(file);
  }

  void write() throws IOException {
    Map<String, Object> about = new LinkedHashMap<>();
    about.put("kernbench", result.version());
    about.put("bench", result.bench());
    about.put("machine", result.machineName());
    about.put("machine_hash", result.machineHash());
    about.put("time", "1 us of this file is 1 ns simulated");
    text("{\"displayTimeUnit\":\"ns\",\"otherData\":" + Json.compact(about));
    text(",\"traceEvents\":[\n");
    events();
    out.flush();
    text("\n]}\n");
  }

  private void text(String text) throws IOException {
    file.write(text.getBytes(StandardCharsets.UTF_8));
  }

  private void events() {
    meta(1, 0, "process_name", TraceFile.title(result));
    int tid = 0;
    for (Trace.Track track : trace.tracks()) {
      int pid = pid(TraceFile.group(track.group(), track.sip()));
      tid++;
      meta(pid, tid, "thread_name", track.name());
      for (Trace.Slice slice : track.slices()) {
        slice(pid, tid, slice);
      }
    }
    for (Trace.Counter counter : trace.counters()) {
      int pid = pid(TraceFile.group(counter.group(), -1));
      for (Trace.Sample sample : counter.samples()) {
        begin("C", pid, 0, counter.name(), sample.timePs());
        out.writeObjectPropertyStart("args");
        out.writeName(counter.unit());
        out.writeNumber(Double.toString(sample.value()));
        out.writeEndObject();
        out.writeEndObject();
      }
    }
  }

  private int pid(String group) {
    Integer known = processes.get(group);
    if (known != null) {
      return known;
    }
    int pid = processes.size() + 2;
    processes.put(group, pid);
    meta(pid, 0, "process_name", group);
    return pid;
  }

  private void slice(int pid, int tid, Trace.Slice s) {
    begin("X", pid, tid, s.name(), s.fromPs());
    out.writeNumberProperty("dur", Numbers.ns(s.toPs() - s.fromPs()));
    out.writeName("args");
    Json.write(s.notes(), out);
    out.writeEndObject();
    if (s.flowOut() > 0) {
      flow("s", pid, tid, s.fromPs(), s.flowOut());
      out.writeEndObject();
    }
    if (s.flowIn() > 0) {
      flow("f", pid, tid, s.fromPs(), s.flowIn());
      out.writeStringProperty("bp", "e");
      out.writeEndObject();
    }
  }

  private void flow(String phase, int pid, int tid, long timePs, long id) {
    begin(phase, pid, tid, "message", timePs);
    out.writeStringProperty("cat", "message");
    out.writeNumberProperty("id", id);
  }

  private void meta(int pid, int tid, String what, String name) {
    begin("M", pid, tid, what, 0);
    out.writeObjectPropertyStart("args");
    out.writeStringProperty("name", name);
    out.writeEndObject();
    out.writeEndObject();
  }

  /** An event that is still open; the viewer's microseconds are our nanoseconds. */
  private void begin(String phase, int pid, int tid, String name, long timePs) {
    out.writeStartObject();
    out.writeStringProperty("ph", phase);
    out.writeNumberProperty("pid", pid);
    out.writeNumberProperty("tid", tid);
    out.writeStringProperty("name", name);
    out.writeNumberProperty("ts", Numbers.ns(timePs));
  }
}
