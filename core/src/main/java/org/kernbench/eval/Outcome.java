package org.kernbench.eval;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.AutoChoice;
import org.kernbench.device.Launch;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.TransferLog;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.output.Digest;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.nn.compare.StepCheck;

/** What a bench measured. Filled by the bench, read by {@link Runner}. */
public final class Outcome {
  /** What a run says that did not keep its operations; no advice for explain itself. */
  public static final String KEEPS_MORE = "; kernbench explain keeps more";

  private final Machine machine;
  private final Map<String, Object> conditions = new LinkedHashMap<>();
  private final Map<String, Object> metrics = new LinkedHashMap<>();
  private final List<Map<String, Object>> rows = new ArrayList<>();
  private long critPs;
  private OptionalLong launchWayPs = OptionalLong.empty();
  private boolean timeIsWhole;
  private long boundPs;
  private String boundKind = "";
  private OptionalLong formulaPs = OptionalLong.empty();
  private @Nullable ValueCheck values;
  private @Nullable Breakdown breakdown;
  private String breakdownNote = "";
  private @Nullable OpLog log;
  private long events;
  private String opLogHash = "";
  private String valuesHash = "";
  private String problem = "";
  private int folded;
  private int notFolded;
  private String scopeNote = "";
  private @Nullable OperationClass operationClass;
  private final List<AutoChoice> choices = new ArrayList<>();
  private final Map<String, Supplier<String>> files = new LinkedHashMap<>();

  private Outcome(Machine machine) {
    this.machine = machine;
  }

  /** An empty outcome on a machine. */
  public static Outcome on(Machine machine) {
    return new Outcome(machine);
  }

  /** Something that was derived and belongs to the conditions of the run, such as the algorithm. */
  public Outcome condition(String name, Object value) {
    conditions.put(name, value);
    return this;
  }

  /**
   * A metric of the bench's own: a number ({@link Long}, {@link Integer}, {@link Double}, decimal)
   * or text.
   */
  public Outcome metric(String name, Object value) {
    metrics.put(name, value);
    return this;
  }

  /** A row of a table; all rows have the same keys. */
  public Outcome row(Map<String, Object> row) {
    rows.add(new LinkedHashMap<>(row));
    return this;
  }

  /** The critical time and what it can never be below; a {@code boundPs} of 0 says nothing. */
  public Outcome time(long newCritPs, long newBoundPs, String newBoundKind) {
    critPs = newCritPs;
    boundPs = newBoundPs;
    boundKind = newBoundKind;
    return this;
  }

  /** What kind of operation was run, for what libraries and the host add to it. */
  public Outcome kind(OperationClass newClass) {
    operationClass = newClass;
    return this;
  }

  /** Empty if the bench did not say: then the kernel's name does. */
  Optional<OperationClass> operationClass() {
    return Optional.ofNullable(operationClass);
  }

  /** The time that the closed form of the algorithm gives, in picoseconds. */
  public Outcome formula(OptionalLong ps) {
    formulaPs = ps;
    return this;
  }

  public OptionalLong formulaPs() {
    return formulaPs;
  }

  /** What the values were compared with. */
  public Outcome values(ValueCheck check, String hash) {
    values = check;
    valuesHash = hash;
    return this;
  }

  /**
   * Compares values.
   *
   * @param got what was computed, as f64
   * @param expected what it should be; as many
   * @param allowed largest absolute difference that is accepted, at least 0
   */
  public Outcome values(double[] got, double[] expected, double allowed) {
    if (got.length != expected.length) {
      throw new IllegalArgumentException(
          "got " + got.length + " values; expected " + expected.length);
    }
    ValueCheck.Comparison comparison = new ValueCheck.Comparison(allowed);
    comparison.add(0, got, (rank, i) -> expected[i]);
    Digest digest = new Digest();
    digest.add(got);
    return values(comparison.result(), digest.text());
  }

  /**
   * Tensors of several kinds, each with a tolerance of its own.
   *
   * @param parts what was compared of each tensor on each rank
   */
  public Outcome values(List<StepCheck.Compared> parts, String hash) {
    return values(ComparedSteps.of(parts), hash);
  }

  /** Where the critical time went. */
  public Outcome breakdown(Breakdown newBreakdown) {
    breakdown = newBreakdown;
    return this;
  }

  /** The operations, and where the time of a launch went, or what is missing to know it. */
  public Outcome explained(OpLog newLog, Launch launch, IpcqSpec queues) {
    return explained(
        newLog, queues.recvAwaitsCredit(), () -> Breakdown.of(machine, newLog, launch, queues));
  }

  /**
   * The operations, and where the time of several launches went, from a moment to the end of the
   * last of them.
   *
   * @param fromPs when that time began, simulated picoseconds
   */
  public Outcome explained(OpLog newLog, long fromPs, Launch last, IpcqSpec queues) {
    return explained(
        newLog,
        queues.recvAwaitsCredit(),
        () -> Breakdown.of(machine, newLog, fromPs, last, queues));
  }

  /**
   * The operations, and where the time went from a moment to the end of an operation, an id of the
   * log.
   */
  public Outcome explained(OpLog newLog, long fromPs, int lastOp) {
    return explained(newLog, false, () -> Breakdown.of(machine, newLog, fromPs, lastOp));
  }

