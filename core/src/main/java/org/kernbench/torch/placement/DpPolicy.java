package org.kernbench.torch.placement;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import org.kernbench.config.Suggest;
import org.kernbench.machine.SimulationException;

/**
 * How a tensor is laid over the cubes and processing elements of one device: first over cubes, then
 * each cube's part over its PEs. There is no axis across packages: a tensor belongs to one device,
 * which {@code setDevice} chooses.
 *
 * @param cube how the tensor is laid over the cubes
 * @param pe how a cube's part is laid over its PEs
 * @param numCubes how many cubes, the first ones in structural order; all if empty
 * @param numPes how many PEs of each of them; all if empty
 */
public record DpPolicy(Split cube, Split pe, OptionalInt numCubes, OptionalInt numPes) {
  /** How one level divides what it gets. */
  public enum Split {
    /** Everyone holds all of it. */
    REPLICATE,
    /** Divides the last axis. */
    COLUMN_WISE,
    /** Divides the first axis. */
    ROW_WISE,
    /**
     * Divides first and last axis into a grid of tiles as square as the number of places allows,
     * with no more rows than columns; neighbours along the last axis have neighbouring numbers.
     */
    TILED_ROW_MAJOR,
    /**
     * As {@link #TILED_ROW_MAJOR}, but neighbours along the first axis have neighbouring numbers.
     */
    TILED_COLUMN_MAJOR;

    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private static final List<String> KEYS = List.of("cube", "pe", "num_cubes", "num_pes");

  /** Checks the ranges. */
  public DpPolicy {
    check("numCubes", numCubes);
    check("numPes", numPes);
  }

  private static void check(String name, OptionalInt count) {
    if (count.isPresent() && count.getAsInt() < 1) {
      throw new SimulationException(
          "placement " + name + ": got " + count.getAsInt() + "; expected at least 1");
    }
  }

  /** All of the tensor on the device's first PE: the default. */
  public static DpPolicy single() {
    return of(Split.REPLICATE, Split.REPLICATE).withCubes(1).withPes(1);
  }

  /** Over all cubes and PEs of the device. */
  public static DpPolicy of(Split cube, Split pe) {
    return new DpPolicy(cube, pe, OptionalInt.empty(), OptionalInt.empty());
  }

  /** A whole copy on every PE of the device. */
  public static DpPolicy replicate() {
    return of(Split.REPLICATE, Split.REPLICATE);
  }

  /** The last axis divided over all PEs of the device. */
  public static DpPolicy columnWise() {
    return of(Split.COLUMN_WISE, Split.COLUMN_WISE);
  }

  /** The first axis divided over all PEs of the device. */
  public static DpPolicy rowWise() {
    return of(Split.ROW_WISE, Split.ROW_WISE);
  }

  /** First and last axis divided into tiles, numbered row by row, on both levels. */
  public static DpPolicy tiledRowMajor() {
    return of(Split.TILED_ROW_MAJOR, Split.TILED_ROW_MAJOR);
  }

  /** First and last axis divided into tiles, numbered column by column, on both levels. */
  public static DpPolicy tiledColumnMajor() {
    return of(Split.TILED_COLUMN_MAJOR, Split.TILED_COLUMN_MAJOR);
  }

  /**
   * Reads a placement as {@link #toString} writes it: {@code cube=row_wise pe=replicate num_cubes=4
   * num_pes=2}, in any order, separated by blanks or commas. What is not named is {@code replicate}
   * on all places. {@code -} and {@code _} are the same, as is the case of letters.
   *
   * @throws SimulationException naming the part that is wrong; also for a split across packages
   */
  public static DpPolicy parse(String text) {
    DpPolicy policy = replicate();
    for (String part : text.strip().split("[\\s,]+")) {
      if (!part.isEmpty()) {
        policy = policy.with(part, text);
      }
    }
    return policy;
  }

  private DpPolicy with(String part, String text) {
    int equals = part.indexOf('=');
    String key = canonical(equals < 0 ? part : part.substring(0, equals));
    String value = equals < 0 ? "" : part.substring(equals + 1);
    return switch (key) {
      case "cube" -> new DpPolicy(split(part, value), pe, numCubes, numPes);
      case "pe" -> new DpPolicy(cube, split(part, value), numCubes, numPes);
      case "num_cubes" -> withCubes(count(part, value));
      case "num_pes" -> withPes(count(part, value));
      case "sip", "num_sips" ->
          throw new SimulationException(
              """
              placement "%s": %s asks for a split across packages, which a placement does not \
              have: a tensor lies on the one device that setDevice chooses; make one tensor \
              per rank\
              """
                  .formatted(text, part));
      default ->
          throw new SimulationException(
              "placement \"%s\": unknown key in %s%s; expected %s"
                  .formatted(text, part, Suggest.hint(key, KEYS), String.join(", ", KEYS)));
    };
  }

  private static Split split(String part, String value) {
    for (Split split : Split.values()) {
      if (split.word().equals(canonical(value))) {
        return split;
      }
    }
    List<String> known = Arrays.stream(Split.values()).map(Split::word).toList();
    throw new SimulationException(
        "placement %s: unknown split%s; expected %s"
            .formatted(part, Suggest.hint(canonical(value), known), String.join(", ", known)));
  }

  private static int count(String part, String value) {
    try {
      return Integer.parseInt(value);
    } catch (NumberFormatException e) {
      throw new SimulationException("placement " + part + ": expected a whole number");
    }
  }

  private static String canonical(String word) {
    return word.toLowerCase(Locale.ROOT).replace('-', '_');
  }

  /** For example {@code cube=row_wise pe=column_wise num_pes=4}. */
  @Override
  public String toString() {
    return "cube=%s pe=%s%s%s"
        .formatted(
            cube.word(),
            pe.word(),
            numCubes.isPresent() ? " num_cubes=" + numCubes.getAsInt() : "",
            numPes.isPresent() ? " num_pes=" + numPes.getAsInt() : "");
  }

  /** A copy that uses the first {@code count} cubes. */
  public DpPolicy withCubes(int count) {
    return new DpPolicy(cube, pe, OptionalInt.of(count), numPes);
  }

  /** A copy that uses the first {@code count} PEs of each cube. */
  public DpPolicy withPes(int count) {
    return new DpPolicy(cube, pe, numCubes, OptionalInt.of(count));
  }
}
