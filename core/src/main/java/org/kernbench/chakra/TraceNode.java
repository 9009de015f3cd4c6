package org.kernbench.chakra;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One node of the trace of a rank.
 *
 * @param id its number, unique in the rank, as an unsigned 64-bit number
 * @param name for people
 * @param type what it is
 * @param before nodes that must be done before it starts: control and data dependencies, each once
 * @param startMicros when it was recorded to start; 0 if it was not
 * @param durationPs how long it was recorded to take, in picoseconds; 0 if it was not
 * @param isHost whether the host's processor did it
 * @param operations floating-point operations ({@code num_ops}); 0 if unknown
 * @param memoryBytes what it moves ({@code tensor_size}); 0 if unknown
 * @param stream the device's stream that it was recorded on
 * @param communication what it sends or receives; there for the three types that do
 */
public record TraceNode(
    long id,
    String name,
    NodeType type,
    List<Long> before,
    long startMicros,
    long durationPs,
    boolean isHost,
    long operations,
    long memoryBytes,
    OptionalLong stream,
    Optional<Communication> communication) {
  /** Copies the list. */
  public TraceNode {
    before = List.copyOf(before);
  }

  /**
   * What a node communicates.
   *
   * @param collective the operation; of no use for messages
   * @param bytes of the vector, as the trace has it
   * @param group name of the process group; empty: all ranks
   * @param root of a collective that has one, as a rank of the world; empty: the first of the group
   * @param source of a message, as a rank of the world
   * @param target of a message, as a rank of the world
   * @param tag of a message
   */
  public record Communication(
      CollectiveType collective,
      long bytes,
      String group,
      OptionalLong root,
      long source,
      long target,
      long tag) {}

  /** What it communicates. */
  public Communication comm() {
    return communication.orElseThrow(() -> new IllegalStateException(this + " is local"));
  }

  /** Whether it takes the device's time, alone or with others. */
  public boolean isWork() {
    return type.isCommunication() || (type.isLocalWork() && !isHost);
  }

  /** For example {@code node 7 "grad sync"}. */
  @Override
  public String toString() {
    return "node " + Long.toUnsignedString(id) + " \"" + name + "\"";
  }
}
