package org.kernbench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;
import org.kernbench.device.Mode;
import org.kernbench.device.check.Findings;
import org.kernbench.machine.Machine;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

/** Makes the examples run checked: their machines are opened here. */
public final class CheckedOptions {
  private static final AtomicReference<Findings> CURRENT = new AtomicReference<>(new Findings());

  private CheckedOptions() {}

  /** The source of an example with its machines opened by this class. */
  static String in(String source) {
    return source.replaceAll("(?<![\\w.])Torch\\.open\\(", "org.kernbench.CheckedOptions.open(");
  }

  /** Whether an example opens machines that keep time, and does not check them itself. */
  static boolean appliesTo(Path example) throws IOException {
    String source = Files.readString(example);
    return source.contains("Torch.open(")
        && !source.contains("Mode.VALUES")
        && !source.contains("checkedBy(");
  }

  /** What the next example finds. */
  static Findings begin() {
    Findings findings = new Findings();
    CURRENT.set(findings);
    return findings;
  }

  /** Opens a machine whose execution is checked, unless it checks itself or keeps no time. */
  public static Torch open(Machine machine, TorchOptions options) {
    boolean asItIs = options.mode() == Mode.VALUES || options.simulator().watch().isPresent();
    return Torch.open(machine, asItIs ? options : options.checkedBy(CURRENT.get()));
  }
}
