package org.kernbench.machine.spec;

import org.kernbench.config.ConfigMap;

/**
 * Overheads of the way of a launch, besides the links.
 *
 * @param doorbellPs at the host, ps
 * @param ioCpuPs at the IO CPU, ps
 * @param mCpuPs at the cube's management CPU, ps
 * @param peCpuPs at the PE's CPU, ps
 */
public record LaunchSpec(long doorbellPs, long ioCpuPs, long mCpuPs, long peCpuPs) {
  /** Reads {@code system.launch}. */
  public static LaunchSpec read(ConfigMap map) {
    LaunchSpec spec =
        new LaunchSpec(
            map.time("doorbell"), map.time("io_cpu"), map.time("m_cpu"), map.time("pe_cpu"));
    map.done();
    return spec;
  }
}
