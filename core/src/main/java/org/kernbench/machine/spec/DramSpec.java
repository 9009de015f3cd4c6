package org.kernbench.machine.spec;

import java.util.Optional;
import org.kernbench.config.ConfigMap;
import org.kernbench.config.Quantity;
import org.kernbench.sim.Rate;

/**
 * A pseudo-channel of DRAM as its data sheet gives it. All times in ps; names as in JESD238 (HBM3)
 * and JESD270-4 (HBM4).
 *
 * @param stackIds groups of dies that share the channel (SID)
 * @param bankGroups bank groups of each
 * @param banksPerGroup banks of each group
 * @param rowBytes bytes of an open row (page)
 * @param accessBytes bytes of one burst, the least that a read or write moves
 * @param windowBytes bytes of one transfer that the controller works on at once
 * @param tRcdRd activate to read
 * @param tRcdWr activate to write
 * @param tCl read to its first data
 * @param tCwl write to its first data
 * @param tBl data of one burst
 * @param tRp precharge to activate
 * @param tRas activate to precharge
 * @param tRc activate to activate of one bank
 * @param tRrdS activate to activate of another bank group
 * @param tRrdL activate to activate of the same bank group
 * @param tFaw window of four activates
 * @param tCcdS column command to the next one in another bank group
 * @param tCcdL column command to the next one in the same bank group
 * @param tRtp read to precharge
 * @param tWr end of written data to precharge
 * @param tWtrS end of written data to a read in another bank group
 * @param tWtrL end of written data to a read in the same bank group
 * @param tRtw read to write
 * @param tRefi time in which every bank is refreshed once
 * @param tRfcPb refresh of one bank
 * @param tRrefd refresh to an activate or refresh of another bank
 */
public record DramSpec(
    int stackIds,
    int bankGroups,
    int banksPerGroup,
    long rowBytes,
    long accessBytes,
    long windowBytes,
    long tRcdRd,
    long tRcdWr,
    long tCl,
    long tCwl,
    long tBl,
    long tRp,
    long tRas,
    long tRc,
    long tRrdS,
    long tRrdL,
    long tFaw,
    long tCcdS,
    long tCcdL,
    long tRtp,
    long tWr,
    long tWtrS,
    long tWtrL,
    long tRtw,
    long tRefi,
    long tRfcPb,
    long tRrefd) {
  /**
   * Reads {@code cube.hbm.dram}.
   *
   * @param stripe bytes that one channel holds before the next follows
   * @param channel its rate, if that could be read
   */
  public static DramSpec read(ConfigMap map, long stripe, Optional<Rate> channel) {
    DramSpec spec =
        new DramSpec(
            map.integer("stack_ids", 1, 64),
            map.integer("bank_groups", 1, 64),
            map.integer("banks_per_group", 1, 64),
            map.size("row"),
            map.size("access"),
            map.size("window"),
            map.time("tRCDRD"),
            map.time("tRCDWR"),
            map.quantity("tCL", Quantity.TIME, 1),
            map.quantity("tCWL", Quantity.TIME, 1),
            map.quantity("tBL", Quantity.TIME, 1),
            map.time("tRP"),
            map.time("tRAS"),
            map.time("tRC"),
            map.time("tRRDS"),
            map.time("tRRDL"),
            map.time("tFAW"),
            map.quantity("tCCDS", Quantity.TIME, 1),
            map.quantity("tCCDL", Quantity.TIME, 1),
            map.time("tRTP"),
            map.time("tWR"),
            map.time("tWTRS"),
            map.time("tWTRL"),
            map.time("tRTW"),
            map.time("tREFI"),
            map.time("tRFCpb"),
            map.time("tRREFD"));
    map.done();
    spec.check(map, stripe, channel);
    return spec;
  }

  private void check(ConfigMap map, long stripe, Optional<Rate> channel) {
    if (!map.isClean()) {
      return;
    }
    map.checkPowerOfTwo("row", rowBytes);
    if (map.checkPowerOfTwo("access", accessBytes) && accessBytes > stripe) {
      map.problem(
          "access",
          "got %s B; expected at most the stripe, cube.hbm.burst: %s B"
              .formatted(accessBytes, stripe));
    }
    if (bankGroups % interleave() != 0) {
      map.problem(
          "bank_groups",
          """
          got %s bank groups; expected a multiple of tCCDL / tCCDS = %s, over which \
          bursts alternate\
          """
              .formatted(bankGroups, interleave()));
    }
    if (rowBytes * interleave() < stripe) {
      map.problem(
          "row",
          """
          got %s B; expected rows that hold a stripe, cube.hbm.burst: %s B over %s bank \
          groups\
          """
              .formatted(rowBytes, stripe, interleave()));
    }
    if (!map.isClean("access")) {
      return;
    }
    long burstPs = channel.map(rate -> rate.durationPs(accessBytes)).orElse(0L);
    if (tCcdS < burstPs) {
      map.problem(
          "tCCDS",
          """
          got %s: a burst of %s B every tCCDS is more than cube.hbm.channel_bandwidth; \
          expected at least %s\
          """
              .formatted(Quantity.TIME.format(tCcdS), accessBytes, Quantity.TIME.format(burstPs)));
    }
    if (map.isClean("tCCDS") && tBl > tCcdS) {
      map.problem(
          "tBL",
          "got %s: the data of a burst are longer than tCCDS, %s, after which the next may follow; expected at most that"
              .formatted(Quantity.TIME.format(tBl), Quantity.TIME.format(tCcdS)));
    }
    if (tRefi / banks() <= tRrefd) {
      map.problem(
          "tREFI",
          "got %s for %s banks; expected more than tRREFD for each"
              .formatted(Quantity.TIME.format(tRefi), banks()));
    }
    if (tRfcPb >= tRefi) {
      map.problem(
          "tRFCpb",
          "got %s; expected less than tREFI: a bank would do nothing but refresh"
              .formatted(Quantity.TIME.format(tRfcPb)));
    }
  }

  /** What a pseudo-channel gives at most: a burst every tCCDS; at least 1. */
  public long bytesPerSecond() {
    double bursts = 1e12 / Math.max(1, tCcdS);
    return Math.max(1, (long) Math.min(Long.MAX_VALUE, accessBytes * bursts));
  }

  /** Banks of a pseudo-channel. */
  public int banks() {
    return stackIds * bankGroups * banksPerGroup;
  }

  /**
   * Bank groups that consecutive bursts alternate between, so that column commands can follow each
   * other in tCCDS.
   */
  public int interleave() {
    return (int) Math.min(bankGroups, Math.ceilDiv(tCcdL, tCcdS));
  }

  /** First data of an idle bank whose row is open, ps. */
  public long rowHitPs() {
    return tCl + tBl;
  }

  /** First data of an idle bank that is precharged, ps. */
  public long rowClosedPs() {
    return tRcdRd + rowHitPs();
  }

  /** First data of an idle bank in which another row is open, ps. */
  public long rowConflictPs() {
    return tRp + rowClosedPs();
  }

  /** Time between the refreshes of two banks, ps. */
  public long refreshIntervalPs() {
    return tRefi / banks();
  }
}
