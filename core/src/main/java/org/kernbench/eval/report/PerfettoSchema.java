package org.kernbench.eval.report;

import org.kernbench.eval.report.ProtoMessage.Fixed;
import org.kernbench.eval.report.ProtoMessage.Message;
import org.kernbench.eval.report.ProtoMessage.Real;
import org.kernbench.eval.report.ProtoMessage.Text;
import org.kernbench.eval.report.ProtoMessage.Varint;

/**
 * What traces use of Perfetto's protobuf schema ({@code protos/perfetto/trace}): an interface for
 * each message, a constant for each field with the name and number that it has there. A field goes
 * into messages of its own kind only, and takes values of its own type only.
 */
final class PerfettoSchema {
  private PerfettoSchema() {}

  /** Perfetto's {@code Trace}: the whole file. */
  interface File {
    Message<File, Packet> PACKET = new Message<>(1);
  }

  /** Perfetto's {@code TracePacket}. */
  interface Packet {
    Varint<Packet> TIMESTAMP = new Varint<>(8);
    Varint<Packet> TRUSTED_PACKET_SEQUENCE_ID = new Varint<>(10);
    Message<Packet, Event> TRACK_EVENT = new Message<>(11);
    Message<Packet, Descriptor> TRACK_DESCRIPTOR = new Message<>(60);
  }

  /** Perfetto's {@code TrackDescriptor}. */
  interface Descriptor {
    Varint<Descriptor> UUID = new Varint<>(1);
    Text<Descriptor> NAME = new Text<>(2);
    Message<Descriptor, Process> PROCESS = new Message<>(3);
    Varint<Descriptor> PARENT_UUID = new Varint<>(5);
    Message<Descriptor, Counter> COUNTER = new Message<>(8);
    Varint<Descriptor> SIBLING_MERGE_BEHAVIOR = new Varint<>(15);
  }

  /** Perfetto's {@code ProcessDescriptor}. */
  interface Process {
    Varint<Process> PID = new Varint<>(1);
    Text<Process> PROCESS_NAME = new Text<>(6);
  }

  /** Perfetto's {@code CounterDescriptor}. */
  interface Counter {
    Text<Counter> UNIT_NAME = new Text<>(6);
  }

  /** Perfetto's {@code TrackEvent}, with the types that are used. */
  interface Event {
    long SLICE_BEGIN = 1;
    long SLICE_END = 2;
    long COUNTER = 4;

    Message<Event, Annotation> DEBUG_ANNOTATIONS = new Message<>(4);
    Varint<Event> TYPE = new Varint<>(9);
    Varint<Event> TRACK_UUID = new Varint<>(11);
    Text<Event> NAME = new Text<>(23);
    Real<Event> DOUBLE_COUNTER_VALUE = new Real<>(44);
    Fixed<Event> FLOW_IDS = new Fixed<>(47);
    Fixed<Event> TERMINATING_FLOW_IDS = new Fixed<>(48);
  }

  /** Perfetto's {@code DebugAnnotation}. */
  interface Annotation {
    Varint<Annotation> INT_VALUE = new Varint<>(4);
    Text<Annotation> STRING_VALUE = new Text<>(6);
    Text<Annotation> NAME = new Text<>(10);
  }
}
