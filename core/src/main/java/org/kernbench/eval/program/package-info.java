/**
 * Host programs and kernels that another language says: messages become the calls that a Java
 * program makes. Start at {@link Program}.
 *
 * <p>Depends on: {@code torch}, {@code tl} and {@code ccl.library}, which it calls; {@code
 * eval.output} for JSON. Knows nothing of pipes or processes.
 */
@NullMarked
package org.kernbench.eval.program;

import org.jspecify.annotations.NullMarked;
