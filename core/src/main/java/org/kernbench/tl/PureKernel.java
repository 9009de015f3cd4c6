package org.kernbench.tl;

/**
 * A kernel whose commands depend on nothing but its PE and what it captures, and that changes
 * nothing but memory and values of the machine. In mode {@code time} what came of it may be used
 * again for another that captures the same, without running it (ADR 0112).
 *
 * <p>It may capture numbers, texts, enumeration constants, records, collections and other functions
 * of these; tensors, which count by their shape and by where they lie; and whatever is {@link
 * Dependent}. One that captures anything else runs each time, as one that asks for the time does.
 */
@FunctionalInterface
public interface PureKernel extends Kernel {}
