package org.kernbench.nn.autograd;

/**
 * A mistake that bridges have had, or could have: to check that it is found ({@code
 * docs/spec/megatron.md} 12.4).
 */
public enum BridgeFault {
  /** No mistake. */
  NONE,
  /** Leaves out the sum over context-parallel ranks in the backward pass. */
  SKIP_CP_SUM,
  /** Sums over context- and data-parallel ranks instead. */
  SUM_OVER_DP_CP,
  /** Fills a fan-out's gradient with zeros instead of gathering the other replicas' parts. */
  ZERO_PAD,
  /** Takes slices in the opposite order. */
  SWAP_SLOTS,
  /** Knows the slices of ranks with context-parallel number 0 only; others keep the whole batch. */
  CANONICAL_SLICES,
  /** Makes one gather group for all context-parallel ranks of a slot. */
  POOLED_GROUPS
}
