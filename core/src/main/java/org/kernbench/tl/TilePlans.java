package org.kernbench.tl;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;

/**
 * The tiles found in a launch, so that PEs that multiply matrices of one shape search once. A
 * search is a pure function of what is compared here, so who searched does not matter.
 */
public final class TilePlans {
  /** All that a search looks at; PEs of a package are alike. */
  private record Question(
      int sip,
      List<Integer> shape,
      DType dtype,
      DType out,
      boolean aInTcm,
      boolean bInTcm,
      long passes,
      Optional<TileShape> tile,
      OptionalInt buffers,
      int batch) {
    static Question of(Pe pe, CompositeGemm g) {
      return new Question(
          pe.sip(),
          List.of(g.m(), g.k(), g.n()),
          g.dtype(),
          g.out().shard().dtype(),
          g.a.isInTcm(),
          g.b.isInTcm(),
          TileSearch.passes(g),
          g.tile,
          g.buffers,
          g.batch);
    }
  }

  private final Map<Question, TileSearch.Prediction> found = new ConcurrentHashMap<>();

  /** Nothing found yet. */
  public TilePlans() {}

  TileSearch.Prediction plan(Machine machine, Pe pe, CompositeGemm gemm) {
    return found.computeIfAbsent(
        Question.of(pe, gemm), q -> new TileSearch(machine, pe).choose(gemm));
  }
}
