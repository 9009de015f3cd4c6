package org.kernbench.nn.bridge;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.ModuleRole;
import org.kernbench.nn.parallel.RankGrid;

/**
 * Which ranks run which modules of a model: a grid for each modality and one for the language
 * model. Either all grids have the same ranks, and every rank runs every module, or no rank is in
 * two of them. Source: {@code docs/spec/megatron.md} 9.1.
 */
public final class ModulePlacement {
  /** The key of the language model. */
  public static final String LANGUAGE = ModuleRole.LANGUAGE.token();

  private final SortedMap<String, RankGrid> grids;
  private final boolean colocated;

  private ModulePlacement(SortedMap<String, RankGrid> grids, boolean colocated) {
    this.grids = grids;
    this.colocated = colocated;
  }

  /**
   * Decides.
   *
   * @param modalities names of the encoders that the model has
   * @param grids by module: one for each modality, and one for {@link #LANGUAGE}
   * @throws LayoutException of kind ARGUMENT if keys are missing or there are others, or if two
   *     grids share some ranks but not all
   */
  public static ModulePlacement of(Set<String> modalities, Map<String, RankGrid> grids) {
    Set<String> wanted = new TreeSet<>(modalities);
    wanted.add(LANGUAGE);
    Set<String> missing = new TreeSet<>(wanted);
    missing.removeAll(grids.keySet());
    Set<String> extra = new TreeSet<>(grids.keySet());
    extra.removeAll(wanted);
    if (!missing.isEmpty() || !extra.isEmpty()) {
      throw LayoutException.argument(
          "grids of modules: missing " + missing + ", unknown " + extra + "; expected " + wanted);
    }
    SortedMap<String, RankGrid> sorted = new TreeMap<>(grids);
    boolean same = true;
    for (String a : sorted.keySet()) {
      for (String b : sorted.tailMap(a + '\0').keySet()) {
        RankGrid first = grid(sorted, a);
        RankGrid second = grid(sorted, b);
        boolean equal = first.offset() == second.offset() && first.size() == second.size();
        if (!equal && !first.isApartFrom(second)) {
          throw LayoutException.argument(
              """
              modules %s (ranks %s) and %s (ranks %s) share some ranks; expected the same \
              ranks or none in common\
              """
                  .formatted(a, first.span(), b, second.span()));
        }
        same &= equal;
      }
    }
    return new ModulePlacement(sorted, same);
  }

  private static RankGrid grid(Map<String, RankGrid> grids, String module) {
    RankGrid grid = grids.get(module);
    if (grid == null) {
      throw new IllegalStateException("bug: no module " + module);
    }
    return grid;
  }

  /** Whether every rank runs every module; otherwise each rank runs those whose grid it is in. */
  public boolean isColocated() {
    return colocated;
  }

  /**
   * The modules that a rank runs, by name.
   *
   * @throws LayoutException of kind STATE if the rank is in no grid
   */
  public List<String> modulesOf(int rank) {
    List<String> modules = new ArrayList<>();
    grids.forEach((name, grid) -> {
      if (grid.contains(rank)) {
        modules.add(name);
      }
    });
    if (modules.isEmpty()) {
      throw LayoutException.state(
          "rank " + rank + " is in no module's grid: " + grids + "; every rank must be in one");
    }
    return modules;
  }

  /** The bridges to the language model, by modality; none unless the modules are colocated. */
  public SortedMap<String, BridgePlan> bridges() {
    SortedMap<String, BridgePlan> bridges = new TreeMap<>();
    RankGrid language = grid(grids, LANGUAGE);
    grids.forEach((name, grid) -> {
      if (colocated && !name.equals(LANGUAGE)) {
        BridgeOptions options = BridgeOptions.DEFAULT.named(name, LANGUAGE);
        bridges.put(name, new BridgePlan(grid, language, options));
      }
    });
    return bridges;
  }
}
