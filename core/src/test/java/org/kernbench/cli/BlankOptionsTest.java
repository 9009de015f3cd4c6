package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A script whose variable is empty must not run something else: no option takes nothing. */
class BlankOptionsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "run ccl-allreduce --out=",
        "run ccl-allreduce --topology=",
        "run ccl-allreduce --point=",
        "run ccl-allreduce --device=",
        "run ccl-allreduce --trace=",
        "run ccl-allreduce --export-chakra=",
        "run ccl-allreduce --ccl=",
        "explain ccl-allreduce --topology=",
        "explain ccl-allreduce --ccl=",
        "sweep ccl-allreduce --vary n_elem=8 --out=",
        "sweep ccl-allreduce --vary n_elem=8 --ccl=",
        "conformance ring --ccl=",
      })
  void option_withoutItsValue_isRefused(String line) {
    Session session = Session.of(line.split(" "));
    String option = line.substring(line.lastIndexOf(' ') + 1).replace("=", "");

    assertThat(session.exitCode()).as(session.err()).isEqualTo(2);
    assertThat(session.out()).isEmpty();
    assertThat(session.err())
        .contains(option + ": got nothing; expected a name, or leave the option out");
    assertThat(session.err().lines()).hasSizeLessThanOrEqualTo(2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"list", "ui"})
  void name_thatIsBlank_isRefused(String command) {
    Session session = Session.of(List.of(command, " ").toArray(String[]::new));

    assertThat(session.exitCode()).isEqualTo(2);
    assertThat(session.err()).contains(": got nothing; expected a name");
  }
}
