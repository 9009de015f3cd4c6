package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.spec.OperationClass;

/** What a host sees, against queues worked out by hand. */
final class ObservedTimeTest {
  private static final int WAY = 10;

  /** Kernels that the host calls at once, one behind the other, each of one length. */
  private static List<ObservedTime.Kernel> queue(int kernels, long hostPs, long eachPs) {
    List<ObservedTime.Kernel> all = new ArrayList<>();
    for (int i = 0; i < kernels; i++) {
      all.add(new ObservedTime.Kernel(hostPs, WAY, WAY + i * eachPs, WAY + (i + 1) * eachPs, -1));
    }
    return all;
  }

  @Test
  void delay_oneKernel_isTheHostsWork() {
    assertThat(ObservedTime.delayPs(queue(1, 21, 100))).isEqualTo(21);
  }

  /**
   * The longer of the two decides: with host work h and kernels of d, the last of n ends at h + n d
   * if d is at least h, at n h + d if not.
   */
  @ParameterizedTest
  @CsvSource({"1, 5, 9", "7, 5, 9", "7, 9, 5", "7, 9, 9", "40, 3, 1"})
  void delay_backToBack_isHiddenBehindExecution(int n, long host, long each) {
    long end = Math.max(host + n * each, n * host + each);

    assertThat(ObservedTime.delayPs(queue(n, host, each))).isEqualTo(end - n * each);
  }

  /** Where the host waits for each kernel, nothing is hidden. */
  @Test
  void delay_hostWaitsEachTime_addsUp() {
    List<ObservedTime.Kernel> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      long start = i * 100 + WAY;
      all.add(new ObservedTime.Kernel(7, start, start, start + 50, i - 1));
    }
    assertThat(ObservedTime.delayPs(all)).isEqualTo(4 * 7);
  }

  @ParameterizedTest
  @CsvSource({
    "softmax, SOFTMAX",
    "layernorm, LAYERNORM",
    "matmul-composite, MATMUL",
    "all_reduce, COLLECTIVE",
    "gelu, ELEMENTWISE",
    "hello, OTHER"
  })
  void kindOf_kernelNames_areTheirClass(String kernel, OperationClass kind) {
    assertThat(ObservedTime.kindOf(kernel)).isEqualTo(kind);
  }
}
