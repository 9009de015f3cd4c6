package org.kernbench.tensor;

/**
 * A function of one number of a type with at most 16 bits, as a table from code to code: each entry
 * is worked out by {@link RealFunctions} when it or a large operand is first asked for, so the
 * bytes are those of the loop without a table. For functions that take longer than a look-up.
 *
 * <p>The tables of a process are shared. An entry is written once or, by several threads at the
 * same time, several times with the same number, and read as a whole, so nobody can see anything
 * but a missing entry or the right one.
 */
final class CodeTable {
  /** Marks an entry that is there, above the 16 bits of a code. */
  private static final int PRESENT = 1 << 16;

  /** An operand with one in so many of the type's codes fills the table first. */
  private static final int FULL_FROM = 4;

  private static final int OPS = UnaryOp.values().length;
  private static final CodeTable[] TABLES = tables();

  private final UnaryOp op;
  private final DType type;
  private final int[] codes;

  /** Whether every entry is there: then a loop need not ask. */
  private volatile boolean isFull;

  private CodeTable(UnaryOp op, DType type) {
    this.op = op;
    this.type = type;
    this.codes = new int[1 << (8 * type.sizeBytes())];
    if (type.sizeBytes() == 1) {
      fill();
    }
  }

  private static CodeTable[] tables() {
    return new CodeTable[OPS * DType.values().length];
  }

  /** Whether a table is quicker than computing. */
  static boolean pays(UnaryOp op, DType t) {
    boolean small = t == DType.F16 || t == DType.BF16 || t == DType.F8E4M3 || t == DType.F8E5M2;
    return small
        && switch (op) {
          case NEG, ABS, SQRT, RECIPROCAL, RELU, NOT -> t.sizeBytes() == 1 && op != UnaryOp.NOT;
          default -> true;
        };
  }

  /** The table of a function that {@linkplain #pays pays}. */
  static CodeTable of(UnaryOp op, DType t) {
    int at = t.ordinal() * OPS + op.ordinal();
    CodeTable table = TABLES[at];
    if (table == null) {
      table = new CodeTable(op, t);
      TABLES[at] = table;
    }
    return table;
  }

  /** {@code out[i] = op(a[i])}; the two may be the same bytes. */
  void apply(byte[] a, int aOff, byte[] out, int outOff, int n) {
    if (!isFull && n >= codes.length / FULL_FROM) {
      fill();
    }
    if (type.sizeBytes() == 1) {
      bytes(a, aOff, out, outOff, n);
    } else if (isFull) {
      shorts(a, aOff, out, outOff, n);
    } else {
      shortsAsKnown(a, aOff, out, outOff, n);
    }
  }

  private void fill() {
    for (int from = 0; from < codes.length; from++) {
      missing(from);
    }
    isFull = true;
  }

  private void bytes(byte[] a, int aOff, byte[] out, int outOff, int n) {
    for (int i = 0; i < n; i++) {
      out[outOff + i] = (byte) codes[a[aOff + i] & 0xff];
    }
  }

  private void shorts(byte[] a, int aOff, byte[] out, int outOff, int n) {
    for (int i = 0; i < n; i++) {
      int from = LittleEndian.getShort(a, aOff + 2 * i) & 0xffff;
      LittleEndian.putShort(out, outOff + 2 * i, (short) codes[from]);
    }
  }

  private void shortsAsKnown(byte[] a, int aOff, byte[] out, int outOff, int n) {
    for (int i = 0; i < n; i++) {
      int from = LittleEndian.getShort(a, aOff + 2 * i) & 0xffff;
      int code = codes[from];
      LittleEndian.putShort(out, outOff + 2 * i, (short) (code != 0 ? code : missing(from)));
    }
  }

  private int missing(int from) {
    MiniFloat format = type.mini();
    int code = format.encode(RealFunctions.apply(op, format.decode(from))) | PRESENT;
    codes[from] = code;
    return code;
  }
}
