package org.kernbench.eval;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Side;
import org.kernbench.machine.spec.LaunchSpec;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.machine.spec.SoftwareSpec;

/**
 * What hosts see of a run: their own work for each call, the way of the launch, the kernels, and
 * the wait until they know that they are done.
 *
 * <p>Each rank has a host of its own (ADR 0329), and calls with others what all of them take part
 * in; a program without ranks has one. A host works for {@code launch} of the operation's class
 * before each call, so all its later calls are late by the sum. A kernel is late only as far as its
 * call now arrives after the moment at which it started: behind a kernel that still runs, host time
 * is hidden, as queues do. Where the host had waited for a kernel, its calls are as late as that
 * kernel. The machine's own part of the way is {@code system.launch} with the host link.
 */
final class ObservedTime {
  private ObservedTime() {}

  /**
   * A kernel as it ran without the hosts' work.
   *
   * @param hosts that called it together
   * @param hostPs the work of each of them before the call
   * @param arrivedPs when the call had reached the PEs
   * @param startPs when it started, at or after that
   * @param donePs when it was done
   * @param waitedFor the kernel that a host had waited for before the call; -1 if none
   */
  record Kernel(
      List<Integer> hosts, long hostPs, long arrivedPs, long startPs, long donePs, int waitedFor) {}

  /** Where a host is. */
  private static final class Host {
    private long latePs;
    private final List<Integer> called = new ArrayList<>();
  }

  /** By how much the last of some kernels ends later because of the hosts' work. */
  static long delayPs(List<Kernel> kernels) {
    if (kernels.stream().allMatch(k -> k.hostPs == 0)) {
      return 0;
    }
    Map<Integer, Host> hosts = new HashMap<>();
    long[] delay = new long[kernels.size()];
    long end = 0;
    long endThen = 0;
    for (int i = 0; i < delay.length; i++) {
      Kernel k = kernels.get(i);
      for (int number : k.hosts) {
        Host host = hosts.computeIfAbsent(number, n -> new Host());
        host.latePs = Math.max(host.latePs, waitedPs(kernels, delay, k, number, host)) + k.hostPs;
        delay[i] = Math.max(delay[i], k.arrivedPs + host.latePs - k.startPs);
        for (int j : host.called) {
          long done = kernels.get(j).donePs;
          if (done <= k.startPs) {
            delay[i] = Math.max(delay[i], done + delay[j] - k.startPs);
          }
        }
        host.called.add(i);
      }
      end = Math.max(end, k.donePs);
      endThen = Math.max(endThen, k.donePs + delay[i]);
    }
    return endThen - end;
  }

  /**
   * How late what a host had waited for was. Of hosts that waited for different kernels that were
   * done at one time, the log names one kernel.
   */
  private static long waitedPs(
      List<Kernel> kernels, long[] delay, Kernel k, int number, Host host) {
    if (k.waitedFor < 0) {
      return 0;
    }
    Kernel named = kernels.get(k.waitedFor);
    if (named.hosts.contains(number)) {
      return delay[k.waitedFor];
    }
    return host.called.stream()
        .filter(j -> kernels.get(j).donePs == named.donePs)
        .mapToLong(j -> delay[j])
        .max()
        .orElse(delay[k.waitedFor]);
  }

  /** The observed time of a run, in picoseconds; that of a run without a time is 0. */
  static long of(Outcome outcome) {
    if (outcome.critPs() <= 0) {
      return 0;
    }
    Machine machine = outcome.machine();
    SoftwareSpec software = machine.software();
    List<Kernel> kernels = kernels(outcome, software);
    long delay =
        kernels.isEmpty()
            ? software.of(outcome.operationClass().orElse(OperationClass.OTHER)).launchPs()
            : delayPs(kernels);
    return outcome.launchWayPs() + outcome.critPs() + delay + software.synchronisePs();
  }

