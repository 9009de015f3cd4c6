package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.config.ConfigException;
import org.kernbench.machine.MachineException;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.ShapeException;

/** What failed ranks are said to have done. */
final class SpawnExceptionTest {
  private static SpawnException of(Map<Integer, Throwable> failures) {
    return new SpawnException(new TreeMap<>(failures), 8);
  }

  static List<Throwable> errorsOfUsers() {
    return List.of(
        new SimulationException("no slot"),
        new MachineException("no slot"),
        new ShapeException("no slot"),
        new ConfigException(List.of()));
  }

  /** As if thrown at a line of a program; without one, by nobody's line. */
  private static <T extends Throwable> T thrownAt(T error, StackTraceElement... lines) {
    error.setStackTrace(lines);
    return error;
  }

  /** A user's error is told by its message, and by its line if it has one. */
  @ParameterizedTest
  @MethodSource("errorsOfUsers")
  void errorOfAUser_isToldByItsMessage(Throwable error) {
    SpawnException e = of(Map.of(3, thrownAt(error)));
    assertThat(e.isUserError()).isTrue();
    assertThat(e).hasMessage("1 of 8 ranks failed\n  rank 3: " + error.getMessage());
    assertThat(e.getCause()).isSameAs(error);
    thrownAt(error, new StackTraceElement("Train", "step", "Train.java", 7));
    assertThat(of(Map.of(3, error)))
        .hasMessage(
            "1 of 8 ranks failed\n  rank 3: %s; called at Train.java:7"
                .formatted(error.getMessage()));
  }

  @Test
  void otherErrors_areToldWithTheirClassAndPlace_andOneIsEnough() {
    IllegalStateException thrown = new IllegalStateException("b");
    SpawnException e = of(Map.of(1, thrownAt(new SimulationException("a")), 5, thrown));
    assertThat(e.isUserError()).isFalse();
    assertThat(e)
        .hasMessage(
            "2 of 8 ranks failed\n  rank 1: a\n  rank 5: SpawnExceptionTest.java:%d:"
                    .formatted(thrown.getStackTrace()[0].getLineNumber())
                + " java.lang.IllegalStateException: b");
  }

  @Test
  void sameError_ofManyRanks_isToldOnce() {
    Map<Integer, Throwable> failures = new TreeMap<>();
    for (int rank = 0; rank < 8; rank++) {
      String message = rank == 2 ? "other" : "two\nlines";
      failures.put(rank, thrownAt(new SimulationException(message)));
    }
    assertThat(of(failures).getMessage().lines().toList())
        .hasSize(4)
        .contains("    lines", "  rank 2: other")
        .startsWith("8 of 8 ranks failed");
  }
}
