/*
 * An encoder and a language model on the same eight ranks, each divided in its own way, trained for
 * three steps in four pairs of layouts, and each on four ranks of its own, the language model in two
 * stages: none of them changes what is learnt. Then training stops after two steps and goes on in
 * other layouts of both, from a file.
 *
 * The encoder's outputs take the places of placeholders in the text. Between the modules a bridge
 * moves samples from the encoder's data-parallel ranks to those of the language model.
 *
 * Run:      scripts/run-java examples/TrainTwoModules.java
 * Expected: (checked by ExamplesTest)
 *   tp=1,dp=1 -> tp=1,dp=1: loss per token 4.4286 3.6404 2.9649
 *   tp=2,dp=4 -> tp=4,dp=2 sp: loss per token 4.4286 3.6404 2.9649
 *   tp=2,dp=4 -> tp=2,cp=2,dp=2 sp: loss per token 4.4286 3.6404 2.9649
 *   tp=4,dp=2 -> tp=1,cp=2,dp=4 sp: loss per token 4.4286 3.6404 2.9649
 *   tp=2,dp=2 -> tp=2,pp=2,dp=1,offset=4 sp: loss per token 4.4286 3.6404 2.9649
 *   tp=2,dp=2 -> tp=2,pp=2,dp=1,offset=4 sp: loss per token 4.4286 3.6404 2.9649
 *   stopped after 2 steps, other samples: 4.1879 per token
 *   gone on with tp=1,dp=4 -> tp=2,dp=2 sp, step 3: loss per token 2.9649
 *   gone on with tp=2,dp=2 -> tp=2,pp=2,dp=1,offset=4 sp, step 3: loss per token 2.9649
 */
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.Microbatches;
import org.kernbench.nn.multimodal.ModulePipelines;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.multimodal.TwoModuleTraining;
import org.kernbench.nn.optim.LearningRate;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.nn.pipeline.Schedules;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

public final class TrainTwoModules {
  private static final int STEPS = 3;
  private static final TwoModuleConfig MODEL = TwoModuleConfig.tinyGpt();
  private static final List<Microbatch> DATA =
      Microbatches.random(MODEL, 4, 16, 2, Microbatches.Masks.UNEVEN, 1);

  private static final TwoModuleTraining.Settings SETTINGS =
      TwoModuleTraining.Settings.of(DType.F32)
          .withInit(7, 0.2)
          .withMethod(TwoModuleTraining.Method.ADAMW, 0.01);

  /** As fast from the first step on as without a schedule. */
  private static final LearningRate RATES =
      new LearningRate(0.01, 0.01, 0, 100, LearningRate.Decay.COSINE);

  private final TwoModuleLayout layout;
  private final double[] losses = new double[STEPS];

  private TrainTwoModules(TwoModuleLayout layout) {
    this.layout = layout;
  }

  public static void main(String[] args) throws IOException {
    Machine machine = Machines.load("ring", List.of("system.sips.count=8"));
    show(machine, TwoModuleLayout.ONE_RANK);
    show(machine, layout("tp=2,dp=4", "tp=4,dp=2"));
    show(machine, layout("tp=2,dp=4", "tp=2,cp=2,dp=2"));
    show(machine, layout("tp=4,dp=2", "tp=1,cp=2,dp=4"));
    TwoModuleLayout apart = layout("tp=2,dp=2", "tp=2,pp=2,dp=1,offset=4");
    show(machine, apart);
    show(machine, apart.with(ModulePipelines.of(Schedules.GPIPE)));
    Path file = Files.createTempFile("two-modules", ".safetensors");
    stop(machine, layout("tp=2,dp=4", "tp=4,dp=2"), file);
    goOn(machine, layout("tp=1,dp=4", "tp=2,dp=2"), file);
    goOn(machine, apart, file);
    Files.delete(file);
  }

  private static void stop(Machine machine, TwoModuleLayout layout, Path file) {
    List<Microbatch> others =
        Microbatches.random(MODEL, 4, 16, 1, Microbatches.Masks.UNEVEN, 2);
    each(machine, layout, (worker, training) -> {
      training.follow(RATES);
      training.train(DATA);
      training.train(DATA);
      training.save(file);
      double mean = training.evaluate(others).mean().orElseThrow(); // the same on all ranks
      if (worker.rank() == 0) {
        System.out.printf(
            Locale.ROOT,
            "stopped after %d steps, other samples: %.4f per token%n",
            training.steps(),
            mean);
      }
    });
  }

  private static void goOn(Machine machine, TwoModuleLayout layout, Path file) {
    each(machine, layout, (worker, training) -> {
      training.follow(RATES);
      training.load(file);
      double mean = training.evaluate(DATA).mean().orElseThrow(); // what the next step begins with
      training.train(DATA);
      if (worker.rank() == 0) {
        System.out.printf(
            Locale.ROOT,
            "gone on with %s, step %d: loss per token %.4f%n",
            layout,
            training.steps(),
            mean);
      }
    });
  }

  private static void each(
      Machine machine, TwoModuleLayout layout, BiConsumer<Worker, TwoModuleTraining> body) {
    run(
        machine,
        layout,
        worker -> {
          try (TwoModuleTraining training =
              TwoModuleTraining.create(worker, MODEL, layout, SETTINGS).orElseThrow()) {
            body.accept(worker, training);
          }
        });
  }

  private static TwoModuleLayout layout(String encoder, String language) {
    return new TwoModuleLayout(RankGrid.parse(encoder), RankGrid.parse(language), true);
  }

  private static void show(Machine machine, TwoModuleLayout layout) {
    TrainTwoModules training = new TrainTwoModules(layout);
    run(machine, layout, training::rank);
    int tokens = DATA.stream().mapToInt(Microbatch::tokens).sum();
    StringBuilder line = new StringBuilder();
    for (double loss : training.losses) {
      line.append(String.format(Locale.ROOT, " %.4f", loss / tokens));
    }
    System.out.println(layout + ": loss per token" + line);
  }

  private static void run(Machine machine, TwoModuleLayout layout, Consumer<Worker> body) {
    CollectiveLibrary collectives =
        CollectiveLibrary.open(
            machine,
            CclConfig.load(
                Optional.empty(),
                List.of(
                    "defaults.algorithm=ring",
                    "algorithms.ring.rank_level=sip",
                    "algorithms.ring.world_size=" + layout.worldSize())));
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.VALUES).withCollectives(collectives);
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup("ahbm");
      torch.multiprocessing().spawn(body, layout.worldSize());
    }
  }

  private void rank(Worker worker) {
    try (TwoModuleTraining training =
        TwoModuleTraining.create(worker, MODEL, layout, SETTINGS).orElseThrow()) {
      for (int step = 0; step < STEPS; step++) {
        double sum = training.train(DATA).orElseThrow(); // of this rank's tokens
        RankGrid language = layout.language();
        if (language.contains(worker.rank()) && language.coordinate(worker.rank(), "tp") == 0) {
          losses[step] += sum;
        }
      }
    }
  }
}
