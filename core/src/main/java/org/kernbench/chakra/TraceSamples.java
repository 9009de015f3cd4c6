package org.kernbench.chakra;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Traces of four kinds of training step, made here: to try the tools with, and for tests whose
 * times have closed forms. Every rank computes {@code layers} layers forwards and backwards.
 */
public final class TraceSamples {
  private static final long LAYER_PS = 20_000_000;
  private static final long OPS = 40_000_000_000L;

  /** The kinds. */
  public enum Kind {
    /** Each layer's gradients are summed over all ranks beside the backward pass of the next. */
    DATA_PARALLEL,
    /** Every half layer ends in a sum over all ranks that the next one needs. */
    TENSOR_PARALLEL,
    /** Each rank is a stage; two micro-batches for each, all forwards and then all backwards. */
    PIPELINE,
    /** Tokens go to experts on all ranks and back, in every layer. */
    EXPERTS
  }

  private final int ranks;
  private final int layers;
  private final long bytes;

  /**
   * Samples of one size.
   *
   * @param ranks at least 1
   * @param layers at least 1
   * @param bytes of each collective or message
   */
  public TraceSamples(int ranks, int layers, long bytes) {
    this.ranks = ranks;
    this.layers = layers;
    this.bytes = bytes;
  }

  /** The traces of all ranks. */
  public Workload workload(Kind kind) {
    List<RankTrace> traces = new ArrayList<>(ranks);
    for (int rank = 0; rank < ranks; rank++) {
      traces.add(new RankTrace(rank, kind + "." + rank, nodes(kind, rank)));
    }
    return Workload.of(traces, Map.of(), new Repairs());
  }

  /** The nodes of one rank. */
  public List<TraceNode> nodes(Kind kind, int rank) {
    Writing writing = new Writing(rank);
    switch (kind) {
      case DATA_PARALLEL -> writing.dataParallel();
      case TENSOR_PARALLEL -> writing.halves(CollectiveType.ALL_REDUCE);
      case PIPELINE -> writing.pipeline();
      case EXPERTS -> writing.halves(CollectiveType.ALL_TO_ALL);
    }
    return List.copyOf(writing.nodes.values());
  }

  private final class Writing {
    private final Map<Long, TraceNode> nodes = new LinkedHashMap<>();
    private final int rank;

    Writing(int rank) {
      this.rank = rank;
    }

    private long add(
        String name,
        NodeType type,
        long ps,
        Optional<TraceNode.Communication> comm,
        long... before) {
      List<Long> all = new ArrayList<>();
      for (long each : before) {
        if (each >= 0) {
          all.add(each);
        }
      }
      long id = nodes.size();
      boolean computes = type == NodeType.COMP;
      nodes.put(
          id,
          new TraceNode(
              id,
              name,
              type,
              all,
              0,
              ps,
              false,
              computes ? OPS : 0,
              computes ? bytes : 0,
              OptionalLong.empty(),
              comm));
      return id;
    }

    private long compute(String name, long ps, long... before) {
      return add(name, NodeType.COMP, ps, Optional.empty(), before);
    }

    private long collective(String name, CollectiveType type, long... before) {
      return add(
          name,
          NodeType.COMM_COLL,
          0,
          Optional.of(
              new TraceNode.Communication(type, bytes, "", OptionalLong.empty(), rank, rank, 0)),
          before);
    }

    private long message(String name, int from, int to, int tag, long before) {
      return add(
          name,
          rank == from ? NodeType.COMM_SEND : NodeType.COMM_RECV,
          0,
          Optional.of(
              new TraceNode.Communication(
                  CollectiveType.BARRIER, bytes, "", OptionalLong.empty(), from, to, tag)),
          before);
    }

    void dataParallel() {
      long last = -1;
      for (int l = 0; l < layers; l++) {
        last = compute("layer " + l + " forward", LAYER_PS, last);
      }
      long[] sums = new long[layers];
      for (int l = layers - 1; l >= 0; l--) {
        last = compute("layer " + l + " backward", 2 * LAYER_PS, last);
        sums[l] = collective("layer " + l + " gradients", CollectiveType.ALL_REDUCE, last);
      }
      compute("optimizer", LAYER_PS / 2, sums);
    }

    /** Two halves of a layer, each followed by a collective; then the same backwards. */
    void halves(CollectiveType type) {
      long last = -1;
      for (int pass = 1; pass <= 2; pass++) {
        for (int l = 0; l < layers; l++) {
          for (String half : List.of("attention", "feed-forward")) {
            String name = "layer %s %s %s".formatted(l, half, pass == 1 ? "forward" : "backward");
            last = compute(name, pass * LAYER_PS / 2, last);
            last = collective(name + " " + type, type, last);
          }
        }
      }
    }

    void pipeline() {
      int batches = 2 * ranks;
      long last = -1;
      for (int m = 0; m < batches; m++) {
        long in = rank > 0 ? message("in " + m, rank - 1, rank, m, -1) : -1;
        last = compute("forward " + m, layers * LAYER_PS, last, in);
        if (rank < ranks - 1) {
          message("out " + m, rank, rank + 1, m, last);
        }
      }
      for (int m = 0; m < batches; m++) {
        long in = rank < ranks - 1 ? message("gradient in " + m, rank + 1, rank, m, -1) : -1;
        last = compute("backward " + m, 2L * layers * LAYER_PS, last, in);
        if (rank > 0) {
          message("gradient out " + m, rank, rank - 1, m, last);
        }
      }
    }
  }
}