  /** Of the first launch; none if the time has it already. */
  static long wayPs(Outcome outcome) {
    List<Kernel> kernels = kernels(outcome, outcome.machine().software());
    if (outcome.isTimeWhole()) {
      return 0;
    }
    return kernels.isEmpty()
        ? wayPs(outcome.machine())
        : kernels.getFirst().arrivedPs - calledPs(outcome, kernels.getFirst());
  }

  /** From the host to a PE next to the host link. */
  private static long wayPs(Machine machine) {
    LaunchSpec launch = machine.launch();
    return launch.doorbellPs()
        + machine.route(machine.hostNode(), machine.ioNode(0, Side.N)).latencyPs()
        + launch.ioCpuPs()
        + launch.mCpuPs()
        + launch.peCpuPs();
  }

  private static long calledPs(Outcome outcome, Kernel first) {
    LaunchLog log = outcome.log().map(OpLog::launches).orElseThrow();
    for (int i = 0; i < log.size(); i++) {
      if (log.arrivedPs(i) == first.arrivedPs) {
        return log.calledPs(i);
      }
    }
    throw new IllegalStateException("a kernel that nobody called");
  }

  /** The launches within the critical time; none if the log does not say when they ran. */
  private static List<Kernel> kernels(Outcome outcome, SoftwareSpec software) {
    Optional<LaunchLog> found = outcome.log().map(OpLog::launches);
    if (found.isEmpty() || !found.get().isComplete()) {
      return List.of();
    }
    LaunchLog log = found.get();
    long end = 0;
    for (int i = 0; i < log.size(); i++) {
      end = Math.max(end, log.donePs(i));
    }
    int first = log.size();
    while (first > 0
        && log.startPs(first - 1) >= 0
        && log.startPs(first - 1) >= end - outcome.critPs() - SLACK_PS) {
      first--;
    }
    boolean only = log.size() - first == 1;
    List<Kernel> kernels = new ArrayList<>();
    for (int i = first; i < log.size(); i++) {
      OperationClass said = only ? outcome.operationClass().orElse(null) : null;
      OperationClass kind = said == null ? kindOf(log.name(i)) : said;
      int waited = log.hostWaitedFor(i);
      kernels.add(
          new Kernel(
              hosts(log, i),
              software.of(kind).launchPs(),
              log.arrivedPs(i),
              log.startPs(i),
              log.donePs(i),
              waited >= first ? waited - first : -1));
    }
    return kernels;
  }

  /** The ranks that own its PEs; without ranks one host. */
  private static List<Integer> hosts(LaunchLog log, int launch) {
    return IntStream.range(log.firstRow(launch), log.endRow(launch))
        .map(log::rank)
        .distinct()
        .boxed()
        .toList();
  }

  /** The end of a launch may be counted before its last message is seen. */
  private static final long SLACK_PS = 10_000_000;

  /** How {@code Graph} names the products of a backward pass. */
  private static final Pattern GRADIENT_OF_PRODUCT = Pattern.compile("d[abwx]\\d*");

  /** The class that a kernel's name says. */
  static OperationClass kindOf(String kernel) {
    String name = kernel.toLowerCase(Locale.ROOT).replaceAll("[_-]", "");
    if (name.contains("softmax")) {
      return OperationClass.SOFTMAX;
    }
    if (name.contains("norm")) {
      return OperationClass.LAYERNORM;
    }
    if (has(name, "gemm", "matmul", "linear", "product", "attention", "qkv", "mlp", "moe")
        || GRADIENT_OF_PRODUCT.matcher(name).matches()) {
      return OperationClass.MATMUL;
    }
    if (has(
        name,
        "allreduce",
        "allto",
        "reducescatter",
        "broadcast",
        "gather",
        "barrier",
        "collective")) {
      return OperationClass.COLLECTIVE;
    }
    return has(name, "gelu", "relu", "silu", "add", "mul", "bias", "scale", "dropout", "cast")
        ? OperationClass.ELEMENTWISE
        : OperationClass.OTHER;
  }

  private static boolean has(String name, String... words) {
    for (String word : words) {
      if (name.contains(word)) {
        return true;
      }
    }
    return false;
  }
}
