package org.kernbench.chakra;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** Mistakes that a trace may have, in the file of one rank: to see what {@code lint} says. */
public enum TraceMistake {
  /** The rank never comes to the last collective or message of the others. */
  MISSING_COLLECTIVE {
    @Override
    List<TraceNode> in(List<TraceNode> nodes) {
      List<TraceNode> left = new ArrayList<>(nodes);
      left.remove(lastShared(nodes));
      return left;
    }
  },
  /** Its last collective or message has one byte more than the others say. */
  OTHER_SIZE {
    @Override
    List<TraceNode> in(List<TraceNode> nodes) {
      List<TraceNode> changed = new ArrayList<>(nodes);
      int at = lastShared(nodes);
      TraceNode node = nodes.get(at);
      TraceNode.Communication c = node.comm();
      changed.set(
          at,
          new TraceNode(
              node.id(),
              node.name(),
              node.type(),
              node.before(),
              node.startMicros(),
              node.durationPs(),
              node.isHost(),
              node.operations(),
              node.memoryBytes(),
              node.stream(),
              Optional.of(
                  new TraceNode.Communication(
                      c.collective(),
                      c.bytes() + 1,
                      c.group(),
                      c.root(),
                      c.source(),
                      c.target(),
                      c.tag()))));
      return changed;
    }
  },
  /** Its first node waits for its last. */
  CYCLE {
    @Override
    List<TraceNode> in(List<TraceNode> nodes) {
      List<TraceNode> changed = new ArrayList<>(nodes);
      TraceNode first = nodes.getFirst();
      changed.set(
          0,
          new TraceNode(
              first.id(),
              first.name(),
              first.type(),
              List.of(nodes.getLast().id()),
              first.startMicros(),
              first.durationPs(),
              first.isHost(),
              first.operations(),
              first.memoryBytes(),
              OptionalLong.empty(),
              first.communication()));
      return changed;
    }
  },
  /** The file ends in the middle of a node. */
  CUT_OFF {
    @Override
    List<TraceNode> in(List<TraceNode> nodes) {
      return nodes;
    }

    @Override
    public void write(List<TraceNode> nodes, OutputStream to) {
      ByteArrayOutputStream whole = new ByteArrayOutputStream();
      TraceWriter.write(nodes, whole);
      try {
        to.write(whole.toByteArray(), 0, whole.size() - 5);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  };

  /** The nodes with the mistake. */
  abstract List<TraceNode> in(List<TraceNode> nodes);

  /** Writes a rank's nodes with the mistake; the stream stays open. */
  public void write(List<TraceNode> nodes, OutputStream to) {
    TraceWriter.write(in(nodes), to);
  }

  private static int lastShared(List<TraceNode> nodes) {
    int at = nodes.size() - 1;
    while (at > 0 && !nodes.get(at).type().isCommunication()) {
      at--;
    }
    return at;
  }
}
