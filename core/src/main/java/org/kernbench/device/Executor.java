package org.kernbench.device;

import java.util.List;
import java.util.function.Function;
import org.kernbench.machine.Pe;

/** Runs launches; one implementation keeps time, one computes values only. */
interface Executor {
  void install(QueuePlan plan);

  Launch launch(String name, List<Pe> pes, Function<PePort, Runnable> program);

  /** Runs until the launch is done or nothing can move. */
  void drive(Launch launch);

  long nowPs();

  long eventCount();

  OpLog log();

  /** Most slots in use at once in any queue since the last install. */
  int peakSlots();

  void close();
}
