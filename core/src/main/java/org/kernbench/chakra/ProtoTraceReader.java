package org.kernbench.chakra;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.WireFormat;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.kernbench.chakra.Attribute.Kind;

/**
 * Reads messages that each follow their own length: one of metadata, then the nodes. The numbers of
 * the fields are those of the schema of 2026; see {@code docs/traces.md}.
 */
final class ProtoTraceReader {
  private static final int LARGEST_MESSAGE = 64 << 20;

  private static final Set<String> VERSIONS = Set.of("0.0.1", "0.0.4", "1.0.0");

  private final CodedInputStream in;
  private final String file;
  private final int rank;
  private final Repairs repairs;

  private ProtoTraceReader(InputStream in, String file, int rank, Repairs repairs) {
    this.in = CodedInputStream.newInstance(in);
    this.in.setSizeLimit(Integer.MAX_VALUE);
    this.file = file;
    this.rank = rank;
    this.repairs = repairs;
  }

  static List<TraceNode> read(InputStream in, String file, int rank, Repairs repairs) {
    ProtoTraceReader reader = new ProtoTraceReader(in, file, rank, repairs);
    try {
      return reader.file();
    } catch (InvalidProtocolBufferException e) {
      throw new TraceException(
          "%s: byte %s: no message of a trace (%s); expected lengths, each followed by a protobuf message"
              .formatted(file, reader.in.getTotalBytesRead(), reason(e)));
    } catch (IOException e) {
      throw new TraceException(
          "%s: cannot be read to its end (%s); expected a Chakra trace, as protobuf, gzip or JSON"
              .formatted(file, Optional.ofNullable(e.getMessage()).orElse("it ends early")));
    }
  }

  private static String reason(InvalidProtocolBufferException e) {
    String text = String.valueOf(e.getMessage());
    int end = text.indexOf(".  ");
    return (end > 0 ? text.substring(0, end) : text)
        .replace("While parsing a protocol message, ", "");
  }

  private List<TraceNode> file() throws IOException {
    if (in.isAtEnd()) {
      throw new TraceException(file + ": is empty; expected a Chakra trace");
    }
    int outer = begin();
    metadata();
    end(outer);
    List<TraceNode> nodes = new ArrayList<>();
    while (!in.isAtEnd()) {
      outer = begin();
      RawNode node = node();
      end(outer);
      nodes.add(node.read(file, rank, repairs));
    }
    return nodes;
  }

  /** Enters a message; what may be read until {@link #end} is its own. */
  private int begin() throws IOException {
    int length = in.readRawVarint32();
    if (length < 0 || length > LARGEST_MESSAGE) {
      throw new InvalidProtocolBufferException(
          "a message of " + Integer.toUnsignedString(length) + " bytes");
    }
    return in.pushLimit(length);
  }

  private void end(int outer) throws IOException {
    in.checkLastTagWas(0);
    in.popLimit(outer);
  }

  private void unknown(String message, int tag) throws IOException {
    repairs.add(
        Repair.UNKNOWN_FIELD,
        file + ": byte " + in.getTotalBytesRead(),
        message + " " + WireFormat.getTagFieldNumber(tag));
    if (!in.skipField(tag)) {
      throw new InvalidProtocolBufferException("the end of a group that was not begun");
    }
  }

  private static void expect(int tag, int wire) throws InvalidProtocolBufferException {
    if (WireFormat.getTagWireType(tag) != wire) {
      throw new InvalidProtocolBufferException(
          "field %s has wire type %s, not %s"
              .formatted(WireFormat.getTagFieldNumber(tag), WireFormat.getTagWireType(tag), wire));
    }
  }

