/**
 * The {@code kernbench} command. Start at {@link Main}.
 *
 * <p>The composition root and the only room that prints, reads the environment or ends the process.
 * Everything it shows comes from {@code eval} as data.
 *
 * <p>Depends on: {@code eval} and whatever {@code eval} exposes; picocli.
 */
@NullMarked
package org.kernbench.cli;

import org.jspecify.annotations.NullMarked;
