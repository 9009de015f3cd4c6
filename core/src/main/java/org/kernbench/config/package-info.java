/** Placeholder while the room is being built. */
package org.kernbench.config;
