/**
 * This program again, in processes of its own: workers of a sweep, and runs that multiply so much
 * that vector instructions pay. Start at {@link org.kernbench.cli.process.WorkerProcess}.
 */
@NullMarked
package org.kernbench.cli.process;

import org.jspecify.annotations.NullMarked;
