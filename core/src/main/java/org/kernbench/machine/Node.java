package org.kernbench.machine;

/**
 * A place in the machine that links join.
 *
 * @param id dense id, from 0 to {@link Machine#nodeCount} - 1
 * @param name for example {@code sip0.cube3.pe2}, {@code sip0.cube3.router1_2} (x, y), {@code
 *     sip0.ioE}, {@code host}
 * @param kind what it is
 * @param sip package, or -1 for the host and the switch
 * @param cube cube in the package, or -1 outside cubes
 * @param index PE in the cube for PEs and HBM, router number for routers, side for IO chiplets,
 *     else 0
 * @param x position for drawings, in router pitches inside a cube, cube pitches inside a package,
 *     package pitches outside
 * @param y as x; grows southwards
 */
public record Node(
    int id, String name, NodeKind kind, int sip, int cube, int index, double x, double y) {}
