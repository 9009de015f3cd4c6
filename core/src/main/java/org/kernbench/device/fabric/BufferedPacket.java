package org.kernbench.device.fabric;

import java.util.Arrays;

/** A chunk of a {@link BufferedTransfer}: what a channel belongs to from head to tail. */
final class BufferedPacket {
  final int index;
  BufferedTransfer transfer;
  long number;
  long bytes;
  int flits;
  long offeredPs;
  int[] sent = {}; // flits, by hop
  long[] headPs = {}; // when the head reached the hop
  long[] startPs = {}; // when it entered its link

  BufferedPacket(int index, BufferedTransfer transfer) {
    this.index = index;
    this.transfer = transfer;
  }

  void start(BufferedTransfer t, long newNumber, long newBytes, long flitBytes) {
    transfer = t;
    number = newNumber;
    bytes = newBytes;
    flits = (int) Math.max(1, Math.ceilDiv(newBytes, flitBytes));
    if (sent.length < t.hops) {
      sent = new int[t.hops];
      headPs = new long[t.hops];
      startPs = new long[t.hops];
    }
    Arrays.fill(sent, 0);
  }
}
