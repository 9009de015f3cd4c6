/**
 * What the terminal shows of results: a run, a sweep, an explanation, as text; and what a shell
 * offers of parameters. Start at {@link org.kernbench.cli.text.ResultText}.
 */
@NullMarked
package org.kernbench.cli.text;

import org.jspecify.annotations.NullMarked;
