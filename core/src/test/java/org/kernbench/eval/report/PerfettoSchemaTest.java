package org.kernbench.eval.report;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/**
 * Our fields against a schema that was written down from Perfetto's documentation, {@code
 * perfetto.textproto}, and what is written with them read by Google's library under that schema.
 */
final class PerfettoSchemaTest {
  private static final Map<Class<?>, String> MESSAGES =
      Map.of(
          PerfettoSchema.File.class, "Trace",
          PerfettoSchema.Packet.class, "TracePacket",
          PerfettoSchema.Descriptor.class, "TrackDescriptor",
          PerfettoSchema.Process.class, "ProcessDescriptor",
          PerfettoSchema.Counter.class, "CounterDescriptor",
          PerfettoSchema.Event.class, "TrackEvent",
          PerfettoSchema.Annotation.class, "DebugAnnotation");

  @TempDir private Path directory;

  private static FileDescriptor schema() throws Exception {
    FileDescriptorProto.Builder file = FileDescriptorProto.newBuilder();
    try (var text = PerfettoSchemaTest.class.getResourceAsStream("/perfetto.textproto")) {
      TextFormat.merge(new String(text.readAllBytes(), StandardCharsets.UTF_8), file);
    }
    return FileDescriptor.buildFrom(file.build(), new FileDescriptor[0]);
  }

  @Test
  void everyField_hasTheNumberAndTypeOfTheSchema() throws Exception {
    FileDescriptor schema = schema();
    assertThat(MESSAGES.keySet())
        .containsExactlyInAnyOrder(PerfettoSchema.class.getDeclaredClasses());
    for (Class<?> kind : MESSAGES.keySet()) {
      Map<String, String> ours = new TreeMap<>();
      for (var constant : kind.getDeclaredFields()) {
        if (constant.get(null) instanceof ProtoMessage.Field<?> field) {
          ours.put(
              constant.getName().toLowerCase(Locale.ROOT),
              field.number() + " " + field.getClass().getSimpleName());
        }
      }
      Map<String, String> theirs = new TreeMap<>();
      for (FieldDescriptor field : schema.findMessageTypeByName(MESSAGES.get(kind)).getFields()) {
        theirs.put(field.getName(), field.getNumber() + " " + ourType(field));
      }
      assertThat(ours).as(MESSAGES.get(kind)).isEqualTo(theirs);
    }
  }

  private static String ourType(FieldDescriptor field) {
    return switch (field.getType()) {
      case UINT64, UINT32, INT64, INT32 -> "Varint";
      case FIXED64 -> "Fixed";
      case DOUBLE -> "Real";
      case STRING -> "Text";
      case MESSAGE -> "Message";
      default -> throw new AssertionError(field.getType());
    };
  }

  @Test
  void everyPacketOfARun_isOfTheSchema() throws Exception {
    RunResult run =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("ccl-allreduce"),
                RunOptions.DEFAULT
                    .withTopology("tiny")
                    .withParams(List.of("n_elem=2000", "algorithm=mesh")));
    Path file = directory.resolve("t.pftrace");
    TraceFile.write(run, file);

    DynamicMessage trace =
        DynamicMessage.parseFrom(schema().findMessageTypeByName("Trace"), Files.readAllBytes(file));
    assertThat(trace.getAllFields()).hasSize(1);
    assertNothingUnknown(trace);
  }

  private static void assertNothingUnknown(Message message) {
    assertThat(message.getUnknownFields().asMap()).as("%s", message).isEmpty();
    message
        .getAllFields()
        .forEach((field, value) -> {
          if (field.getType() == FieldDescriptor.Type.MESSAGE) {
            for (Object each : field.isRepeated() ? (List<?>) value : List.of(value)) {
              assertNothingUnknown((Message) each);
            }
          }
        });
  }

  /** Edges of the encoding, against Google's writer. */
  @Test
  void values_areEncodedAsGoogleDoes() throws Exception {
    var type = schema().findMessageTypeByName("TrackEvent");
    for (long value : new long[] {0, 1, 127, 128, 1L << 56, Long.MAX_VALUE, -1, Long.MIN_VALUE}) {
      DynamicMessage theirs =
          DynamicMessage.newBuilder(type)
              .setField(type.findFieldByName("track_uuid"), value)
              .setField(type.findFieldByName("name"), "ä" + value)
              .setField(type.findFieldByName("double_counter_value"), value * 0.1)
              .addRepeatedField(type.findFieldByName("flow_ids"), value)
              .build();
      ProtoMessage<PerfettoSchema.Event> ours =
          new ProtoMessage<PerfettoSchema.Event>()
              .set(PerfettoSchema.Event.TRACK_UUID, value)
              .set(PerfettoSchema.Event.NAME, "ä" + value)
              .set(PerfettoSchema.Event.DOUBLE_COUNTER_VALUE, value * 0.1)
              .set(PerfettoSchema.Event.FLOW_IDS, value);
      assertThat(bytes(ours)).isEqualTo(theirs.toByteString());
    }
  }

  private static ByteString bytes(ProtoMessage<?> message) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    message.writeTo(out);
    return ByteString.copyFrom(out.toByteArray());
  }
}
