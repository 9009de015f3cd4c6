package org.kernbench.machine;

import org.kernbench.machine.spec.BufferKind;

/**
 * The physical address space: 51 bits of package, die and offset in the die.
 *
 * <p>The usual split is 4, 5 and 42 bits. A machine with more packages or dies takes exactly the
 * bits they need, and the offset gets the rest. Packages beyond 16 that do not fit make addresses
 * longer, up to 60 bits. Dies are the cubes; four more numbers belong to the IO chiplets. A cube's
 * offsets hold its HBM slices first, then the SRAM, then the TCM of each PE; SRAM and each TCM
 * start at a multiple of their size rounded up to a power of two. Everything else is unmapped.
 */
public final class AddressMap {
  /** Bits of a physical address, but for machines of very many packages. */
  public static final int ADDRESS_BITS = 51;

  /** No physical address has more. */
  static final int MOST_BITS = 60;

  private static final int USUAL_SIP_BITS = 4;
  private static final int USUAL_DIE_BITS = 5;
  private static final int IO_CHIPLETS = 4;

  private final SipTemplate template;
  private final int sips;
  private final int cubes;
  private final int pes;
  private final long sliceBytes;
  private final long sramBytes;
  private final long tcmBytes;
  private final long sramBase;
  private final long tcmBase;
  private final long tcmStride;
  private final int sipBits;
  private final int dieBits;

  AddressMap(SipTemplate template, int sips, long sliceBytes, long sramBytes, long tcmBytes) {
    this.template = template;
    this.sips = sips;
    this.cubes = template.cubes();
    this.pes = template.cube.pes;
    this.sliceBytes = sliceBytes;
    this.sramBytes = sramBytes;
    this.tcmBytes = tcmBytes;
    long sramStride = powerOfTwo(sramBytes);
    this.tcmStride = powerOfTwo(tcmBytes);
    this.sramBase = alignUp(sliceBytes * pes, sramStride);
    this.tcmBase = alignUp(sramBase + sramBytes, tcmStride);
    int neededSip = bitsFor(sips);
    int neededDie = bitsFor(cubes + IO_CHIPLETS);
    boolean usual =
        neededSip <= USUAL_SIP_BITS
            && neededDie <= USUAL_DIE_BITS
            && neededOffsetBits() <= ADDRESS_BITS - USUAL_SIP_BITS - USUAL_DIE_BITS;
    this.sipBits = usual ? USUAL_SIP_BITS : neededSip;
    this.dieBits = usual ? USUAL_DIE_BITS : neededDie;
  }

  /** Bits that do not fit: 0 if the layout fits, else how many bits too many it needs. */
  int excessBits() {
    int inPackage = dieBits + neededOffsetBits();
    return Math.max(
        Math.max(0, sipBits + inPackage - MOST_BITS),
        Math.min(sipBits, USUAL_SIP_BITS) + inPackage - ADDRESS_BITS);
  }

  private int neededOffsetBits() {
    return bitsFor(tcmBase + tcmStride * pes);
  }

  /** Bits of an address. */
  public int addressBits() {
    return Math.max(ADDRESS_BITS, sipBits + dieBits + neededOffsetBits());
  }

  /** Bits that hold the package. */
  public int sipBits() {
    return sipBits;
  }

  /** Bits that hold the die. */
  public int dieBits() {
    return dieBits;
  }

  /** Bits that hold the offset in a die. */
  public int offsetBits() {
    return addressBits() - sipBits - dieBits;
  }

  /**
   * A byte of the HBM slice of a PE.
   *
   * @throws MachineException if the PE or the offset does not exist
   */
  public PhysicalAddress hbm(Pe pe, long offset) {
    checkPe(pe.sip(), pe.cube(), pe.pe());
    checkOffset("HBM slice of " + pe, offset, sliceBytes);
    return address(pe.sip(), pe.cube(), pe.pe() * sliceBytes + offset);
  }