  /**
   * The operations, and where the time of a whole run went, from the host's first call to the end
   * of all launches.
   */
  public Outcome explainedRun(OpLog newLog, IpcqSpec queues) {
    timeIsWhole();
    return explained(
        newLog, queues.recvAwaitsCredit(), () -> Breakdown.ofRun(machine, newLog, queues));
  }

  private Outcome explained(OpLog newLog, boolean recvAwaitsCredit, Supplier<Breakdown> path) {
    opLog(newLog);
    if (!newLog.isComplete()) {
      return noBreakdown(
          "the op log " + newLog.lack() + ", so the critical path is not known" + KEEPS_MORE);
    }
    return newLog.packagesPerRow() > 1 && (recvAwaitsCredit || waitsForCredits(newLog))
        ? noBreakdown(
            """
            messages waited for credits of other packages, of which a folded op log has no rows, \
            so the critical path is not known; --fold off follows it\
            """)
        : breakdown(path.get());
  }

  /** Whose credit it was that a message waited for, the rows of one package do not say. */
  private static boolean waitsForCredits(OpLog log) {
    boolean waits = false;
    for (int id = 0; id < log.size() && !waits; id++) {
      waits = log.has(id) && log.cause(id) == Cause.CREDIT;
      int part = log.transfers().lastPart(id);
      while (part != TransferLog.NONE && !waits && log.kind(id) == OpKind.SEND) {
        waits = !log.transfers().isFromSwitch(part) && log.transfers().by(part) >= 0;
        part = log.transfers().previous(part);
      }
    }
    return waits;
  }

  /** Why there is no breakdown. */
  public Outcome noBreakdown(String reason) {
    breakdownNote = reason;
    return this;
  }

  /** What the simulation did. */
  public Outcome simulated(long newEvents, String newOpLogHash) {
    events = newEvents;
    opLogHash = newOpLogHash;
    return this;
  }

  /** One package stood for all, at one of the points if there are several. */
  public Outcome folded(String note) {
    folded++;
    return condition("fold", note);
  }

  /** One package could have stood for all, and does not, at one of the points. */
  public Outcome notFolded() {
    notFolded++;
    return this;
  }

  /** For a time that is put together from simulated parts: what was simulated, in a few words. */
  public Outcome simulatedOnly(String newNote) {
    scopeNote = newNote;
    return this;
  }

  /** What was simulated of all, where so many launches were, or others stood for them. */
  SimulatedScope scope(Launches launches) {
    int packages = machine.sips();
    return new SimulatedScope(
        packages,
        folded > 0 ? 1 : packages,
        folded,
        folded + notFolded,
        launches.all(),
        launches.simulated(),
        scopeNote);
  }

  /** Launches of all simulations in which one may stand for others. */
  record Launches(long all, long simulated) {}

  /** The operations, for export. */
  public Outcome opLog(OpLog newLog) {
    log = newLog;
    return this;
  }

  /** What {@code auto} chose for the calls of the run, and from what. */
  public Outcome choices(List<AutoChoice> all) {
    all.stream().filter(c -> !choices.contains(c)).forEach(choices::add);
    return this;
  }

  /**
   * A file of the bench's own for the folder of the run, {@code --out}; a page made of the folder
   * shows those that end in {@code .svg}.
   *
   * @param text is asked for only if there is a folder
   */
  public Outcome file(String name, Supplier<String> text) {
    files.put(name, text);
    return this;
  }

  Map<String, Supplier<String>> files() {
    return files;
  }

  List<AutoChoice> choices() {
    return choices;
  }

  /** A problem that the bench found by its own checks; the run fails with it. */
  public Outcome problem(String text) {
    problem = text;
    return this;
  }

  public Machine machine() {
    return machine;
  }

  public Map<String, Object> conditions() {
    return conditions;
  }

  Map<String, Object> metrics() {
    return metrics;
  }

  public List<Map<String, Object>> rows() {
    return rows;
  }

  public long critPs() {
    return critPs;
  }

  /**
   * No launch comes before that time: it begins with the host's first call, or the host has no part
   * in it.
   */
  public Outcome timeIsWhole() {
    timeIsWhole = true;
    return this;
  }

  boolean isTimeWhole() {
    return timeIsWhole;
  }

  /**
   * How long the call of its first launch is on its way to the PEs, for a table of runs whose
   * slowest takes so long; not needed where the outcome has the log of operations.
   */
  public Outcome launchWay(long ps) {
    launchWayPs = OptionalLong.of(ps);
    return this;
  }

  /** How long that is, in picoseconds; 0 if the {@linkplain #timeIsWhole time has it already}. */
  public long launchWayPs() {
    return launchWayPs.orElseGet(() -> ObservedTime.wayPs(this));
  }

  public long boundPs() {
    return boundPs;
  }

  public String boundKind() {
    return boundKind;
  }

  public Optional<ValueCheck> values() {
    return Optional.ofNullable(values);
  }

  public Optional<Breakdown> breakdown() {
    return Optional.ofNullable(breakdown);
  }

  String breakdownNote() {
    return breakdownNote;
  }

  public Optional<OpLog> log() {
    return Optional.ofNullable(log);
  }

  public long events() {
    return events;
  }

  public String opLogHash() {
    return opLogHash;
  }

  public String valuesHash() {
    return valuesHash;
  }

  public String problem() {
    return problem;
  }
}
