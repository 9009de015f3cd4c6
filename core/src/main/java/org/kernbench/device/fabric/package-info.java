/**
 * Links and the one streaming rule: how bytes move, what they wait for, and the banks of HBM at the
 * end of the way. Start at {@link org.kernbench.device.fabric.Interconnect}. Two ways to keep it:
 * links that stream chunks ({@code Fabric}), and links with finite buffers and credits ({@code
 * BufferedFabric}).
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.device.fabric;

import org.jspecify.annotations.NullMarked;
