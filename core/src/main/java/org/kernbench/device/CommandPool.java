package org.kernbench.device;

import org.jspecify.annotations.Nullable;

/**
 * The commands of one PE that can serve again: each sort by itself, and of one PE, so that a
 * command finds the other records of its PE in the same cache.
 */
final class CommandPool {
  private final ProcessingElement pe;
  private final CommandTable all;
  private @Nullable Op freeFences;
  private @Nullable ComputationOp freeComputations;
  private @Nullable AccessOp freeAccesses;
  private @Nullable MessageOp freeMessages;

  CommandPool(ProcessingElement pe, CommandTable all) {
    this.pe = pe;
    this.all = all;
  }

  /** A fence, or a task for the tile scheduler. */
  Op newFence(Issuer issuer) {
    Op op = freeFences;
    if (op == null) {
      op = all.add(index -> new Op(index, pe));
    } else {
      freeFences = op.next;
    }
    op.clear(issuer);
    return op;
  }

  ComputationOp newComputation(Issuer issuer) {
    ComputationOp op = freeComputations;
    if (op == null) {
      op = all.add(index -> new ComputationOp(index, pe));
    } else {
      freeComputations = (ComputationOp) op.next;
    }
    op.clear(issuer);
    return op;
  }

  AccessOp newAccess(Issuer issuer) {
    AccessOp op = freeAccesses;
    if (op == null) {
      op = all.add(index -> new AccessOp(index, pe));
    } else {
      freeAccesses = (AccessOp) op.next;
    }
    op.clear(issuer);
    return op;
  }

  MessageOp newMessage(Issuer issuer) {
    MessageOp op = freeMessages;
    if (op == null) {
      op = all.add(index -> new MessageOp(index, pe));
    } else {
      freeMessages = (MessageOp) op.next;
    }
    op.clear(issuer);
    return op;
  }

  void recycle(Op op) {
    op.forget();
    // not a switch over types, which asks a table of the virtual machine each time
    if (op instanceof MessageOp message) {
      op.next = freeMessages;
      freeMessages = message;
    } else if (op instanceof AccessOp access) {
      op.next = freeAccesses;
      freeAccesses = access;
    } else if (op instanceof ComputationOp computation) {
      op.next = freeComputations;
      freeComputations = computation;
    } else {
      op.next = freeFences;
      freeFences = op;
    }
  }
}
