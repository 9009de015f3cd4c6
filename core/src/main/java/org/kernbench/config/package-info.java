/**
 * YAML files with positions: parse, overlay, read with units, and report every problem at once.
 *
 * <p>Start at {@link ConfigTree} (a file, a file over its base, {@code path=value} overrides), then
 * {@link ConfigMap} (typed access; what nobody asks for is an unknown key). {@link Quantity} knows
 * the units, {@link Suggest} the nearest name. {@link UserFile} is the door through which files
 * that a user names are read, {@link FilesRead} knows which were. Depends on: java.base and
 * snakeyaml-engine.
 */
@NullMarked
package org.kernbench.config;

import org.jspecify.annotations.NullMarked;
