package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.eval.training.StepCall.AllReduce;
import org.kernbench.eval.training.StepCall.Product;
import org.kernbench.eval.training.StepCall.Stream;
import org.kernbench.machine.spec.OperationClass;

/**
 * The calls of a GPT's training step in mixed precision, as an eager framework makes them: one
 * kernel for each operation, with the fusions that Megatron-LM has (bias and GELU; bias, dropout
 * and residual; scale, mask and softmax), activations and gradients in f16, the optimizer's masters
 * and states in f32.
 *
 * <p>Bytes are those that a kernel must read and write when it finds nothing in caches.
 *
 * @param hidden width of the model
 * @param heads of attention, of all tensor-parallel ranks
 * @param tokens of a sample
 * @param microbatch samples of a pass
 * @param tp tensor-parallel ranks; they divide heads and inner features
 * @param vocabulary ids, divided over the tensor-parallel ranks
 */
record GptCalls(int hidden, int heads, int tokens, int microbatch, int tp, int vocabulary) {
  private static final int W = 2; // bytes of f16
  private static final int MASK = 1; // byte of a dropout mask

  /**
   * The fused softmax of Megatron-LM takes four rows of scores at once, of as many matrices (
   * {@code FusedScaleMaskSoftmax.is_kernel_available}); otherwise the scores are cast, scaled,
   * masked and cast back by kernels of their own.
   */
  private static final int FUSED_MATRICES = 4;

  private static final int LONGEST_FUSED_ROW = 4096;

  /** Weights and biases of a layer: two norms, four linear layers. */
  private static final int TENSORS_OF_LAYER = 12;

  private int rows() {
    return microbatch * tokens;
  }

  /** Elements of the activations between layers, on each rank. */
  private long x() {
    return (long) rows() * hidden;
  }

  /** Of those that are divided over the tensor-parallel ranks. */
  private long part() {
    return x() / tp;
  }

  private int width() {
    return hidden / tp;
  }

  private int matrices() {
    return microbatch * (heads / tp);
  }

  private long scores() {
    return (long) matrices() * tokens * tokens;
  }

  private boolean fusesSoftmax() {
    return matrices() % FUSED_MATRICES == 0 && tokens % 4 == 0 && tokens <= LONGEST_FUSED_ROW;
  }

  // ---- calls by what they are ----

  private static Stream each(long read, long written) {
    return new Stream(OperationClass.ELEMENTWISE, read, written);
  }

  private static Stream other(long read, long written) {
    return new Stream(OperationClass.OTHER, read, written);
  }

  private static Stream norm(long read, long written) {
    return new Stream(OperationClass.LAYERNORM, read, written);
  }

  private static Stream softmax(long read, long written) {
    return new Stream(OperationClass.SOFTMAX, read, written);
  }

  private Product linear(int in, int out) {
    return new Product(rows(), in, out, 1);
  }

  private Product perHead(int m, int k, int n) {
    return new Product(m, k, n, matrices());
  }

  private int headSize() {
    return hidden / heads;
  }

  private void reduce(List<StepCall> calls) {
    if (tp > 1) {
      calls.add(new AllReduce(tp, 1, W * x()));
    }
  }

  /** Of a linear layer backwards: gradients of input, weight and bias. */
  private void backwards(List<StepCall> calls, int in, int out) {
    calls.add(linear(out, in));
    calls.add(new Product(in, rows(), out, 1));
    calls.add(each(W * (long) rows() * out, (long) W * out));
  }

  // ---- a layer ----

  /** Forwards through one layer. */
  List<StepCall> forward() {
    List<StepCall> calls = new ArrayList<>();
    long s = scores();
    calls.add(norm(W * x(), W * x()));
    calls.add(linear(hidden, 3 * width()));
    calls.add(each(W * 3 * part(), W * 3 * part())); // queries, keys and values apart
    calls.add(perHead(tokens, headSize(), tokens));
    softmaxForward(calls, s);
    calls.add(each(W * s, (W + MASK) * s)); // dropout
    calls.add(perHead(tokens, tokens, headSize()));
    calls.add(each(W * part(), W * part())); // heads side by side
    calls.add(linear(width(), hidden));
    reduce(calls);
    calls.add(each(2 * W * x(), (W + MASK) * x())); // bias, dropout, residual
    calls.add(norm(W * x(), W * x()));
    calls.add(linear(hidden, 4 * width()));
    calls.add(each(W * 4 * part(), W * 4 * part())); // bias, GELU
    calls.add(linear(4 * width(), hidden));
    reduce(calls);
    calls.add(each(2 * W * x(), (W + MASK) * x()));
    return calls;
  }

