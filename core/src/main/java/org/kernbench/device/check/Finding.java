package org.kernbench.device.check;

import java.util.Locale;
import java.util.Optional;

/**
 * Something that a checked execution has found wrong in a program, although it ended.
 *
 * @param kind what is wrong
 * @param bytes where in memory; empty for messages
 * @param by who was seen doing it: of two accesses, the one that took effect later
 * @param other the other party; empty if nobody else takes part
 * @param counts of messages, as text; empty for memory
 */
public record Finding(
    Kind kind, Optional<Bytes> bytes, Party by, Optional<Party> other, String counts) {

  /** What is wrong. */
  public enum Kind {
    /** Two accesses to the same bytes, one of them a write, that nothing orders. */
    RACE("race"),
    /** A read of memory that nobody has written. */
    UNWRITTEN("read of memory that nobody has written"),
    /** An access that begins in one tensor and ends in another. */
    OUTSIDE("access beyond the end of a tensor"),
    /** A message that was sent and that nobody has received. */
    NOT_RECEIVED("message never received"),
    /** A message that is waited for and that nobody has sent. */
    NOT_SENT("message never sent");

    private final String text;

    Kind(String text) {
      this.text = text;
    }

    /** The words that reports show. */
    public String text() {
      return text;
    }

    /** The word of the JSON. */
    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * Bytes of a tensor.
   *
   * @param tensor its name, or that of the memory if an address was physical
   * @param place the PE whose part of the tensor it is
   * @param first offset of the first byte in that part
   * @param end offset of the byte after the last
   */
  public record Bytes(String tensor, String place, long first, long end) {}

  /**
   * One side of a finding.
   *
   * @param who a PE, or the host program
   * @param kernel that it runs; empty for the host
   * @param does the verb with its object
   * @param line of the kernel; empty if it is not known
   * @param timePs when it took effect, in simulated picoseconds: a read when it begins, a write or
   *     message when it ends; -1 if it never did
   */
  public record Party(String who, String kernel, String does, String line, long timePs) {
    private String text() {
      StringBuilder s = new StringBuilder(who).append(' ').append(does);
      if (!line.isEmpty()) {
        s.append(" at ").append(line);
      }
      if (!kernel.isEmpty()) {
        s.append(" in kernel ").append(kernel);
      }
      if (timePs >= 0) {
        s.append(String.format(Locale.ROOT, ", t=%.3f ns", timePs / 1e3));
      }
      return s.toString();
    }
  }

  /** What was wrong, where, who else takes part, and what helps; several lines. */
  public String message() {
    StringBuilder s = new StringBuilder(kind.text());
    bytes.ifPresent(b ->
        s.append(": tensor ")
            .append(b.tensor)
            .append(", bytes [")
            .append(b.first)
            .append(", ")
            .append(b.end)
            .append(") of its part at ")
            .append(b.place));
    if (!counts.isEmpty()) {
      s.append(": ").append(counts);
    }
    s.append("\n    ").append(by.text());
    other.ifPresent(o -> s.append("\n    ").append(o.text()));
    return s.append("\n  remedy: ").append(remedy()).toString();
  }

  private String remedy() {
    return switch (kind) {
      case RACE -> remedyOfRace();
      case UNWRITTEN -> "write it first: zeros instead of empty, or a store that is awaited before";
      case OUTSIDE -> "load or store only what lies in one tensor; check start and extent";
      case NOT_RECEIVED, NOT_SENT ->
          "let both sides exchange the same number of messages in this direction";
    };
  }

  private String remedyOfRace() {
    Party second = other.orElseThrow();
    if (!by.kernel.equals(second.kernel)) {
      return "launch both with the tensor, or let one come after the other, or await the first";
    }
    return by.who.equals(second.who)
        ? "await the handle of the composite in between"
        : "await what must come first, then send or signal; let the other side wait for that";
  }
}
