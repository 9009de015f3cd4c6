package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.benches.BenchRegistry;

/** What benches refuse and what they say, and beside it what is just within the limit and runs. */
class RefusedRunsTest {
  /**
   * Runs {@code BENCH WORD..}: {@code mode=values}, {@code fold=on}, {@code on=PRESET}, {@code
   * set:PATH=VALUE}, {@code ccl:PATH=VALUE}, {@code check}, {@code point=N}, and else parameters.
   * Time only, unless said.
   */
  private static RunResult run(String line) {
    String[] words = line.strip().split(" +");
    RunOptions options = RunOptions.DEFAULT.withMode(Mode.TIME);
    List<String> params = new ArrayList<>();
    List<String> sets = new ArrayList<>();
    for (String word : List.of(words).subList(1, words.length)) {
      String value = word.substring(word.indexOf('=') + 1);
      if (word.startsWith("mode=")) {
        options = options.withMode(Mode.valueOf(value.toUpperCase(java.util.Locale.ROOT)));
      } else if (word.equals("fold=on")) {
        options = options.withFolding(Folding.ON);
      } else if (word.equals("fold=off")) {
        options = options.withFolding(Folding.OFF);
      } else if (word.startsWith("on=")) {
        options = options.withTopology(value);
      } else if (word.startsWith("set:")) {
        sets.add(word.substring("set:".length()));
      } else if (word.startsWith("ccl:")) {
        options = options.withCclOverrides(List.of(word.substring("ccl:".length())));
      } else if (word.equals("check")) {
        options = options.withCheck(true);
      } else if (word.startsWith("point=")) {
        options = options.withPoint(value);
      } else {
        params.add(word);
      }
    }
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find(words[0]),
            options.withParams(params).withOverrides(sets));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "collective mode=values | collective measures time; use --mode full or --mode time",
        "collective op=broadcast root=6 max_size=8B | --param root: got 6; expected one of the 6 ranks, from 0",
        "collective ranks=7 max_size=8B | --param ranks: got 7; machine sip-2026 has 6 devices of level sip: expected 2 to 6",
        "collective ranks=1 max_size=8B | --param ranks: got 1; machine sip-2026 has 6 devices of level sip: expected 2 to 6",
        "collective ranks=4 stride=2 max_size=8B | has 6 devices of level sip, of which one in 2 is taken: expected 2 to 3",
        "collective min_size=16B max_size=8B | --param min_size: larger than max_size; there is no size to run",
        "collective max_size=8B ccl:defaults.algorithm=ring | --ccl-set defaults.algorithm=ring: the bench does not read this; use --param algorithm=NAME",
        "collective op=all_gather max_size=8B ccl:defaults.operations.all_gather=cycle | the bench does not read this",
        "rank-scale ranks=8 group=8 ccl:defaults.algorithm=one_shot | --ccl-set defaults.algorithm=one_shot: the bench sets defaults.algorithm itself; leave this out",
        "ring-scale ranks=8 ccl:algorithms.ring.sub_chunks=4 | --ccl-set algorithms.ring.sub_chunks=4: the bench sets algorithms.ring.sub_chunks itself",
        "train-step on=tiny tp=1 ccl:defaults.algorithm=one_shot | the bench sets defaults.algorithm itself",
        "gemm-sharded on=tiny split=summa pes=2 | --param pes=2: split=summa is a square grid; expected 1 or 4",
        "gpt3-qkv on=dgx-a100 hidden=32768 | --param hidden: got 32,768 x 98,304 (columns of a PE) = 3,221,225,472 elements; expected at most 2,147,483,647",
        "gpt-step on=dgx-a100 hidden=65536 heads=1024 layers=1 tokens=64 vocabulary=1048576 batch=1 | elements, at one device; expected at most 2,147,483,647: a larger tp",
        "collective algorithm=no max_size=8B | --param algorithm: got \"no\"; expected one that can do all_reduce: ",
        "collective op=barrier algorithm=ring max_size=8B | expected one that can do barrier: ",
        "hello-send ccl:defaults.slots=4 | --ccl-set defaults.slots=4: bench hello-send runs no collective that this could change; leave it out",
        "pe-dma mode=values | pe-dma measures time; expected --mode full or time",
        "pe-dma bytes=524289B set:pe.tcm.size=512KiB set:ipcq.slot_size=1KiB | --param bytes: got 524289 B; expected at most pe.tcm.size of the machine",
        "pe2pe mode=values | pe2pe measures time; expected --mode full or time",
        "hello-send from=0.0.1 to=0.0.1 | from and to are both sip0.cube0.pe1; expected two different PEs",
        "hello-send to=9.0.0 | --param to: ",
        "fused-mlp tokens=7 | tokens and inner are 7 and 256; expected at least 8, one per PE",
        "fused-mlp inner=7 | tokens and inner are 64 and 7; expected at least 8, one per PE",
        "gemm-sharded pes=9 over=cube | --param pes=9: cube has 8 PEs",
        "gemm-sharded n=7 over=cube split=columns | n is 7, fewer than the 8 PEs it is divided over; use fewer PEs (--param pes) or a larger n",
        "gemm-sharded k=7 over=cube split=k | k is 7, fewer than the 8 PEs",
        "gemm-sharded m=1 over=cube split=summa | m, k, n are 1, 256, 256; expected at least 2, the side of the grid",
        "gemm-sharded n=1 over=cube split=summa | m, k, n are 128, 256, 1; expected at least 2",
        "gemm-sharded k=1 over=cube split=summa | m, k, n are 128, 1, 256; expected at least 2",
        "attention-prefill split=device tile_k=8 | --param tile_k=8: with split=device tiles follow from the machine; leave it out, or take split=heads",
        "attention-prefill split=device over=package sequence=16384 head_dim=1024 mode=time | split=device: tensor q is [16384, 1, 131072], 2,147,483,648 elements; expected at most 2,147,483,647 on one device",
        "gpt3-qkv split=device hidden=46341 mode=time | split=device: tensor query is [46341, 46341], 2,147,488,281 elements; expected at most",
        "gemm-sharded split=device over=cubes | --param over=cubes: expected cube or package where a product is divided as models divide it",
        "gemm-sharded split=device over=packages | --param over=packages: expected cube or package",
        "gemm-sharded split=device pes=3 | --param pes=3: with split=device all PEs of a device take part",
        "gemm-sharded pass=dx | --param pass=dx: expected split=device, or pass=forward",
        "rank-scale ranks=30 group=8 | --param group: got 8, which does not divide 30 ranks; use a divisor",
        "ring-scale bytes=6B ranks=4 | --param bytes: got 6 B; expected a multiple of 4 B, the elements are f32",
        "ring-scale ranks=4 on=torus-4x4x4 | --param ranks: got 4; machine",
        "ring-scale ranks=1000000 fold=off | more than 16,384 only where one stands for all",
        "softmax rows=100000 columns=100000 | --param rows: got 100,000 x 100,000 (columns) = 10,000,000,000 elements; expected at most 2,147,483,647",
        "traffic mode=values | traffic has times only; expected --mode time or full",
        "traffic hot_node=128 on=tiny | hot_node=128: expected a PE, 0 to ",
        "traffic load=0.2,0.2 | load=0.2,0.2: got \"0.2\"; expected auto, or numbers above 0 and up to 1, ascending",
        "traffic load=0 | load=0: got \"0\"",
        "traffic load=1.01 | load=1.01: got \"1.01\"",
        "traffic load=x | load=x: got \"x\"",
        "traffic warm_up=-1 | warm_up=-1: expected auto, or a whole number, 0 to ",
        "traffic warm_up=0.5 | warm_up=0.5: expected auto",
        "moe-dispatch hidden=4096 inner=4096 | at these sizes: both layers of an expert are 67108864 B, of pe.tcm.size=2097152 B; expected smaller ones (--param), or a larger TCM or fewer message slots",
        "moe-dispatch tokens=700 hidden=256 | at these sizes: it finds no room for ",
        "softmax fold=on | --fold on: bench softmax simulates every package; expected one that folds, e.g. ring-scale",
        "ring-scale ranks=4 fold=on check | --fold on: one package stands for all only in mode time, without --check",
        "ring-scale ranks=4 fold=on mode=full | --fold on: one package stands for all only in mode time",
        "softmax rows=4 columns=4 point=1 | --point 1: ",
        "ring-scale ranks=4 set:system.sips.count=5 | --set system.sips.count=5: the bench sets system.sips.count itself; leave this out",
        "gpt-step mode=values on=dgx-h100 | gpt-step has times only; use --mode time, or bench train-step",
        "gpt-step tp=16 on=dgx-h100 | gpt-step: tp x dp x pp is 16 ranks; machine",
        "mimo-train-step samples=3 | samples is 3; expected a multiple of ",
        "mimo-train-step tokens=8 | tokens is 8; expected ",
        "tp-mlp model=tiny-moe | model tiny-moe has experts in place of the feed-forward part; expected a dense model, or bench transformer-block",
        "transformer-block topk=2 | topk, ep and etp are for models with experts; tiny-gpt has none: say experts=8, or take another model, e.g. tiny-moe",
        "transformer-block ep=2 | topk, ep and etp are for models with experts",
        "transformer-block etp=2 | topk, ep and etp are for models with experts",
        "transformer-block experts=4 | experts of model tiny-gpt: these have a gate, as those of Mixtral; expected a model in Llama's style",
        "transformer-block model=tiny-moe routing=top-k | routing: got \"top-k\" in mode time, where there are no values",
        "transformer-block model=tiny-moe routing=odd | routing: got \"odd\"; expected drawn, even, top-k, or a file.csv with a line for each token",
        "transformer-block model=tiny-moe tp=2 sp=off | experts with tp 2 and sp=off: every tensor-parallel rank would send the same tokens; expected sp=on",
        "transformer-block model=tiny-moe ep=3 tp=1 | ep is 3, etp 1; expected a divisor of 8 experts, and one of 48 inner features",
        "train-step pp=2 schedule=gone.csv batch=2 microbatches=2 | schedule: gone.csv: no such file",
        "train-step tp=1 skew=100 | routing, skew, capacity, auxiliary and balance are for models with experts; tiny-gpt",
        "train-step tp=1 capacity=50 | are for models with experts; tiny-gpt",
        "transformer-block auxiliary=10 | are for models with experts; tiny-gpt",
        "train-step tp=1 balance=5 | are for models with experts; tiny-gpt",
        "train-step tp=1 routing=top-k | are for models with experts; tiny-gpt",
        "train-step model=tiny-moe routing=even skew=100 | skew: got 100 with routing even",
        "train-step schedule=odd | schedule: got \"odd\"; expected one of ",
        "train-step pp=2 batch=4 microbatches=2 schedule=zb-h1 recompute=full | recompute full with schedule zb-h1, which puts weight gradients off; expected one of them",
        "train-step pp=2 dp=2 batch=4 microbatches=2 tied=on distributed_optimizer=on | tied embeddings over stages with distributed_optimizer; expected one of them off",
        "train-step pp=2 dp=2 batch=8 microbatches=4 schedule=dualpipe layers=4 distributed_optimizer=on | schedule dualpipe with distributed_optimizer: it has the model twice",
      })
  void run_thatCannotBe_isRefused(String line, String message) {
    assertThatThrownBy(() -> run(line))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(message);
  }

  @ParameterizedTest
  @CsvSource({
    "collective op=broadcast root=5 min_size=8B max_size=8B",
    "collective ranks=6 min_size=8B max_size=8B",
    "collective ranks=2 min_size=8B max_size=8B",
    "collective ranks=3 stride=2 min_size=8B max_size=8B",
    "collective min_size=8B max_size=8B",
    "pe-dma bytes=524288B set:pe.tcm.size=512KiB set:ipcq.slot_size=1KiB",
    "fused-mlp tokens=8 inner=8",
    "ccl-allreduce ccl:defaults.slots=8 n_elem=8 on=tiny",
    "gemm-sharded pes=8 over=cube",
    "gemm-sharded n=8 over=cube split=columns",
    "gemm-sharded n=8 over=package split=device pass=dw",
    "gemm-sharded m=2 n=2 k=2 over=cube split=summa",
    "rank-scale ranks=16 group=8 calls=1",
    "ring-scale bytes=8B ranks=2",
    "ring-scale ranks=4 fold=on",
    "traffic warm_up=0 load=1 cycles=20 on=tiny",
    "transformer-block model=tiny-moe ep=2 tp=2 tokens=8",
  })
  void run_justWithinTheLimits_isDone(String line) {
    assertThat(run(line).problems()).isEmpty();
  }
}
