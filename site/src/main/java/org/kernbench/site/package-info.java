/**
 * The documentation as pages that need no network. Start at {@link MakeSite}.
 *
 * <p>Nothing in kernbench depends on this module. Depends on: {@code cli} for what commands and
 * benches say of themselves; commonmark-java.
 */
@NullMarked
package org.kernbench.site;

import org.jspecify.annotations.NullMarked;
