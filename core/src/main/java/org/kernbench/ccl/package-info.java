/**
 * Collective algorithms as kernels: their schedules, queue install plans, costs and lower bounds.
 *
 * <p>An algorithm is written against {@code tl} like any user's kernel and is plugged into {@code
 * torch} through the interface that {@code torch} owns, so a user can add one without touching this
 * room. {@code ccl.yaml} chooses among them; equations carry the numbers of the table of closed
 * forms (O1, O2, …) in their Javadoc.
 *
 * <p>Depends on: torch, tl, config, machine, tensor, and the read-only types of device.
 */
@NullMarked
package org.kernbench.ccl;

import org.jspecify.annotations.NullMarked;
