package org.kernbench.torch;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.device.Steps;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.RangeException;
import org.kernbench.tl.SteppedKernel;
import org.kernbench.tl.Tl;

/**
 * Kernels while they say their commands: which tensors each may use, and which launch is to blame
 * for what one throws.
 */
final class KernelRuns {
  /** Owner of launches that no single rank has made, and that are no kernels of the program. */
  static final int COLLECTIVE = -2;

  /** What the kernel that says its commands on this thread may use. */
  private final ThreadLocal<Use> running = new ThreadLocal<>();

  /** What kernels have thrown, on whichever thread, and which launch is to blame. */
  private final Map<Throwable, Use> blamed = Collections.synchronizedMap(new IdentityHashMap<>());

  /**
   * A launch as the host knows it: who launched what on which tensors.
   *
   * @param declared whether these are all that it may use
   * @param owner the rank, -1 of the host program, or {@link #COLLECTIVE}
   */
  record Use(String kernel, List<Tensor> tensors, boolean declared, int owner) {}

  /** What a PE runs of a kernel. */
  Runnable program(Use use, Kernel kernel, Tl tl) {
    if (kernel instanceof SteppedKernel stepped) {
      return new GuardedSteps(use, stepped, tl);
    }
    return () ->
        guard(
            use,
            tl.pe(),
            () -> {
              kernel.run(tl);
              return false;
            });
  }

  /** A kernel in steps, begun with the first. */
  private final class GuardedSteps implements Steps {
    private final Use use;
    private final Tl tl;
    private Steps steps;

    GuardedSteps(Use use, SteppedKernel kernel, Tl tl) {
      this.use = use;
      this.tl = tl;
      this.steps =
          () -> {
            steps = begin(kernel);
            return steps.next();
          };
    }

    private Steps begin(SteppedKernel kernel) {
      Steps begun = kernel.begin(tl);
      if (begun == null) {
        throw new SimulationException(
            "kernel " + use.kernel() + " at " + tl.pe() + ": begin gave null; expected its steps");
      }
      return begun;
    }

    @Override
    public boolean next() {
      return guard(use, tl.pe(), steps);
    }
  }

  /** Lets a kernel say commands; what it throws becomes a message, and the launch is to blame. */
  private boolean guard(Use use, Pe at, Steps body) {
    // Collectives run beside other kernels of a PE, but use no tensor: they know its shards.
    boolean mayUseTensors = use.owner() != COLLECTIVE;
    if (mayUseTensors) {
      running.set(use);
    }
    try {
      return body.next();
    } catch (RangeException e) {
      SimulationException thrown = new SimulationException(told(use, at, e));
      blamed.put(thrown, use);
      throw thrown;
    } catch (ShapeException e) {
      ShapeException thrown = new ShapeException(told(use, at, e));
      blamed.put(thrown, use);
      throw thrown;
    } catch (RuntimeException | AssertionError e) {
      blamed.put(e, use);
      throw e;
    } finally {
      if (mayUseTensors) {
        running.remove();
      }
    }
  }

  private static String told(Use use, Pe at, RuntimeException e) {
    return "kernel " + use.kernel() + " at " + at + ": " + e.getMessage() + userLine(e);
  }

  /** Where a kernel has called the language; what it calls lies in two packages. */
  private static String userLine(RuntimeException e) {
    String language = Tl.class.getPackageName() + ".";
    String values = Shape.class.getPackageName() + ".";
    for (StackTraceElement frame : e.getStackTrace()) {
      String type = frame.getClassName();
      if (!type.startsWith(language) && !type.startsWith(values)) {
        return " (" + frame.getFileName() + ":" + frame.getLineNumber() + ")";
      }
    }
    return "";
  }

  /** Refuses a tensor to the kernel on this thread if that did not name it. */
  void checkUse(Tensor tensor, Pe pe) {
    Use use = running.get();
    if (use != null && use.declared() && !use.tensors().contains(tensor)) {
      throw new SimulationException(
          """
          kernel %s at %s uses tensor %s, which it was not launched with; pass it to \
          launch, so that reads of the host wait for the kernel\
          """
              .formatted(use.kernel(), pe, tensor.name()));
    }
  }

  /** The rank that launched the kernel that threw this; -1 if none did or it is not known. */
  int owner(Throwable thrown) {
    Use use = blamed.get(thrown);
    return use == null || use.owner() == COLLECTIVE ? -1 : use.owner();
  }
}
