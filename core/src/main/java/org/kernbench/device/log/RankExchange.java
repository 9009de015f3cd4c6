package org.kernbench.device.log;

import java.util.List;

/**
 * What ranks exchanged in a launch, as the host asked for it: a collective, or messages.
 *
 * @param operation word of the collective, for example {@code all_reduce}; {@code point_to_point}
 *     for messages
 * @param ranks that took part, numbers of the world, ascending
 * @param root rank of the world, of a collective that has one; -1 for others
 * @param bytes of the whole vector; of an all-to-all what each rank gives; of messages of all
 * @param messages of a launch of messages, in the order of the calls; empty for a collective
 * @param algorithm what performed it
 */
public record RankExchange(
    String operation,
    List<Integer> ranks,
    int root,
    long bytes,
    List<Hop> messages,
    String algorithm) {
  /** Copies the lists. */
  public RankExchange {
    ranks = List.copyOf(ranks);
    messages = List.copyOf(messages);
  }

  /** One message, from rank to rank of the world. */
  public record Hop(int source, int target, long bytes) {}
}
