package org.kernbench.machine.spec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.ConfigException;
import org.kernbench.machine.Link;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;

/** Packages of which parts are slower than in the others: {@code system.sips.slow}. */
final class SlowPackageTest {
  private static final Machine USUAL = Machines.load("sip-2026", List.of());

  private static Machine machine(String slow) {
    return USUAL.with(List.of("system.sips.slow=" + slow));
  }

  /** Every link of the machine, by its name: what is not said to be slow is as it was. */
  @Test
  void links_ofSlowPackages_haveWhatIsLeftOfTheirRate() {
    Machine machine = machine("1 hbm 0.5; 3-4 links 0.25, compute 0.5");
    for (int id = 0; id < machine.linkCount(); id++) {
      Link link = machine.link(id);
      Link usual = USUAL.link(id);
      String name = link.name();
      boolean inside = !name.contains("host") && link.kind() != LinkKind.SIP_TO_SIP;
      double left = 1;
      if (inside && name.startsWith("sip1.") && name.endsWith("hbm" + hbm(name))) {
        left = 0.5;
      } else if (inside && (name.startsWith("sip3.") || name.startsWith("sip4."))) {
        left = name.contains("<->") ? 1 : 0.25;
      }
      assertThat((double) link.rate().bytesPerSecond())
          .as(name)
          .isEqualTo(left * usual.rate().bytesPerSecond());
      assertThat(link.latencyPs()).as(name).isEqualTo(usual.latencyPs());
    }
  }

  /** The number of the HBM slice that a port belongs to; - if it is none. */
  private static String hbm(String name) {
    return name.contains("<->") && name.contains(".hbm")
        ? name.substring(name.lastIndexOf("hbm") + 3)
        : "-";
  }

  @Test
  void engines_ofSlowPackages_haveSlowerClocks() {
    Machine machine = machine("1 hbm 0.5; 3-4 links 0.25, compute 0.5");
    for (int sip : new int[] {0, 1, 2, 5}) {
      assertThat(machine.pe(sip)).isEqualTo(USUAL.pe());
      assertThat(machine.computesLike(sip)).isZero();
    }
    for (int sip : new int[] {3, 4}) {
      assertThat(machine.pe(sip).gemm().clockHz()).isEqualTo(USUAL.pe().gemm().clockHz() / 2);
      assertThat(machine.pe(sip).math().clockHz()).isEqualTo(USUAL.pe().math().clockHz() / 2);
      assertThat(machine.pe(sip).tcm()).isEqualTo(USUAL.pe().tcm());
      assertThat(machine.computesLike(sip)).isEqualTo(3);
    }
    assertThat(machine("0-1 compute 0.5").computesLike(5)).isEqualTo(2);
    assertThat(machine("0 hbm 0.5; 1 hbm 0.4").computesLike(5)).isZero();
    assertThat(machine("1 compute 0.5; 4 compute 0.50").computesLike(4)).isEqualTo(1);
  }

  @Test
  void packages_aFullSpeed_areAsOthers() {
    Machine machine = machine("2 hbm 1, links 1.0, compute 1");
    assertThat(machine.pe(2)).isEqualTo(USUAL.pe());
    for (int id = 0; id < machine.linkCount(); id++) {
      assertThat(machine.link(id)).isEqualTo(USUAL.link(id));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "6 hbm 0.5 | got \"6 hbm 0.5\"; expected packages 0 to 5",
        "4-3 hbm 0.5 | got \"4-3 hbm 0.5\"; expected packages 0 to 5, the lower one first",
        "1 hbm 2 | got 2 in \"1 hbm 2\"; expected what is left of the speed, above 0 and at most 1",
        "1 hbm 0.0 | got 0.0 in \"1 hbm 0.0\"; expected what is left",
        "1 hbm 0.5, hbm 0.4 | got hbm twice",
        "1 hbm 0.5; 0-2 links 0.5 | got package 1 twice; say all of a package in one entry",
        "1 sram 0.5 | got \"1 sram 0.5\"; expected a package, or first-last, and what is left",
        "hbm 0.5 | expected a package, or first-last, and what is left",
      })
  void badText_isRefusedWithWhatIsExpected(String slow, String message) {
    assertThatThrownBy(() -> machine(slow))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("system.sips.slow: ")
        .hasMessageContaining(message);
  }

  @Test
  void slowHbm_withBanks_isRefused() {
    assertThatThrownBy(
            () -> USUAL.with(List.of("cube.hbm.fidelity=banked", "system.sips.slow=1 hbm 0.5")))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("got a slow hbm, whose banks are modelled");
    USUAL.with(List.of("cube.hbm.fidelity=banked", "system.sips.slow=1 links 0.5"));
  }
}
