package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.nn.autograd.Attention.Grads;
import org.kernbench.nn.autograd.Attention.Partial;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.RowCollectives;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.torch.P2POp;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Work;

/**
 * Attention over a sequence that is divided over the ranks of a group, whose keys and values go
 * round a ring (Liu, Zaharia and Abbeel 2023). In step {@code t} rank {@code r} attends to the part
 * of rank {@code r - t} while the next part is under way, and merges what it finds into what it
 * has.
 *
 * <p>Backwards the parts go round again. The gradient of a part is begun by the rank after its
 * owner, follows the part from rank to rank, each of which adds its share, and ends at the owner,
 * who adds its own. So per rank the forward pass sends {@code (p - 1)} parts, the backward pass as
 * many parts and as many gradients of parts, which are in f32 or f64.
 */
public final class RingAttention {
  private final Graph graph;
  private final Compute compute;
  private final ProcessGroup ring;
  private final SequencePart part;
  private final int next;
  private final int previous;

  /** Attention of a rank whose part of the sequence this is. */
  public RingAttention(Graph graph, ProcessGroup ring, SequencePart part) {
    this.graph = graph;
    this.compute = graph.compute();
    this.ring = ring;
    this.part = part;
    this.next = ring.globalRank((ring.rank() + 1) % ring.size());
    this.previous = ring.globalRank(Math.floorMod(ring.rank() - 1, ring.size()));
  }

  /** Tensors that travel together: keys and values, or their gradients. */
  private record Pair(Tensor k, Tensor v) {
    void close() {
      k.close();
      v.close();
    }
  }

  /** Attention as an operation of the graph; operands and shapes as {@link Graph#attention}. */
  public Variable apply(Variable q, Variable k, Variable v, int size, int[] at) {
    return apply(q, k, v, DotProductAttention.of(size), at);
  }

  /** As above, with what attention has beside but documents, which are those of the part. */
  public Variable apply(Variable q, Variable k, Variable v, DotProductAttention as, int[] at) {
    Attention attention =
        Attention.of(graph, q, k, v, as.size(), at, at).with(as.masks(graph), as.sharper());
    Positions queries =
        part.documents()
            .map(documents -> attention.positions(at, documents))
            .orElseGet(() -> attention.positions(at));
    Partial all = forward(attention, q, new Pair(k.value(), v.value()), queries);
    Tensor output = attention.as(q, all.output());
    Partial result = new Partial(output, all.logSum());
    return graph.record(
        output,
        output.shape(),
        List.of(q, k, v),
        (grad, into) -> {
          Grads g =
              new Backward(attention, q.value(), queries, result, grad)
                  .run(new Pair(k.value(), v.value()));
          into.give(0, attention.as(q, g.q()));
          into.give(1, attention.as(k, g.k()));
          into.give(2, attention.as(v, g.v()));
        });
  }

  private Partial forward(Attention attention, Variable q, Pair own, Positions queries) {
    DType working = Compute.working(q.dtype());
    Pair held = own;
    Partial all = null;
    for (int step = 0; step < ring.size(); step++) {
      boolean last = step == ring.size() - 1;
      Pair coming = last ? held : like(held, "keys", "values");
      List<Work> works = last ? List.of() : pass(held, coming);
      Partial some =
          attention.forward(q.value(), held.k, held.v, queries, keys(attention, step), working);
      all = all == null ? some : attention.merge(all, some);
      works.forEach(Work::await);
      if (held != own && !last) {
        held.close();
      }
      held = coming;
    }
    if (all == null) {
      throw new IllegalStateException("bug: a ring of no ranks");
    }
    return all;
  }

  /** Where the keys are that this rank holds in a step. */
  private Positions keys(Attention attention, int step) {
    int of = Math.floorMod(ring.rank() - step, ring.size());
    return attention.positions(new SequencePart(part.sequence(), part.ranks(), of).own());
  }

  private Pair like(Pair pair, String k, String v) {
    return new Pair(
        compute.empty(graph.name(k), pair.k.shape(), pair.k.dtype()),
        compute.empty(graph.name(v), pair.v.shape(), pair.v.dtype()));
  }

  /** Passes a pair on, and takes that of the rank before. */
  private List<Work> pass(Pair going, Pair coming) {
    return ring.batchIsendIrecv(
        List.of(
            P2POp.isend(rows(going.k), next),
            P2POp.isend(rows(going.v), next),
            P2POp.irecv(rows(coming.k), previous),
            P2POp.irecv(rows(coming.v), previous)));
  }

  /** Sender and receiver have one part each on a PE then. */
  private static Tensor rows(Tensor x) {
    return RowCollectives.asRows(x);
  }

  /** One backward pass. */
  private final class Backward {
    private final Attention attention;
    private final Tensor q;
    private final Positions queries;
    private final Partial result;
    private final Tensor grad;

    Backward(Attention attention, Tensor q, Positions queries, Partial result, Tensor grad) {
      this.attention = attention;
      this.q = q;
      this.queries = queries;
      this.result = result;
      this.grad = grad;
    }

    Grads run(Pair own) {
      List<Work> parts = new ArrayList<>();
      List<Work> sums = new ArrayList<>();
      Pair held = own;
      Pair coming = like(held, "keys", "values");
      parts.addAll(pass(held, coming));
      Grads first = share(held, 0);
      Pair mine = new Pair(first.k(), first.v());
      Pair arriving = mine; // gradients on their way here; none before the first step
      for (int step = 1; step < ring.size(); step++) {
        parts.forEach(Work::await);
        parts.clear();
        if (held != own) {
          held.close();
        }
        held = coming;
        if (step < ring.size() - 1) {
          coming = like(held, "keys", "values");
          parts.addAll(pass(held, coming));
        }
        Grads share = share(held, step);
        add(first.q(), share.q());
        Pair sum = new Pair(share.k(), share.v());
        if (step > 1) {
          sums.forEach(Work::await);
          sums.clear();
          add(sum, arriving);
        }
        arriving = like(mine, "dkeys", "dvalues");
        sums.addAll(pass(sum, arriving));
      }
      sums.forEach(Work::await);
      add(mine, arriving);
      return first;
    }

    private Grads share(Pair held, int step) {
      return attention.backward(q, held.k, held.v, queries, keys(attention, step), result, grad);
    }
  }

  private void add(Pair to, Pair what) {
    add(to.k, what.k);
    add(to.v, what.v);
  }

  private void add(Tensor to, Tensor what) {
    compute.mapInto(graph.name("add"), to, List.of(to, what), x -> x.get(0).add(x.get(1)));
  }
}
