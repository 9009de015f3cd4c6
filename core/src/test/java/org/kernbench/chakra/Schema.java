package org.kernbench.chakra;

import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Label;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Type;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.OneofDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The schema of traces as protobuf's own library understands it, from a list of fields: what the
 * reader and the writer of this room are compared with.
 */
final class Schema {
  /** By kind of value, in the order of the field numbers from 3 on. */
  static final List<Type> VALUES =
      List.of(
          Type.TYPE_DOUBLE,
          Type.TYPE_FLOAT,
          Type.TYPE_INT32,
          Type.TYPE_INT64,
          Type.TYPE_UINT32,
          Type.TYPE_UINT64,
          Type.TYPE_SINT32,
          Type.TYPE_SINT64,
          Type.TYPE_FIXED32,
          Type.TYPE_FIXED64,
          Type.TYPE_SFIXED32,
          Type.TYPE_SFIXED64,
          Type.TYPE_BOOL,
          Type.TYPE_STRING,
          Type.TYPE_BYTES);

  private final FileDescriptor file;

  Schema() {
    FileDescriptorProto.Builder all =
        FileDescriptorProto.newBuilder().setName("trace.proto").setSyntax("proto3");
    DescriptorProto.Builder attribute =
        message("Attribute")
            .addField(field("name", 1, Type.TYPE_STRING, false))
            .addField(field("doc", 2, Type.TYPE_STRING, false))
            .addOneofDecl(OneofDescriptorProto.newBuilder().setName("value"));
    for (int i = 0; i < VALUES.size(); i++) {
      String kind =
          VALUES.get(i).name().substring("TYPE_".length()).toLowerCase(java.util.Locale.ROOT);
      String list = kind + "_list_type";
      all.addMessageType(message(list).addField(field("values", 1, VALUES.get(i), true)));
      attribute
          .addField(field(kind, 3 + 2 * i, VALUES.get(i), false).toBuilder().setOneofIndex(0))
          .addField(
              FieldDescriptorProto.newBuilder()
                  .setName(kind + "_list")
                  .setNumber(4 + 2 * i)
                  .setLabel(Label.LABEL_OPTIONAL)
                  .setType(Type.TYPE_MESSAGE)
                  .setTypeName(list)
                  .setOneofIndex(0));
    }
    all.addMessageType(attribute);
    all.addMessageType(
        message("Metadata")
            .addField(field("version", 1, Type.TYPE_STRING, false))
            .addField(
                field("attr", 2, Type.TYPE_MESSAGE, true).toBuilder().setTypeName("Attribute")));
    all.addMessageType(
        message("Node")
            .addField(field("id", 1, Type.TYPE_UINT64, false))
            .addField(field("name", 2, Type.TYPE_STRING, false))
            .addField(field("type", 3, Type.TYPE_UINT32, false))
            .addField(field("ctrl_deps", 4, Type.TYPE_UINT64, true))
            .addField(field("data_deps", 5, Type.TYPE_UINT64, true))
            .addField(field("start_time_micros", 6, Type.TYPE_UINT64, false))
            .addField(field("duration_micros", 7, Type.TYPE_UINT64, false))
            .addField(
                FieldDescriptorProto.newBuilder()
                    .setName("attr")
                    .setNumber(10)
                    .setLabel(Label.LABEL_REPEATED)
                    .setType(Type.TYPE_MESSAGE)
                    .setTypeName("Attribute")));
    try {
      file = FileDescriptor.buildFrom(all.build(), new FileDescriptor[0]);
    } catch (DescriptorValidationException e) {
      throw new IllegalStateException(e);
    }
  }

  private static DescriptorProto.Builder message(String name) {
    return DescriptorProto.newBuilder().setName(name);
  }

  private static FieldDescriptorProto field(String name, int number, Type type, boolean many) {
    return FieldDescriptorProto.newBuilder()
        .setName(name)
        .setNumber(number)
        .setType(type)
        .setLabel(many ? Label.LABEL_REPEATED : Label.LABEL_OPTIONAL)
        .build();
  }

  Descriptor type(String name) {
    return file.findMessageTypeByName(name);
  }

  DynamicMessage metadata(String version) {
    return metadata(version, List.of());
  }

  DynamicMessage metadata(String version, List<DynamicMessage> attributes) {
    Descriptor type = type("Metadata");
    return DynamicMessage.newBuilder(type)
        .setField(type.findFieldByName("version"), version)
        .setField(type.findFieldByName("attr"), attributes)
        .build();
  }

  /** A node in the making. */
  DynamicMessage.Builder node(long id, String name, int code) {
    Descriptor type = type("Node");
    return DynamicMessage.newBuilder(type)
        .setField(type.findFieldByName("id"), id)
        .setField(type.findFieldByName("name"), name)
        .setField(type.findFieldByName("type"), code);
  }

  /** A value under a name, of the kind of a field such as {@code int64} or {@code bool_list}. */
  DynamicMessage attribute(String name, String kind, Object value) {
    Descriptor type = type("Attribute");
    FieldDescriptor field = type.findFieldByName(kind);
    DynamicMessage.Builder made =
        DynamicMessage.newBuilder(type).setField(type.findFieldByName("name"), name);
    if (value instanceof List<?> list) {
      Descriptor of = field.getMessageType();
      made.setField(
          field,
          DynamicMessage.newBuilder(of).setField(of.findFieldByName("values"), list).build());
    } else {
      made.setField(field, value);
    }
    return made.build();
  }

  void add(DynamicMessage.Builder node, String field, Object value) {
    FieldDescriptor f = type("Node").findFieldByName(field);
    if (f.isRepeated()) {
      node.addRepeatedField(f, value);
    } else {
      node.setField(f, value);
    }
  }

  /** A file of these messages. */
  static byte[] file(List<DynamicMessage> messages) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (DynamicMessage each : messages) {
      each.writeDelimitedTo(out);
    }
    return out.toByteArray();
  }

  /** A value of a kind: the {@code n}-th of three that are awkward. */
  static Object value(Type kind, int n) {
    return switch (kind) {
      case TYPE_DOUBLE -> List.of(0.0, -1.5, 1e300).get(n);
      case TYPE_FLOAT -> List.of(0f, -2.25f, 3e38f).get(n);
      case TYPE_INT32, TYPE_SINT32, TYPE_SFIXED32 -> List.of(0, -7, Integer.MAX_VALUE).get(n);
      case TYPE_UINT32, TYPE_FIXED32 -> List.of(0, 7, -1).get(n);
      case TYPE_INT64, TYPE_SINT64, TYPE_SFIXED64 -> List.of(0L, -7L, Long.MAX_VALUE).get(n);
      case TYPE_UINT64, TYPE_FIXED64 -> List.of(0L, 7L, Long.MAX_VALUE).get(n);
      case TYPE_BOOL -> n == 1;
      case TYPE_STRING -> List.of("", "x", "gruppe é").get(n);
      case TYPE_BYTES -> ByteString.copyFromUtf8(List.of("", "x", "é").get(n));
      case TYPE_GROUP, TYPE_MESSAGE, TYPE_ENUM -> throw new IllegalArgumentException("" + kind);
    };
  }

  static List<Object> values(Type kind) {
    List<Object> all = new ArrayList<>();
    for (int n = 0; n < 3; n++) {
      all.add(value(kind, n));
    }
    return all;
  }
}