  private void softmaxForward(List<StepCall> calls, long s) {
    if (fusesSoftmax()) {
      calls.add(softmax(W * s, W * s));
      return;
    }
    calls.add(each(W * s, 2 * W * s)); // to f32
    calls.add(each(2 * W * s, 2 * W * s)); // scale
    calls.add(each((2 * W + MASK) * s, 2 * W * s)); // mask
    calls.add(softmax(2 * W * s, 2 * W * s));
    calls.add(each(2 * W * s, W * s)); // to f16
  }

  /** Backwards through one layer, gradients of its weights included. */
  List<StepCall> backward() {
    List<StepCall> calls = new ArrayList<>();
    long s = scores();
    calls.add(each((W + MASK) * x(), W * x()));
    backwards(calls, 4 * width(), hidden);
    calls.add(each(2 * W * 4 * part(), W * 4 * part()));
    backwards(calls, hidden, 4 * width());
    reduce(calls);
    normBackward(calls);
    calls.add(each((W + MASK) * x(), W * x()));
    backwards(calls, width(), hidden);
    calls.add(each(W * part(), W * part()));
    calls.add(perHead(tokens, headSize(), tokens));
    calls.add(perHead(tokens, tokens, headSize()));
    calls.add(each((W + MASK) * s, W * s));
    softmaxBackward(calls, s);
    calls.add(perHead(tokens, tokens, headSize()));
    calls.add(perHead(tokens, tokens, headSize()));
    calls.add(each(W * 3 * part(), W * 3 * part()));
    backwards(calls, hidden, 3 * width());
    reduce(calls);
    normBackward(calls);
    accumulated(calls);
    return calls;
  }

  private void softmaxBackward(List<StepCall> calls, long s) {
    if (fusesSoftmax()) {
      calls.add(softmax(2 * W * s, W * s));
      return;
    }
    calls.add(each(W * s, 2 * W * s));
    calls.add(softmax(4 * W * s, 2 * W * s));
    calls.add(each((2 * W + MASK) * s, 2 * W * s));
    calls.add(each(2 * W * s, 2 * W * s));
    calls.add(each(2 * W * s, W * s));
  }

  /** Gradient of the input, then those of scale and shift; added to what came past the norm. */
  private void normBackward(List<StepCall> calls) {
    calls.add(norm(2 * W * x(), W * x()));
    calls.add(norm(2 * W * x(), 2L * W * hidden));
    calls.add(each(2 * W * x(), W * x()));
  }

  /** Gradients of each weight are added to those of the microbatches before. */
  private void accumulated(List<StepCall> calls) {
    long square = (long) hidden * width();
    for (long weight : new long[] {3 * square, square, 4 * square, 4 * square}) {
      calls.add(other(2 * W * weight, W * weight));
      calls.add(other(2L * W * hidden, (long) W * hidden)); // its bias
    }
    for (int i = 0; i < 4; i++) { // two norms
      calls.add(other(2L * W * hidden, (long) W * hidden));
    }
  }

  // ---- ends of the model ----

  /** From ids to activations: tokens, positions, their sum, dropout. */
  List<StepCall> embedding() {
    List<StepCall> calls = new ArrayList<>();
    for (int i = 0; i < 2 && tp > 1; i++) {
      calls.add(each(8L * rows(), 8L * rows())); // which ids lie here, and where
    }
    calls.add(other(W * x(), W * x()));
    if (tp > 1) {
      calls.add(each(W * x(), W * x()));
      reduce(calls);
    }
    calls.add(other(W * x(), W * x()));
    calls.add(each(2 * W * x(), W * x()));
    calls.add(each(W * x(), (W + MASK) * x()));
    return calls;
  }

