package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.device.Mode;
import org.kernbench.device.check.Finding;

/**
 * Checked execution raises no false alarm on {@link RightKernels}, whatever the machine's timing.
 */
final class RightKernelsTest {
  static Stream<Method> programs() {
    return Arrays.stream(RightKernels.class.getDeclaredMethods())
        .filter(m -> !Modifier.isPrivate(m.getModifiers()) && !m.isSynthetic())
        .sorted(Comparator.comparing(Method::getName));
  }

  @ParameterizedTest
  @MethodSource("programs")
  void rightProgram_checked_hasNoFindings(Method program) throws Exception {
    assertFree(program, new CheckBed(Mode.FULL));
  }

  @ParameterizedTest
  @MethodSource("programs")
  void rightProgram_otherTiming_hasNoFindings(Method program) throws Exception {
    assertFree(
        program,
        new CheckBed(Mode.FULL, "pe.cpu.issue=serial", "ipcq.slots=2", "pe.cpu.dispatch=40 ns"));
    if (!program.getName().equals("aCreditOrders")) {
      // slots outside of TCM are copied, and their credit says nothing of who uses the value
      assertFree(program, new CheckBed(Mode.FULL, "ipcq.buffer_kind=sram"));
    }
  }

  /**
   * A slot is free before its value has been stored where messages are copied out of their slots.
   */
  @Test
  void creditOfACopiedMessage_doesNotOrderItsUse() {
    try (CheckBed bed = new CheckBed(Mode.FULL, "ipcq.buffer_kind=sram")) {
      RightKernels.aCreditOrders(bed);
      assertThat(bed.findings.list()).extracting(Finding::kind).containsExactly(Finding.Kind.RACE);
    }
  }

  private static void assertFree(Method program, CheckBed bed) throws Exception {
    try (bed) {
      program.invoke(null, bed);
    } catch (InvocationTargetException e) {
      throw new AssertionError(program.getName(), e.getCause());
    }
    assertThat(bed.findings.list().stream().map(Finding::message)).as(program.getName()).isEmpty();
    assertThat(bed.findings.accesses() + bed.findings.messages()).isPositive();
    assertThat(bed.findings.simulators()).isEqualTo(1);
  }
}
