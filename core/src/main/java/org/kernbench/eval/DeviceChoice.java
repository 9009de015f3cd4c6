package org.kernbench.eval;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kernbench.config.UsageException;
import org.kernbench.machine.Machine;

/**
 * The package on which a program of one device runs.
 *
 * @param sip its number
 */
public record DeviceChoice(int sip) {
  /** Of benches that use one package. */
  public static final Param<Optional<DeviceChoice>> PARAM =
      Param.device("device", "package that the program runs on").orFrom("--device, or sip:0");

  private static final Pattern TEXT = Pattern.compile("(?:sip:?)?(\\d{1,9})");

  /**
   * Reads {@code sip:3}.
   *
   * @throws IllegalArgumentException if it is something else
   */
  static DeviceChoice parse(String text) {
    Matcher m = TEXT.matcher(text);
    if (!m.matches()) {
      throw new IllegalArgumentException("got \"" + text + "\"; expected sip:N, e.g. sip:0");
    }
    return new DeviceChoice(Integer.parseInt(m.group(1)));
  }

  /**
   * The one that the user chose for a run, or the first.
   *
   * @throws UsageException if the machine has no such package
   */
  public static DeviceChoice of(BenchContext context, Machine machine) {
    DeviceChoice device = context.param(PARAM).orElse(new DeviceChoice(0));
    if (device.sip >= machine.sips()) {
      throw new UsageException(
          "--device %s: machine %s has %s"
              .formatted(
                  device,
                  machine.name(),
                  machine.sips() == 1 ? "sip:0 only" : "sip:0 to sip:" + (machine.sips() - 1)));
    }
    return device;
  }

  /**
   * Refuses {@code --device} of a bench that does not run on one package.
   *
   * @throws UsageException if it does not
   */
  static void checkTakenBy(Bench bench) {
    if (!bench.params().contains(PARAM)) {
      throw new UsageException(
          """
          --device: bench %s does not run on one package; leave --device out, or choose \
          one of the benches with a parameter device (kernbench list)\
          """
              .formatted(bench.name()));
    }
  }

  @Override
  public String toString() {
    return "sip:" + sip;
  }
}
