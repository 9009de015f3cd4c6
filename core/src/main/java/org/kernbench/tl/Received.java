package org.kernbench.tl;

/**
 * A message of {@link Tl#recvAny}.
 *
 * @param direction that it came from
 * @param value what was sent
 */
public record Received(String direction, Value value) {}
