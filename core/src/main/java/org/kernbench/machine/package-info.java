/**
 * The immutable machine: YAML to a validated graph of nodes and directed links, with routes, an
 * address map, and the figures and drawings derived from them.
 *
 * <p>Start at {@link Machines#load}, then {@link Machine}. What was built is shown by {@code
 * machine show} and {@code machine diagram}. No number that shapes a result stands in this code:
 * all come from the presets. Depends on: config, and {@code sim.Rate}.
 */
@NullMarked
package org.kernbench.machine;

import org.jspecify.annotations.NullMarked;
