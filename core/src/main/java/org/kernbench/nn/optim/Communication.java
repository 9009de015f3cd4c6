package org.kernbench.nn.optim;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.torch.Torch;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectiveRun;

/**
 * What a program has communicated, by part of the model and pass: the bytes that were sent, counted
 * in the log of operations, the time that took, and how much of it was exposed.
 *
 * <p>A collective belongs to the part of the model after which the tensor that it writes is named,
 * as {@link Graph#section} names them. A message belongs to the collective that its PE was
 * performing when it was issued.
 */
public final class Communication {
  /** The pass of a step. */
  public enum Phase {
    /** From inputs to the loss. */
    FORWARD,
    /** Gradients of activations. */
    BACKWARD,
    /** Sums of the gradients of parameters. */
    GRADIENTS,
    /** Changed parts of parameters, brought together. */
    PARAMETERS,
    /** Numbers of the whole step: tokens, the norm of gradients. */
    STEP
  }

  /**
   * The collectives of one kind in one part of the model.
   *
   * @param place part of the model, for example {@code layers.0.mlp.down}
   * @param phase pass
   * @param op what was called
   * @param groupSize ranks that took part in each
   * @param members ranks that took part in any
   * @param calls how many; a call in each of several groups counts as often
   * @param payloadBytes of the whole tensors of all calls
   * @param sentBytes that all ranks together sent; empty if it was not logged
   * @param timePs from start to end, all calls together
   * @param exposedPs the part of the time that no computation hides
   */
  public record Line(
      String place,
      Phase phase,
      CollectiveOp op,
      int groupSize,
      long members,
      long calls,
      long payloadBytes,
      OptionalLong sentBytes,
      long timePs,
      long exposedPs) {}

  private final List<Line> lines;

  private Communication(List<Line> lines) {
    this.lines = List.copyOf(lines);
  }

  /** What a program has communicated so far; everything is done when this returns. */
  public static Communication of(Torch torch) {
    torch.synchronize();
    List<CollectiveRun> runs = torch.distributed().history();
    boolean timed = torch.simulator().mode() != Mode.VALUES;
    OpLog log = torch.simulator().opLog();
    boolean counts = timed && log.isComplete();
    long[] sent = counts ? sent(torch.machine(), log, runs) : new long[runs.size()];
    Map<Key, Sum> sums = new LinkedHashMap<>();
    for (int i = 0; i < runs.size(); i++) {
      CollectiveRun run = runs.get(i);
      if (run.op() != CollectiveOp.BARRIER) {
        sums.computeIfAbsent(Key.of(run), k -> new Sum()).add(run, sent[i], timed);
      }
    }
    List<Line> lines = new ArrayList<>();
    sums.forEach((key, sum) -> lines.add(sum.line(key, counts)));
    return new Communication(lines);
  }

  /** In the order of their first calls. */
  public List<Line> lines() {
    return lines;
  }

  private record Key(String place, Phase phase, CollectiveOp op, int groupSize) {
    static Key of(CollectiveRun run) {
      String name = run.result();
      Phase phase;
      String place;
      int grad = name.indexOf("." + Recipe.GRAD + ".");
      if (grad >= 0 || name.startsWith(Recipe.GRAD + ".")) {
        phase = Phase.BACKWARD;
        place = grad >= 0 ? name.substring(0, grad) : "model";
      } else if (name.endsWith(".grad") || name.contains(Bucket.GRADIENTS)) {
        phase = Phase.GRADIENTS;
        place = name.replace(Bucket.OWN, "").replaceFirst("\\.grad$", "");
      } else if (name.startsWith(Bucket.PARAMETERS)) {
        phase = Phase.PARAMETERS;
        place = name;
      } else {
        int dot = name.lastIndexOf('.');
        phase = dot < 0 ? Phase.STEP : Phase.FORWARD;
        place = dot < 0 ? name : name.substring(0, dot);
      }
      return new Key(place, phase, run.op(), run.ranks().size());
    }
  }

  private static final class Sum {
    private final Map<List<Integer>, Integer> groups = new HashMap<>();
    private long calls;
    private long payload;
    private long sent;
    private long time;
    private long exposed;

    void add(CollectiveRun run, long bytes, boolean timed) {
      int copies = run.copies();
      groups.put(run.ranks(), copies);
      calls += copies;
      payload += copies * run.bytes();
      sent += bytes;
      time += timed ? copies * run.durationPs() : 0;
      exposed += timed ? copies * run.exposedPs() : 0;
    }

    private long members() {
      Map<Integer, Integer> copies = new HashMap<>();
      groups.forEach((ranks, times) -> ranks.forEach(rank -> copies.put(rank, times)));
      return copies.values().stream().mapToLong(Integer::longValue).sum();
    }

    Line line(Key key, boolean counted) {
      return new Line(
          key.place,
          key.phase,
          key.op,
          key.groupSize,
          members(),
          calls,
          payload,
          counted ? OptionalLong.of(sent) : OptionalLong.empty(),
          time,
          exposed);
    }
  }

  /** Bytes of the messages of each run. */
  private static long[] sent(Machine machine, OpLog log, List<CollectiveRun> runs) {
    List<List<Integer>> byPe = new ArrayList<>();
    for (int i = 0; i < machine.peCount(); i++) {
      byPe.add(new ArrayList<>());
    }
    for (int i = 0; i < runs.size(); i++) {
      for (Pe pe : runs.get(i).launch().pes()) {
        byPe.get(machine.peIndex(pe)).add(i);
      }
    }
    byPe.forEach(own -> own.sort(Comparator.comparingLong(i -> runs.get(i).startPs())));
    long[] sent = new long[runs.size()];
    for (int id = 0; id < log.size(); id++) {
      if (log.has(id) && log.kind(id) == OpKind.SEND) {
        List<Integer> own = byPe.get(machine.peIndex(log.pe(id)));
        int run = latest(own, runs, log.issuePs(id));
        if (run >= 0) {
          sent[run] += (long) log.bytes(id) * log.packagesPerRow();
        }
      }
    }
    return sent;
  }

  /** The last of a PE's runs that had started by a time; they follow each other. */
  private static int latest(List<Integer> own, List<CollectiveRun> runs, long time) {
    int low = 0;
    int high = own.size();
    while (low < high) {
      int mid = (low + high) >>> 1;
      if (runs.get(own.get(mid)).startPs() <= time) {
        low = mid + 1;
      } else {
        high = mid;
      }
    }
    return low == 0 ? -1 : own.get(low - 1);
  }
}
