package org.kernbench.device.reuse;

/** A step of a stretch, in the order in which they come; times are relative to its start. */
sealed interface Step permits Started, Ended {}
