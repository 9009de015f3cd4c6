package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.kernbench.nn.autograd.Mapping.Move;
import org.kernbench.nn.optim.GradientSync;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.torch.ProcessGroup;

/**
 * The decisions on which it rests that a parallel run computes what one rank computes, each taken
 * in one place. A model asks the recipe of its {@link Graph}, {@link GradientSync} its own: {@link
 * #STANDARD}, or that of two modules, {@link TwoModuleRecipe}.
 *
 * <p>It is an interface so that one decision can be taken wrongly, to show that an oracle notices:
 * the mutations of {@code docs/spec/megatron.md} 12.4 are overridden methods, in tests or by a
 * {@link Fault}, and the layers know nothing of them.
 */
public interface Recipe {
  /** What Megatron-LM does. */
  Recipe STANDARD = new Recipe() {};

  /** Ends the place where context-parallel ranks exchange keys and values. */
  String CONTEXT = "context";

  /** Ends the place of what is computed on the way back. */
  String GRAD = "grad";

  /**
   * How a mapping moves values.
   *
   * @param place name of the part of the model, for example {@code layers.0.mlp.down}
   */
  default Move forward(Mapping mapping, String place) {
    return mapping.forward();
  }

  /** How a mapping moves gradients. */
  default Move backward(Mapping mapping, String place) {
    return mapping.backward();
  }

  /**
   * Whether a row-parallel layer adds its bias once, to the sum, or each rank to its part of it.
   */
  default boolean addsBiasToTheSum() {
    return true;
  }

  /** Places in the whole sequence that a rank's rows have: for masks, rotation and embedding. */
  default int[] positions(SequencePart part) {
    return part.own();
  }

  /** Groups over which the gradient of a parameter is summed, one after the other. */
  default List<ProcessGroup> gradientGroups(Parameter parameter, ParallelLayout layout) {
    if (parameter.sharding().ofExpert()) {
      return List.of(layout.experts().orElseThrow().edp());
    }
    List<ProcessGroup> groups = new ArrayList<>();
    if (parameter.sharding().sequenceParallel()) {
      groups.add(layout.tp());
    }
    groups.add(layout.dpCp());
    return groups;
  }

  /**
   * Which expert takes a copy of a token.
   *
   * @param place name of the layer, for example {@code layers.0.experts}
   * @param sample number of the token's sample in the whole batch
   * @param position of the token in it
   * @param choice which of the token's choices, from 0
   * @param chosen the expert that it chose
   * @param experts how many there are
   */
  default int expert(String place, int sample, int position, int choice, int chosen, int experts) {
    return chosen;
  }

  /** Whether a router learns from what experts did with the tokens that it sent them. */
  default boolean teachesRouter(String place) {
    return true;
  }

  /**
   * The number of a row in the masks of {@link Dropping}.
   *
   * @param row which one it is on this rank
   */
  default long maskRow(SequencePart part, int sample, int position, int row) {
    return (long) sample * part.sequence() + position;
  }

  /**
   * The number of a sample's head in the masks of attention.
   *
   * @param heads of the model
   * @param own which one it is of this rank's samples and heads
   */
  default long maskHead(int sample, int head, int heads, int own) {
    return (long) sample * heads + head;
  }

  /**
   * The key of a mask.
   *
   * @param again whether values are made again that had been freed
   */
  default long maskKey(long key, boolean again) {
    return key;
  }

  /** A further factor of the gradient per token; 1, as the loss is a sum over tokens. */
  default double gradientFactor(ParallelLayout layout) {
    return 1;
  }

  /** Group over which tokens are counted, each once. */
  default ProcessGroup tokenGroup(ParallelLayout layout) {
    return layout.dpCp();
  }

  /**
   * Whether gathered parameters are freed before the optimizer changes the ranks' parts of them.
   */
  default boolean freesGathered() {
    return true;
  }

  /** The ranks that have other stages of the model; empty if each has all of it. */
  default Optional<ProcessGroup> stages() {
    return Optional.empty();
  }

  /** Whether this rank's part of a parameter counts in the norm of all gradients. */
  default boolean countsInNorm(Parameter parameter, ParallelLayout layout) {
    return parameter.sharding().axis().isPresent() || layout.tp().rank() == 0;
  }
}