  private void metadata() throws IOException {
    String version = "";
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      switch (WireFormat.getTagFieldNumber(tag)) {
        case 1 -> {
          expect(tag, WireFormat.WIRETYPE_LENGTH_DELIMITED);
          version = in.readString();
        }
        case 2 -> {
          expect(tag, WireFormat.WIRETYPE_LENGTH_DELIMITED);
          int outer = begin();
          attribute();
          end(outer);
        }
        default -> unknown("GlobalMetadata", tag);
      }
    }
    if (!VERSIONS.contains(version)) {
      repairs.add(Repair.VERSION, file, version.isEmpty() ? "none" : version);
    }
  }

  private RawNode node() throws IOException {
    RawNode node = new RawNode();
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      int field = WireFormat.getTagFieldNumber(tag);
      switch (field) {
        case 1, 3, 6, 7 -> {
          expect(tag, WireFormat.WIRETYPE_VARINT);
          number(node, field, in.readRawVarint64());
        }
        case 2 -> {
          expect(tag, WireFormat.WIRETYPE_LENGTH_DELIMITED);
          node.name = in.readString();
        }
        case 4, 5 -> dependencies(node, tag);
        case 8, 9 -> in.skipField(tag); // inputs and outputs: text that says nothing about time
        case 10 -> {
          expect(tag, WireFormat.WIRETYPE_LENGTH_DELIMITED);
          int outer = begin();
          node.add(attribute());
          end(outer);
        }
        case 11 -> in.skipField(tag); // what a storage node stores
        default -> unknown("Node", tag);
      }
    }
    return node;
  }

  private static void number(RawNode node, int field, long value) {
    switch (field) {
      case 1 -> node.id = value;
      case 3 -> node.type = value;
      case 6 -> node.startMicros = value;
      default -> node.durationMicros = value;
    }
  }

  private void dependencies(RawNode node, int tag) throws IOException {
    if (WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_VARINT) {
      node.before.add(in.readRawVarint64());
      return;
    }
    expect(tag, WireFormat.WIRETYPE_LENGTH_DELIMITED);
    int outer = begin();
    while (in.getBytesUntilLimit() > 0) {
      node.before.add(in.readRawVarint64());
    }
    in.popLimit(outer);
  }

  private Attribute attribute() throws IOException {
    String name = "";
    Kind kind = Kind.INT64;
    Object value = Attribute.NOTHING;
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      int field = WireFormat.getTagFieldNumber(tag);
      if (field == 1 || field == 2) {
        expect(tag, WireFormat.WIRETYPE_LENGTH_DELIMITED);
        String text = in.readString();
        name = field == 1 ? text : name;
      } else if (field >= Kind.DOUBLE.field() && field <= Kind.BYTES.field() + 1) {
        kind = Kind.values()[(field - Kind.DOUBLE.field()) / 2];
        value = field == kind.field() ? value(kind, tag) : values(kind, tag);
      } else {
        unknown("AttributeProto", tag);
      }
    }
    return new Attribute(name, kind, value);
  }

  private List<Object> values(Kind kind, int tag) throws IOException {
    expect(tag, WireFormat.WIRETYPE_LENGTH_DELIMITED);
    int outer = begin();
    List<Object> values = new ArrayList<>();
    for (int inner = in.readTag(); inner != 0; inner = in.readTag()) {
      if (WireFormat.getTagFieldNumber(inner) != 1) {
        unknown("list of an attribute", inner);
      } else if (wireType(kind) != WireFormat.WIRETYPE_LENGTH_DELIMITED
          && WireFormat.getTagWireType(inner) == WireFormat.WIRETYPE_LENGTH_DELIMITED) {
        int packed = begin();
        while (in.getBytesUntilLimit() > 0) {
          values.add(value(kind));
        }
        in.popLimit(packed);
      } else {
        values.add(value(kind, inner));
      }
    }
    end(outer);
    return values;
  }

  private Object value(Kind kind, int tag) throws IOException {
    expect(tag, wireType(kind));
    return value(kind);
  }

  private static int wireType(Kind kind) {
    return switch (kind) {
      case DOUBLE, FIXED64, SFIXED64 -> WireFormat.WIRETYPE_FIXED64;
      case FLOAT, FIXED32, SFIXED32 -> WireFormat.WIRETYPE_FIXED32;
      case INT32, INT64, UINT32, UINT64, SINT32, SINT64, BOOL -> WireFormat.WIRETYPE_VARINT;
      case STRING, BYTES -> WireFormat.WIRETYPE_LENGTH_DELIMITED;
    };
  }

  private Object value(Kind kind) throws IOException {
    return switch (kind) {
      case DOUBLE -> in.readDouble();
      case FLOAT -> (double) in.readFloat();
      case INT32 -> (long) in.readInt32();
      case INT64, UINT64 -> in.readInt64();
      case UINT32 -> Integer.toUnsignedLong(in.readUInt32());
      case SINT32 -> (long) in.readSInt32();
      case SINT64 -> in.readSInt64();
      case FIXED32 -> Integer.toUnsignedLong(in.readFixed32());
      case FIXED64, SFIXED64 -> in.readFixed64();
      case SFIXED32 -> (long) in.readSFixed32();
      case BOOL -> in.readBool();
      case STRING -> in.readString();
      case BYTES -> in.readBytes().toStringUtf8();
    };
  }
}
