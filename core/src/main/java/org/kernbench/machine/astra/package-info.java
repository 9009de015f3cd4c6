/**
 * Network and system files of ASTRA-sim as a machine and a {@code ccl.yaml} (ADR 0122). Start at
 * {@link org.kernbench.machine.astra.AstraImport}. Reads and writes text; what it writes is read by
 * whoever runs it.
 */
@NullMarked
package org.kernbench.machine.astra;

import org.jspecify.annotations.NullMarked;
