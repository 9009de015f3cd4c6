package org.kernbench.nn.autograd;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * Masks of what attention gives each key. The number of a pair is {@code ((sample heads + head)
 * sequence + query) sequence + key}, of all heads and of positions in the whole sequence, so that
 * it does not matter which rank has which heads, queries or keys at the moment.
 *
 * @param rate of what is left out
 * @param key of the masks
 * @param heads {@code sample heads + head} of each sample and head of the rank
 * @param queries position of each query
 * @param sequence length of the whole sequence
 */
record HeadMasks(double rate, Tensor key, Tensor heads, Tensor queries, int sequence) {
  /** The masks of a graph's dropout; empty if attention has none. */
  static Optional<HeadMasks> of(Graph graph, DotProductAttention.Queries of) {
    Dropping dropping = graph.dropping();
    double rate = dropping.dropout().attention();
    if (rate == 0) {
      return Optional.empty();
    }
    int count = of.batch() * of.heads();
    Recipe recipe = graph.recipe();
    return Optional.of(
        new HeadMasks(
            rate,
            dropping.key(of.place()),
            dropping.everywhere(
                "mask-heads",
                Shape.of(count),
                () -> {
                  double[] numbers = new double[count];
                  for (int i = 0; i < count; i++) {
                    int sample = of.part().firstSample() + i / of.heads();
                    int head = of.firstHead() + i % of.heads();
                    numbers[i] = recipe.maskHead(sample, head, of.allHeads(), i);
                  }
                  return numbers;
                }),
            dropping.everywhere(
                "mask-queries",
                Shape.of(of.at().length),
                () -> Arrays.stream(of.at()).asDoubleStream().toArray()),
            of.part().sequence()));
  }

  List<Tensor> tensors() {
    return List.of(key, heads, queries);
  }

  /** Which pairs of a tile are kept. */
  Value keeps(Tl tl, MaskedTile tile, int head) {
    Value of = tl.load(tl.whole(heads).range(head, 1)).mul(sequence);
    Value query = tl.load(tl.whole(queries).range(tile.row(), tile.rows()));
    Value row = query.add(of).mul(sequence).reshape(tile.rows(), 1);
    Value offsets = row.add(tile.keysAt(tl).cast(DType.I64).reshape(1, tile.keys()));
    Value keeps = Dropping.keeps(tl, tl.load(tl.whole(key).range(0, 1)), offsets, rate);
    tl.release(offsets);
    return keeps;
  }

  /** Values of pairs, of which those that are kept grow. */
  Value apply(Tl tl, Value keeps, Value pairs) {
    return tl.where(keeps, pairs.mul(1 / (1 - rate)), 0);
  }
}
