package org.kernbench.nn.pipeline;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.kernbench.nn.autograd.Mapping;
import org.kernbench.nn.autograd.Mapping.Move;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.torch.ProcessGroup;

/**
 * A recipe whose norm of all gradients goes over the stages of a pipeline, and counts a parameter
 * that several stages have once.
 */
final class PipelineRecipe implements Recipe {
  private final Recipe within;
  private final ProcessGroup pp;
  private final Set<Parameter> copies = Collections.newSetFromMap(new IdentityHashMap<>());

  /**
   * Of a rank.
   *
   * @param within what is decided within a stage
   * @param copies parameters that another rank counts
   */
  PipelineRecipe(Recipe within, ProcessGroup pp, List<Parameter> copies) {
    this.within = within;
    this.pp = pp;
    this.copies.addAll(copies);
  }

  @Override
  public Move forward(Mapping mapping, String place) {
    return within.forward(mapping, place);
  }

  @Override
  public Move backward(Mapping mapping, String place) {
    return within.backward(mapping, place);
  }

  @Override
  public boolean addsBiasToTheSum() {
    return within.addsBiasToTheSum();
  }

  @Override
  public int[] positions(SequencePart part) {
    return within.positions(part);
  }

  @Override
  public List<ProcessGroup> gradientGroups(Parameter parameter, ParallelLayout layout) {
    return within.gradientGroups(parameter, layout);
  }

  @Override
  public int expert(String place, int sample, int position, int choice, int chosen, int experts) {
    return within.expert(place, sample, position, choice, chosen, experts);
  }

  @Override
  public boolean teachesRouter(String place) {
    return within.teachesRouter(place);
  }

  @Override
  public long maskRow(SequencePart part, int sample, int position, int row) {
    return within.maskRow(part, sample, position, row);
  }

  @Override
  public long maskHead(int sample, int head, int heads, int own) {
    return within.maskHead(sample, head, heads, own);
  }

  @Override
  public long maskKey(long key, boolean again) {
    return within.maskKey(key, again);
  }

  @Override
  public double gradientFactor(ParallelLayout layout) {
    return within.gradientFactor(layout);
  }

  @Override
  public ProcessGroup tokenGroup(ParallelLayout layout) {
    return within.tokenGroup(layout);
  }

  @Override
  public boolean freesGathered() {
    return within.freesGathered();
  }

  @Override
  public Optional<ProcessGroup> stages() {
    return pp.size() > 1 ? Optional.of(pp) : Optional.empty();
  }

  @Override
  public boolean countsInNorm(Parameter parameter, ParallelLayout layout) {
    return !copies.contains(parameter) && within.countsInNorm(parameter, layout);
  }
}
