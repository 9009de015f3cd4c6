package org.kernbench.nn.autograd;

import java.math.BigInteger;

/**
 * Masks of dropout by themselves, in whole numbers of any length: the definitions of {@link
 * Dropout} and {@link org.kernbench.tl.Tl#rand}, written without them.
 */
public final class PlainMasks {
  private static final BigInteger WORD = BigInteger.TWO.pow(32);
  private static final BigInteger LONG = BigInteger.TWO.pow(64);

  private final double rate;
  private final BigInteger key;

  /** The masks of a place in a step. */
  public PlainMasks(double rate, long seed, long step, String place) {
    this.rate = rate;
    BigInteger mixed = mix(big(seed));
    mixed = mix(mixed.add(big(step)).mod(LONG));
    this.key = mix(mixed.add(hash(place)).mod(LONG)).divide(BigInteger.TWO.pow(11));
  }

  private static BigInteger big(long whole) {
    return BigInteger.valueOf(whole).mod(LONG);
  }

  private static BigInteger mix(BigInteger z) {
    BigInteger a =
        z.xor(z.shiftRight(30)).multiply(new BigInteger("BF58476D1CE4E5B9", 16)).mod(LONG);
    BigInteger b =
        a.xor(a.shiftRight(27)).multiply(new BigInteger("94D049BB133111EB", 16)).mod(LONG);
    return b.xor(b.shiftRight(31));
  }

  private static BigInteger hash(String name) {
    BigInteger h = new BigInteger("14695981039346656037");
    for (char c : name.toCharArray()) {
      h = h.xor(BigInteger.valueOf(c)).multiply(new BigInteger("1099511628211")).mod(LONG);
    }
    return h;
  }

  /** What an element is multiplied by. */
  public double at(long number) {
    long upper = word(big(number)).longValueExact() / 256;
    return upper >= (double) (float) rate * (1 << 24) ? 1 / (1 - rate) : 0;
  }

  private BigInteger word(BigInteger number) {
    BigInteger counter = number.divide(BigInteger.valueOf(4));
    BigInteger[] c = {counter.mod(WORD), counter.divide(WORD), BigInteger.ZERO, BigInteger.ZERO};
    BigInteger[] k = {key.mod(WORD), key.divide(WORD)};
    for (int round = 0; round < 10; round++) {
      BigInteger p = c[0].multiply(BigInteger.valueOf(3528531795L));
      BigInteger q = c[2].multiply(BigInteger.valueOf(3449720151L));
      c =
          new BigInteger[] {
            q.divide(WORD).xor(c[1]).xor(k[0]),
            q.mod(WORD),
            p.divide(WORD).xor(c[3]).xor(k[1]),
            p.mod(WORD)
          };
      k[0] = k[0].add(BigInteger.valueOf(2654435769L)).mod(WORD);
      k[1] = k[1].add(BigInteger.valueOf(3144134277L)).mod(WORD);
    }
    return c[number.mod(BigInteger.valueOf(4)).intValueExact()];
  }
}
