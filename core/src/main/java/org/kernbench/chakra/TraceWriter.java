package org.kernbench.chakra;

import com.google.protobuf.CodedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import org.kernbench.chakra.Attribute.Kind;

/** Writes traces as protobuf, schema 1.0.0; what {@link Workload} reads. */
public final class TraceWriter {
  /** Our own attribute: a duration in picoseconds, as the schema knows whole microseconds only. */
  static final String DURATION_PS = "kernbench_duration_ps";

  private static final long PS_PER_MICRO = 1_000_000;

  private TraceWriter() {}

  /** Writes one rank's nodes, in this order; the stream stays open. */
  public static void write(Iterable<TraceNode> nodes, OutputStream to) {
    try {
      CodedOutputStream out = CodedOutputStream.newInstance(to);
      message(out, metadata -> metadata.writeString(1, "1.0.0"));
      for (TraceNode node : nodes) {
        message(out, fields -> node(node, fields));
      }
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private interface Fields {
    void write(CodedOutputStream out) throws IOException;
  }

  private static byte[] bytes(Fields fields) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    fields.write(out);
    out.flush();
    return bytes.toByteArray();
  }

  private static void message(CodedOutputStream out, Fields fields) throws IOException {
    out.writeByteArrayNoTag(bytes(fields));
  }

  private static void node(TraceNode node, CodedOutputStream out) throws IOException {
    out.writeUInt64(1, node.id());
    out.writeString(2, node.name());
    out.writeEnum(3, node.type().ordinal());
    byte[] before =
        bytes(list -> {
          for (long each : node.before()) {
            list.writeUInt64NoTag(each);
          }
        });
    if (before.length > 0) {
      out.writeByteArray(5, before);
    }
    out.writeUInt64(6, node.startMicros());
    out.writeUInt64(7, node.durationPs() / PS_PER_MICRO);
    attribute(out, "is_cpu_op", Kind.BOOL, node.isHost() ? 1 : 0);
    if (node.durationPs() > 0) {
      attribute(out, DURATION_PS, Kind.INT64, node.durationPs());
    }
    if (node.operations() > 0) {
      attribute(out, "num_ops", Kind.INT64, node.operations());
    }
    if (node.memoryBytes() > 0) {
      attribute(out, "tensor_size", Kind.UINT64, node.memoryBytes());
    }
    if (node.stream().isPresent()) {
      attribute(out, "stream", Kind.INT64, node.stream().getAsLong());
    }
    if (node.communication().isPresent()) {
      communication(node, out);
    }
  }

  private static void communication(TraceNode node, CodedOutputStream out) throws IOException {
    TraceNode.Communication c = node.comm();
    attribute(out, "comm_size", Kind.INT64, c.bytes());
    if (node.type() == NodeType.COMM_COLL) {
      attribute(out, "comm_type", Kind.INT64, c.collective().ordinal());
      if (c.root().isPresent()) {
        attribute(out, "root_rank", Kind.INT64, c.root().getAsLong());
      }
      text(out, "pg_name", c.group());
    } else {
      attribute(out, "comm_src", Kind.INT32, c.source());
      attribute(out, "comm_dst", Kind.INT32, c.target());
      attribute(out, "comm_tag", Kind.INT32, c.tag());
    }
  }

  private static void attribute(CodedOutputStream out, String name, Kind kind, long value)
      throws IOException {
    out.writeByteArray(
        10,
        bytes(a -> {
          a.writeString(1, name);
          a.writeInt64(kind.field(), value); // all kinds that are written here are varints
        }));
  }

  private static void text(CodedOutputStream out, String name, String value) throws IOException {
    out.writeByteArray(
        10,
        bytes(a -> {
          a.writeString(1, name);
          a.writeString(Kind.STRING.field(), value);
        }));
  }
}