  List<StepCall> embeddingBackward() {
    List<StepCall> calls = new ArrayList<>();
    calls.add(each((W + MASK) * x(), W * x()));
    calls.add(other(W * x(), (long) W * tokens * hidden));
    calls.add(other(W * x(), (long) W * vocabulary / tp * hidden));
    calls.add(other((long) 2 * W * tokens * hidden, (long) W * tokens * hidden));
    calls.add(other((long) 2 * W * vocabulary / tp * hidden, (long) W * vocabulary / tp * hidden));
    return calls;
  }

  /** Norm, logits, and the loss: largest logit, exponentials, their sum, mean over tokens. */
  List<StepCall> head() {
    List<StepCall> calls = new ArrayList<>();
    long logits = (long) rows() * (vocabulary / tp);
    calls.add(norm(W * x(), W * x()));
    calls.add(linear(hidden, vocabulary / tp));
    calls.add(each(W * logits, 2 * W * logits)); // to f32
    calls.add(each(2 * W * logits, 2L * W * rows())); // largest
    rowReduce(calls);
    calls.add(each(2 * W * logits, 2 * W * logits)); // less that
    for (int i = 0; i < 6; i++) { // logit of the target, where it lies, and masks
      calls.add(each(2L * W * rows(), 2L * W * rows()));
    }
    rowReduce(calls);
    calls.add(each(2 * W * logits, 2 * W * logits)); // exponential
    calls.add(each(2 * W * logits, 2L * W * rows())); // sum
    rowReduce(calls);
    calls.add(each(2 * W * logits, 2 * W * logits)); // over the sum
    for (int i = 0; i < 5; i++) { // logarithm, difference, mask, sum, scale
      calls.add(each(2L * W * rows(), 2L * W * rows()));
    }
    return calls;
  }

  private void rowReduce(List<StepCall> calls) {
    if (tp > 1) {
      calls.add(new AllReduce(tp, 1, 2L * W * rows()));
    }
  }

  List<StepCall> headBackward() {
    List<StepCall> calls = new ArrayList<>();
    long logits = (long) rows() * (vocabulary / tp);
    for (int i = 0; i < 5; i++) { // loss scale, mask, targets
      calls.add(each(2L * W * rows(), 2L * W * rows()));
    }
    calls.add(each(2 * W * logits, 2 * W * logits));
    calls.add(each(2 * W * logits, W * logits)); // to f16
    calls.add(linear(vocabulary / tp, hidden));
    calls.add(new Product(vocabulary / tp, rows(), hidden, 1));
    reduce(calls);
    calls.add(other((long) 2 * W * vocabulary / tp * hidden, (long) W * vocabulary / tp * hidden));
    normBackward(calls);
    return calls;
  }

  // ---- the end of a step ----

  /**
   * Weights of so many layers on a rank, with the table of ids at both ends of a pipeline,
   * positions before the first layer and the norm behind the last.
   */
  long parameters(int layers, boolean first, boolean last) {
    long layer = 12L * hidden * width() + 13L * hidden;
    return layers * layer
        + (first || last ? table() : 0)
        + (first ? (long) tokens * hidden : 0)
        + (last ? 2L * hidden : 0);
  }

  /** Weights of the table of ids on a rank. */
  long table() {
    return (long) vocabulary / tp * hidden;
  }

  /** Tensors that hold {@link #parameters}. */
  static int tensors(int layers, boolean first, boolean last) {
    return TENSORS_OF_LAYER * layers
        + (first || last ? 1 : 0)
        + (first ? 1 : 0)
        + (last ? 2 : 0); // scale and shift of the norm
  }

  /** Gradients to f32, their norm, AdamW on masters and states, weights back to f16. */
  static List<StepCall> optimizer(long parameters, int tensors) {
    List<StepCall> calls = new ArrayList<>();
    long each = Math.max(1, parameters / tensors);
    for (int i = 0; i < tensors; i++) {
      calls.add(other(W * each, 4 * each));
    }
    calls.add(other(4 * parameters, 8));
    calls.add(other(16 * parameters, 12 * parameters));
    for (int i = 0; i < tensors; i++) {
      calls.add(other(4 * each, W * each));
    }
    return calls;
  }

  /** Activations that a stage hands to the next. */
  long boundaryBytes() {
    return W * x();
  }
}
