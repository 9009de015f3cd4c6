package org.kernbench.eval.layouts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UsageException;
import org.kernbench.eval.layouts.BridgeForecast.Batch;
import org.kernbench.eval.layouts.BridgeForecast.Hardware;
import org.kernbench.eval.layouts.BridgeForecast.Timing;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.bridge.BridgeLanes;
import org.kernbench.nn.bridge.BridgeOptions;
import org.kernbench.nn.bridge.BridgePlan;
import org.kernbench.nn.bridge.BridgePlan.Pass;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;
import org.kernbench.torch.placement.RankLevel;

/** Bytes predicted for a bridge against those on the wire, and its time against the bound. */
final class BridgeForecastTest {
  private static Hardware ring(int world) {
    Machine machine = Machines.load("ring", List.of("system.sips.count=" + Math.max(2, world)));
    CclConfig ccl =
        CclConfig.load(
            Optional.empty(),
            List.of(
                "defaults.algorithm=ring",
                "algorithms.ring.rank_level=sip",
                "algorithms.ring.world_size=" + world));
    return new Hardware(machine, RankLevel.SIP, ccl);
  }

  private static BridgePlan plan(String src, String dest) {
    return new BridgePlan(
        RankGrid.parse(src),
        RankGrid.parse(dest),
        BridgeOptions.DEFAULT.withSourceContextParallel());
  }

  private static BridgeForecast forecast(String src, String dest, int batch, int hidden) {
    BridgePlan plan = plan(src, dest);
    int world = plan.source().offset() + plan.source().size();
    return BridgeForecast.of(
        plan, new Batch(batch, 16, hidden, DType.BF16), Optional.of(ring(world)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=2,dp=4 | tp=2,dp=4 | 8",
        "tp=1,dp=8 | tp=2,dp=4 | 8",
        "tp=1,dp=8 | tp=8,dp=1 | 8",
        "tp=2,dp=4 | tp=1,dp=8 | 8",
        "tp=8,dp=1 | tp=1,dp=8 | 8",
        "tp=1,dp=8 | tp=2,cp=2,dp=2 | 8",
        "tp=8,dp=1 | tp=2,cp=2,dp=2 | 8",
        "tp=4,dp=2 | tp=2,cp=2,dp=2 | 8",
        "tp=2,dp=4 | tp=1,cp=4,dp=2 | 8",
        "tp=4,dp=1,offset=1 | tp=1,cp=2,dp=2,offset=1 | 6",
        "tp=1,dp=6 | tp=1,cp=3,dp=2 | 6",
        "tp=6,dp=1 | tp=1,cp=2,dp=3 | 3",
        "tp=2,dp=6 | tp=2,cp=2,dp=3 | 6",
        "tp=4,cp=1,dp=3 | cp=2,tp=1,dp=6 | 6",
        "tp=1,cp=2,dp=4 | tp=2,cp=2,dp=2 | 4",
        "tp=1,cp=4,dp=2 | tp=2,dp=4 | 4",
      })
  void forecast_bytes_areThoseOnTheWire_andTimeKeepsItsBound(String src, String dest, int batch) {
    // in rows of 5 elements a ring's segments are uneven
    for (int hidden : batch == 8 ? new int[] {5} : new int[] {5, 64}) {
      BridgeForecast forecast = forecast(src, dest, batch, hidden);
      for (Pass pass : Pass.values()) {
        Timing timing = forecast.timing(pass).orElseThrow();
        assertThat(timing.sentBytes())
            .as("%s, %s", forecast.plan(), pass)
            .isEqualTo(forecast.predictedBytes(pass));
        assertThat(timing.ps()).as("%s, %s", forecast.plan(), pass).isGreaterThan(-1);
        assertThat(timing.boundPs()).isBetween(0L, timing.ps());
        boolean moves = forecast.predictedBytes(pass) > 0;
        assertThat(timing.boundPs() > 0 || !moves).isTrue();
      }
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=1,dp=4 | tp=2,cp=2,dp=2,offset=4",
        "tp=2,dp=2 | tp=1,dp=4,offset=4",
        "tp=2,pp=2,dp=1,offset=4 | tp=2,dp=2",
        "tp=2,dp=1 | tp=1,cp=3,dp=1,offset=3",
      })
  void forecast_betweenRanksApart_bytesAreThoseOnTheWire(String src, String dest) {
    RankGrid from = RankGrid.parse(src);
    RankGrid to = RankGrid.parse(dest);
    int world = Math.max(from.offset() + from.size(), to.offset() + to.size());
    LaneForecast forecast =
        LaneForecast.of(
            new BridgeLanes(from, to, BridgeOptions.DEFAULT),
            new Batch(4, 16, 5, DType.BF16),
            Optional.of(ring(world)));
    for (Pass pass : Pass.values()) {
      Timing timing = forecast.timing(pass).orElseThrow();
      assertThat(timing.sentBytes())
          .as("%s to %s, %s", src, dest, pass)
          .isEqualTo(forecast.predictedBytes(pass))
          .isPositive();
      assertThat(timing.boundPs()).isBetween(1L, timing.ps());
    }
  }

  /** What a bridge of equal replicas without context parallelism costs. */
  @ParameterizedTest
  @EnumSource(Pass.class)
  void forecast_ofEqual_isNothing(Pass pass) {
    assertThat(forecast("tp=2,dp=2", "tp=2,cp=1,dp=2", 4, 8).timing(pass))
        .contains(new Timing(0, 0, 0));
  }

  @Test
  void forecast_wrongBatchOrMachine_isRefused() {
    assertThatThrownBy(() -> forecast("tp=1,dp=4", "tp=4,dp=1", 6, 8))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("batch is 6; expected a multiple of 4");
    assertThatThrownBy(() ->
            BridgeForecast.of(
                plan("tp=1,cp=4,dp=1", "tp=4,dp=1"),
                new Batch(1, 12, 8, DType.F32),
                Optional.empty()))
        .hasMessageContaining("tokens is 12; expected a multiple of 8");
    assertThatThrownBy(() ->
            BridgeForecast.of(
                plan("tp=1,dp=4", "tp=4,dp=1"),
                new Batch(4, 8, 8, DType.F32),
                Optional.of(ring(2))))
        .hasMessageContaining("ranks 0 to 3; machine ring has 2 devices of level sip");
    assertThatThrownBy(() -> new Batch(4, 0, 8, DType.F32))
        .hasMessageContaining("tokens is 0; expected 1 or more");
  }
}
