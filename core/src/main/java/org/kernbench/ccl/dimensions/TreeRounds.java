package org.kernbench.ccl.dimensions;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.Reduction;
import org.kernbench.tl.Value;

/** An all-reduce of the whole chunk along one dimension, in one of two binary trees. */
final class TreeRounds extends DimensionRounds {
  private final Reduction reduction;
  private final int parent;
  private final int[] children;
  private final boolean last;
  private final List<Value> come = new ArrayList<>();
  private @Nullable Value sum;

  private final @Nullable Value held;
  private final int first;
  private final int width;

  TreeRounds(
      DimensionParts parts,
      int i,
      int lane,
      Reduction reduction,
      @Nullable Value held,
      boolean last) {
    super(parts, i, lane);
    int tree = parts.chunk() % 2;
    this.reduction = reduction;
    this.parent = DimensionQueues.parent(tree, me, n);
    this.children = DimensionQueues.children(tree, me, n);
    this.held = held;
    this.last = last;
    this.first = parts.first(i);
    this.width = parts.width(i);
  }

  private boolean isLeaf() {
    return children.length == 0;
  }

  private boolean isRoot() {
    return parent < 0;
  }

  /** Up, unless this is a leaf, which has nothing to wait for; and down, unless it is the root. */
  @Override
  int count() {
    return (isLeaf() ? 0 : 1) + (isRoot() ? 0 : 1);
  }

  private boolean isUp(int round) {
    return round == 0 && !isLeaf();
  }

  @Override
  long usualBytes(int round) {
    return parts.usualBytes(width);
  }

  @Override
  boolean reduces() {
    return !isLeaf();
  }

  @Override
  void send(int round) {
    if (round == 0) {
      sum = held == null ? parts.own(first, width, null, first) : held;
    }
    if (isUp(round)) {
      for (int child : children) {
        add(receive(peer(child), parts.elements(first, width)));
      }
    } else {
      send(peer(parent), sum);
      parts.release(sum);
      add(receive(peer(parent), parts.elements(first, width)));
    }
  }

  private void add(@Nullable Value value) {
    if (value != null) {
      come.add(value);
    }
  }

  @Override
  int come(int round) {
    come.forEach(tl::await);
    return come.isEmpty() ? -1 : come.getFirst().elements();
  }

  @Override
  void use(int round) {
    for (Value each : come) {
      Value before = sum;
      if (isUp(round) && before != null) {
        sum = reduction.combine(each, before);
        tl.release(each);
        tl.release(before);
      } else {
        sum = each;
      }
    }
    come.clear();
  }

  @Override
  void done() {
    Value result = sum;
    if (result != null && isRoot() && last) {
      result = reduction.finish(tl, result);
    }
    for (int child : children) {
      send(peer(child), result);
    }
    parts.write(first, width, result);
    parts.release(result);
  }
}
