package org.kernbench.machine.spec;

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
