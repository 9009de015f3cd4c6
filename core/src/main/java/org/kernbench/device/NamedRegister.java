package org.kernbench.device;

/** A value of which there is nothing but its size; no two are equal. */
final class NamedRegister implements Register {
  private final int bytes;

  NamedRegister(int bytes) {
    this.bytes = bytes;
  }

  @Override
  public int bytes() {
    return bytes;
  }

  @Override
  public boolean inTcm() {
    return this != NONE;
  }

  @Override
  public int line() {
    return 0;
  }

  @Override
  public boolean isReleased() {
    return false;
  }
}
