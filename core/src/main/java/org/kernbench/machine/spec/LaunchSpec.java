package org.kernbench.machine.spec;

/**
 * Overheads of the way of a launch, besides the links.
 *
 * @param doorbellPs at the host, ps
 * @param ioCpuPs at the IO CPU, ps
 * @param mCpuPs at the cube's management CPU, ps
 * @param peCpuPs at the PE's CPU, ps
 */
public record LaunchSpec(long doorbellPs, long ioCpuPs, long mCpuPs, long peCpuPs) {}
