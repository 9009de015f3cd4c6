package org.kernbench.nn.pipeline;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.kernbench.nn.layers.TransformerStage;
import org.kernbench.nn.parallel.LayoutException;

/**
 * How many blocks of a model each stage has.
 *
 * @param blocks by part of the model, 0 or more
 * @param order by stage, which part it has; 0, 1, 2 and so on but for a mistake made on purpose
 */
public record LayerSplit(List<Integer> blocks, List<Integer> order) {
  /** Checks that there are stages, and no negative number. */
  public LayerSplit {
    blocks = List.copyOf(blocks);
    order = List.copyOf(order);
    if (blocks.isEmpty() || blocks.stream().anyMatch(n -> n < 0)) {
      throw LayoutException.argument(
          "stages of " + blocks + " blocks; expected 0 or more for each");
    }
  }

  /** Stages in the order of the model. */
  public LayerSplit(List<Integer> blocks) {
    this(blocks, IntStream.range(0, blocks.size()).boxed().toList());
  }

  /** A copy with the blocks of a stage and of the next exchanged: a mistake, to see it found. */
  public LayerSplit exchanged(int stage) {
    List<Integer> other = new ArrayList<>(order);
    Collections.swap(other, stage, stage + 1);
    return new LayerSplit(blocks, other);
  }

  /**
   * As even as can be; of what is left over the first stages have one block more.
   *
   * @throws LayoutException if there are fewer blocks than stages
   */
  public static LayerSplit even(int layers, int stages) {
    if (layers < stages) {
      throw LayoutException.argument(
          "%s layers on %s stages; expected at least as many layers, or stage_layers with a 0"
              .formatted(layers, stages));
    }
    List<Integer> blocks = new ArrayList<>();
    for (int s = 0; s < stages; s++) {
      blocks.add(layers / stages + (s < layers % stages ? 1 : 0));
    }
    return new LayerSplit(blocks);
  }

  /**
   * Numbers joined by commas, for example {@code 3,4,4,1}.
   *
   * @throws LayoutException if they are not as many as the stages, or do not add up to the layers
   */
  public static LayerSplit parse(String text, int layers, int stages) {
    return parse("stage_layers", text, layers, stages);
  }

  /**
   * As {@link #parse(String, int, int)}.
   *
   * @param name of the numbers, for messages
   */
  public static LayerSplit parse(String name, String text, int layers, int stages) {
    List<Integer> blocks;
    try {
      blocks = Arrays.stream(text.split(",", -1)).map(n -> Integer.valueOf(n.strip())).toList();
    } catch (NumberFormatException e) {
      throw LayoutException.argument(
          name + ": got \"" + text + "\"; expected numbers joined by commas, e.g. 3,4,4,1");
    }
    int sum = blocks.stream().mapToInt(Integer::intValue).sum();
    if (blocks.size() != stages || sum != layers) {
      throw LayoutException.argument(
          "%s: got %s numbers with sum %s; expected %s, one for each stage, with sum %s"
              .formatted(name, blocks.size(), sum, stages, layers));
    }
    return new LayerSplit(blocks);
  }

  /** The parts of the model that a stage has. */
  public TransformerStage.Range range(int stage, boolean tied) {
    int part = order.get(stage);
    int from = blocks.subList(0, part).stream().mapToInt(Integer::intValue).sum();
    return new TransformerStage.Range(
        from, from + blocks.get(part), stage == 0, stage == blocks.size() - 1, tied);
  }
}
