package org.kernbench.device.check;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.kernbench.device.Mode;
import org.kernbench.device.Watch;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.PageMap;
import org.kernbench.machine.Machine;

/**
 * What checked execution finds, over all simulators that are opened with it ({@link
 * org.kernbench.device.simulator.SimulatorOptions#checkedBy}). One finding for each pair of source
 * lines and tensor, in the order in which they are found; complete when the simulators are closed.
 */
public final class Findings implements Watch.Source {
  /** More distinct findings than this are counted and not kept. */
  public static final int KEPT = 100;

  private final List<Finding> findings = new ArrayList<>();
  private final Set<String> known = new HashSet<>();
  private int left;
  private int simulators;
  private long accesses;
  private long messages;

  /** No findings yet. */
  public Findings() {}

  /** The findings so far, at most {@value #KEPT}. */
  public List<Finding> list() {
    return List.copyOf(findings);
  }

  /** Whether nothing was found. */
  public boolean isEmpty() {
    return findings.isEmpty();
  }

  /** Distinct findings that {@link #list} leaves out. */
  public int left() {
    return left;
  }

  /** Simulators that were opened with it. */
  public int simulators() {
    return simulators;
  }

  /** Loads, stores and host accesses that were judged. */
  public long accesses() {
    return accesses;
  }

  /** Messages that were judged. */
  public long messages() {
    return messages;
  }

  /** Checks a simulator that is being opened. */
  @Override
  public Watch of(Machine machine, PageMap map, OpLog log, Mode mode) {
    simulators++;
    return new Checker(machine, map, log, mode, this);
  }

  void sawAccess() {
    accesses++;
  }

  void sawMessage() {
    messages++;
  }

  /** Whether a race of these lines on a tensor is known. */
  boolean hasRace(String tensor, MemoryAccess a, MemoryAccess b) {
    return known.contains(race(tensor, side(a), side(b)));
  }

  private static String side(MemoryAccess access) {
    return (access.program() == null ? "the host" : access.line) + (access.writes ? " w" : " r");
  }

  private static String race(String tensor, String a, String b) {
    return "race\n" + tensor + (a.compareTo(b) < 0 ? "\n" + a + "\n" + b : "\n" + b + "\n" + a);
  }

  void addRace(Finding finding, String tensor, MemoryAccess a, MemoryAccess b) {
    if (known.add(race(tensor, side(a), side(b)))) {
      keep(finding);
      explains(tensor, a);
      explains(tensor, b);
    }
  }

  /** A read in a race may well come before the write: that nobody had written is no news. */
  private void explains(String tensor, MemoryAccess racing) {
    if (!racing.writes && racing.program() != null) {
      findings.removeIf(f ->
          f.kind() == Finding.Kind.UNWRITTEN
              && f.by().line().equals(racing.line)
              && f.bytes().map(Finding.Bytes::tensor).equals(Optional.of(tensor)));
      known.add(single(Finding.Kind.UNWRITTEN, tensor, racing.line));
    }
  }

  private static String single(Finding.Kind kind, String subject, String line) {
    return kind + "\n" + subject + "\n" + line;
  }

  /**
   * @param subject a tensor, or the other line
   */
  void add(Finding finding, String subject) {
    if (known.add(single(finding.kind(), subject, finding.by().line()))) {
      keep(finding);
    }
  }

  private void keep(Finding finding) {
    if (findings.size() < KEPT) {
      findings.add(finding);
    } else {
      left++;
    }
  }
}
