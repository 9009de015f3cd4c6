/**
 * kernbench as another program's child: requests and answers on a pipe. Start at {@link Server}.
 *
 * <p>Depends on: {@code cli}, whose commands it runs; {@code eval.output} for JSON.
 */
@NullMarked
package org.kernbench.cli.serve;

import org.jspecify.annotations.NullMarked;
