package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.ReusableProgram;
import org.kernbench.machine.Pe;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.SteppedKernel;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.KeyedKernel;
import org.kernbench.torch.collective.LanePlan;

/** Collectives on their way to the device: the queues that they need, and what there has been. */
final class Collectives {
  private static final int FEWEST = 64;

  private final Session session;
  private final QueueSets queues;
  private final List<CollectiveRun> history = new ArrayList<>();

  /** Those that may not be done yet. */
  private final List<CollectiveRun> underWay = new ArrayList<>();

  private int tidyAt = FEWEST;

  Collectives(Session session) {
    this.session = session;
    this.queues = new QueueSets(session.simulator(), session.isFolded());
  }

  private final QueueSets.Waits waits =
      new QueueSets.Waits() {
        @Override
        public void forHolders(Set<QueueSet> sets) {
          underWay.removeIf(run -> run.launch().isDone());
          for (CollectiveRun run : List.copyOf(underWay)) {
            if (sets.contains(run.queueSet())) {
              session.await(run.launch());
            }
          }
        }

        @Override
        public void forAll() {
          session.synchronize();
        }
      };

  /** All that were handed to the device, in order. */
  List<CollectiveRun> history() {
    return Collections.unmodifiableList(history);
  }

  /** Opens queues ahead of their first use. */
  void install(QueuePlan plan) {
    queues.of(plan, waits);
  }

  /** Removes the queues of collectives that are not under way. */
  void uninstallIdle() {
    queues.clear();
  }

  /**
   * Hands a collective to the device: it starts when the kernels that use its tensors are done.
   *
   * @param ranks global numbers of the members
   * @param plans of its lanes, at least one
   * @param tensors that it reads or writes, of all members
   * @param result name of what it writes, for reports
   */
  Launch perform(
      CollectiveOp op,
      String group,
      List<Integer> ranks,
      List<LanePlan> plans,
      List<Tensor> tensors,
      String result) {
    session.checkTranslations();
    QueuePlan plan = queues.union(plans.stream().map(p -> p.plan().queues()).toList());
    QueueSet set = queues.of(plan, waits);
    List<Pe> pes = plans.getFirst().pes();
    Kernel kernel = plans.getFirst().plan().kernel();
    if (plans.size() > 1) {
      pes = new ArrayList<>();
      Map<Pe, Kernel> kernels = new HashMap<>();
      for (LanePlan lane : plans) {
        for (Pe pe : lane.pes()) {
          pes.add(pe);
          kernels.put(pe, lane.plan().kernel());
        }
      }
      kernel = byPe(kernels);
    }
    String name = op.method() + " (" + plans.getFirst().plan().algorithm() + ")";
    List<Launch> alsoAfter = op == CollectiveOp.BARRIER ? session.pendingOn(ranks) : List.of();
    Launch launch =
        session.launchCollective(name, kernel, keyOf(plans), pes, set, tensors, alsoAfter);
    session.simulated(ranks).forEach(rank -> session.launchedBy(rank, launch));
    CollectiveRun run =
        new CollectiveRun(
            group,
            ranks,
            session.simulated(ranks),
            session.copies(ranks),
            plans,
            result,
            set,
            launch,
            session.busy());
    history.add(run);
    if (underWay.size() >= tidyAt) {
      underWay.removeIf(other -> other.launch().isDone());
      tidyAt = Math.max(FEWEST, 2 * underWay.size());
    }
    underWay.add(run);
    session
        .simulator()
        .opLog()
        .launches()
        .exchanges(launch.id(), RankExchanges.of(op, ranks, plans));
    return launch;
  }

  /** What the commands of all lanes depend on; null if one of them does not say it. */
  private static @Nullable Supplier<ReusableProgram.Key> keyOf(List<LanePlan> lanes) {
    if (!lanes.stream().allMatch(lane -> lane.plan().kernel() instanceof KeyedKernel)) {
      return null;
    }
    return () -> {
      List<Object> what = new ArrayList<>();
      List<ReusableProgram.Memory> memories = new ArrayList<>();
      for (LanePlan lane : lanes) {
        ReusableProgram.Key key = ((KeyedKernel) lane.plan().kernel()).dependsOn();
        what.add(lane.pes());
        what.add(key.what());
        memories.addAll(key.memories());
      }
      return new ReusableProgram.Key(what, memories);
    };
  }

  /** Each PE runs its own kernel; in steps if all of them are. */
  private static Kernel byPe(Map<Pe, Kernel> kernels) {
    if (kernels.values().stream().allMatch(SteppedKernel.class::isInstance)) {
      return (SteppedKernel) tl -> ((SteppedKernel) at(tl.pe(), kernels)).begin(tl);
    }
    return tl -> at(tl.pe(), kernels).run(tl);
  }

  private static Kernel at(Pe pe, Map<Pe, Kernel> kernels) {
    return Objects.requireNonNull(kernels.get(pe), "launched where it has a kernel");
  }
}
