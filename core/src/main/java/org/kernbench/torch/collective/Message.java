package org.kernbench.torch.collective;

import org.kernbench.tl.Shard;

/**
 * One message of a {@link CollectiveOp#POINT_TO_POINT} call.
 *
 * @param src rank that sends, in the call's group
 * @param dst rank that receives; another one
 * @param from what is sent, in the memory of the sender's lead PE
 * @param to where it goes, as many elements of the same dtype at the receiver's lead PE
 */
public record Message(int src, int dst, Shard from, Shard to) {}
