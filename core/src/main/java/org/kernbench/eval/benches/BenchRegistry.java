package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.config.Suggest;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Bench;
import org.kernbench.eval.replay.TraceReplayBench;
import org.kernbench.eval.traffic.TrafficBench;
import org.kernbench.eval.training.GptStepBench;
import org.kernbench.eval.training.MimoBench;
import org.kernbench.eval.training.TrainingBench;

/** The benches that can be run by name. */
public final class BenchRegistry {
  private final Map<String, Bench> benches = new LinkedHashMap<>();

  private BenchRegistry(List<Bench> benches) {
    for (Bench bench : benches) {
      Bench other = this.benches.putIfAbsent(Suggest.fold(bench.name()), bench);
      if (other != null) {
        throw new IllegalArgumentException(
            "two benches are called %s: %s and %s; rename one of them"
                .formatted(bench.name(), other.getClass().getName(), bench.getClass().getName()));
      }
    }
  }

  /** The benches that come with kernbench. */
  public static BenchRegistry standard() {
    List<Bench> all = new ArrayList<>(CompositeBench.all());
    all.addAll(
        List.of(
            new AllReduceBench(),
            new HelloSendBench(),
            new LatencySweepBench(),
            new MilestoneCclBench(),
            new MilestoneGemmBench(),
            new MimoBench(),
            new RankScaleBench(),
            new PeDmaBench(),
            new PeToPeBench(),
            new CollectiveBench(),
            new RingScaleBench(),
            new VaOffsetBench(),
            new AttentionDecodeBench(),
            new AttentionPrefillBench(),
            new FusedMlpBench(),
            new GeluBench(),
            new Gpt3QkvBench(),
            new GptStepBench(),
            new LayerNormBench(),
            new MoeDispatchBench(),
            new ShardedGemmBench(),
            new SoftmaxBench(),
            new TraceReplayBench(),
            new TrafficBench(),
            new TrainingBench(TrainingBench.Scope.MLP),
            new TrainingBench(TrainingBench.Scope.BLOCK),
            new TrainingBench(TrainingBench.Scope.STEP)));
    all.sort(Comparator.comparing(Bench::name));
    return of(all);
  }

  /**
   * A registry of some benches.
   *
   * @throws IllegalArgumentException if two have one name
   */
  public static BenchRegistry of(List<Bench> benches) {
    return new BenchRegistry(benches);
  }

  /**
   * These benches and a user's.
   *
   * @throws UsageException if a name is taken
   */
  public BenchRegistry with(List<Bench> others) {
    List<Bench> all = new ArrayList<>(benches.values());
    all.addAll(others);
    try {
      return new BenchRegistry(all);
    } catch (IllegalArgumentException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }

  /** All benches. */
  public List<Bench> all() {
    return List.copyOf(benches.values());
  }

  /**
   * The bench of a name; {@code -} and {@code _} are alike.
   *
   * @throws UsageException that names the nearest one
   */
  public Bench find(String name) {
    Bench bench = benches.get(Suggest.fold(name));
    if (bench == null) {
      List<String> names = new ArrayList<>();
      benches.values().forEach(b -> names.add(b.name()));
      String hint = Suggest.hint(name, names);
      throw new UsageException(
          "unknown bench %s%s"
              .formatted(
                  name, hint.isEmpty() ? "; expected one of " + String.join(", ", names) : hint));
    }
    return bench;
  }
}
