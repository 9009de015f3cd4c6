package org.kernbench.nn.optim;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * Parts of a model whose parameters are gathered when one of them is first used, and freed when
 * another part's are ({@code fully_shard} of PyTorch). The part that comes next in the direction of
 * the pass is gathered beside the computation of the present one.
 *
 * <p>Whoever asks for a parameter's value gets it: a wrong guess of what comes next costs time and
 * no value. The host waits for memory: it hands a gathering to the device only when what was freed
 * two parts ago is no longer in use, so at most three parts are there at once.
 */
final class Units {
  private static final String LAYERS = "layers.";

  private final Torch torch;
  private final boolean ahead;
  private final List<List<Bucket>> units = new ArrayList<>();
  private final Deque<Tensor> freed = new ArrayDeque<>();
  private int current = -1;

  /**
   * No unit yet.
   *
   * @param ahead whether the next unit is gathered beside the present one
   */
  Units(Torch torch, boolean ahead) {
    this.torch = torch;
    this.ahead = ahead;
  }

  /** The unit of a parameter, by its name: a layer, or what comes before or behind all layers. */
  static String of(Parameter p, List<Parameter> all) {
    if (p.name().startsWith(LAYERS)) {
      return p.name().substring(0, p.name().indexOf('.', LAYERS.length()));
    }
    boolean isFirst =
        all.stream().takeWhile(q -> q != p).noneMatch(q -> q.name().startsWith(LAYERS));
    return isFirst ? "first" : "last";
  }

  /** Adds the next unit in the order of the forward pass. */
  void add(List<Bucket> buckets) {
    int unit = units.size();
    units.add(List.copyOf(buckets));
    for (Bucket bucket : buckets) {
      for (Parameter p : bucket.members()) {
        p.remakeBy(() -> {
          use(unit);
          return bucket.value(p);
        });
      }
    }
  }

  private void use(int unit) {
    if (unit == current) {
      return; // another parameter of it has been asked for before
    }
    int before = current;
    current = unit;
    gather(unit);
    int next = unit > before ? unit + 1 : unit - 1;
    for (int other = 0; other < units.size(); other++) {
      if (other != unit && other != next) {
        free(other);
      }
    }
    // on the way back the first unit is an embedding, whose gradient needs no values
    if (ahead && next < units.size() && next > (unit > before ? -1 : 0)) {
      gather(next);
    }
  }

  private void gather(int unit) {
    while (freed.size() > 1) {
      torch.await(freed.removeFirst());
    }
    units.get(unit).forEach(Bucket::gather);
  }

  private void free(int unit) {
    units.get(unit).forEach(bucket -> Optional.ofNullable(bucket.free()).ifPresent(freed::addLast));
  }

  /**
   * Ends a pass: the next one begins with the first unit.
   *
   * @param frees whether what is still there is freed, as values are about to change
   */
  void end(boolean frees) {
    for (int unit = 0; frees && unit < units.size(); unit++) {
      free(unit);
    }
    current = -1;
  }
}
