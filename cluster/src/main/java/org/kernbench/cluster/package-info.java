/**
 * Sweeps on Apache Spark. Start at {@link ClusterSweep}; {@code SweepOnSpark}, in {@code
 * src/start}, is the command, compiled for an older Java so that it can say what is missing.
 *
 * <p>The same points, keys and rows as {@code kernbench sweep}, run by the executors of a cluster.
 * Nothing in kernbench depends on this module, and Spark is in no jar of ours.
 *
 * <p>Depends on: {@code eval}; Spark.
 */
@NullMarked
package org.kernbench.cluster;

import org.jspecify.annotations.NullMarked;