  /**
   * A byte of the SRAM of a cube.
   *
   * @throws MachineException if the cube or the offset does not exist
   */
  public PhysicalAddress sram(int sip, int cube, long offset) {
    checkPe(sip, cube, 0);
    checkOffset("SRAM of sip" + sip + ".cube" + cube, offset, sramBytes);
    return address(sip, cube, sramBase + offset);
  }

  /**
   * A byte of the TCM of a PE.
   *
   * @throws MachineException if the PE or the offset does not exist
   */
  public PhysicalAddress tcm(Pe pe, long offset) {
    checkPe(pe.sip(), pe.cube(), pe.pe());
    checkOffset("TCM of " + pe, offset, tcmBytes);
    return address(pe.sip(), pe.cube(), tcmBase + pe.pe() * tcmStride + offset);
  }

  /**
   * The memory and the byte in it that an address names.
   *
   * @throws MachineException if nothing is mapped there
   */
  public Place decode(PhysicalAddress address) {
    long value = address.value();
    long offset = value & ((1L << offsetBits()) - 1);
    long die = (value >>> offsetBits()) & ((1L << dieBits) - 1);
    long sip = value >>> (offsetBits() + dieBits);
    if (value < 0 || sip >= sips || die >= cubes) {
      throw unmapped(
          address,
          "sip %s, die %s; the machine has %s sips of %s cubes".formatted(sip, die, sips, cubes));
    }
    int base = (int) sip * template.nodes;
    int cube = (int) die;
    if (offset < sliceBytes * pes) {
      int pe = (int) (offset / sliceBytes);
      return new Place(base + template.hbm(cube, pe), BufferKind.HBM, offset - pe * sliceBytes);
    }
    if (offset >= sramBase && offset < sramBase + sramBytes) {
      return new Place(base + template.sram(cube), BufferKind.SRAM, offset - sramBase);
    }
    if (offset >= tcmBase && offset < tcmBase + tcmStride * pes) {
      int pe = (int) ((offset - tcmBase) / tcmStride);
      long inTcm = offset - tcmBase - pe * tcmStride;
      if (inTcm < tcmBytes) {
        return new Place(base + template.pe(cube, pe), BufferKind.TCM, inTcm);
      }
    }
    throw unmapped(
        address,
        """
        offset 0x%s of sip%s.cube%s; mapped are HBM from 0x0, SRAM from 0x%s and TCM \
        from 0x%s\
        """
            .formatted(
                Long.toHexString(offset),
                sip,
                die,
                Long.toHexString(sramBase),
                Long.toHexString(tcmBase)));
  }

  private PhysicalAddress address(int sip, int cube, long offset) {
    return new PhysicalAddress((((long) sip << dieBits) | cube) << offsetBits() | offset);
  }

  private void checkPe(int sip, int cube, int pe) {
    if (sip < 0 || sip >= sips || cube < 0 || cube >= cubes || pe < 0 || pe >= pes) {
      throw new MachineException(
          "no such place: %s; the machine has %s sips of %s cubes of %s PEs"
              .formatted(new Pe(sip, cube, pe), sips, cubes, pes));
    }
  }

  private static void checkOffset(String memory, long offset, long size) {
    if (offset < 0 || offset >= size) {
      throw new MachineException(memory + ": offset " + offset + " outside its " + size + " bytes");
    }
  }

  private static MachineException unmapped(PhysicalAddress address, String why) {
    return new MachineException("nothing is mapped at " + address + ": " + why);
  }

  /** Bits that count {@code n} things. */
  static int bitsFor(long n) {
    return n <= 1 ? 0 : 64 - Long.numberOfLeadingZeros(n - 1);
  }

  private static long powerOfTwo(long atLeast) {
    return 1L << bitsFor(atLeast);
  }

  private static long alignUp(long value, long alignment) {
    return (value + alignment - 1) & -alignment;
  }
}
