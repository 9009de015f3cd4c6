package org.kernbench.eval.sweep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Folding;
import org.kernbench.eval.Progress;
import org.kernbench.eval.Reuse;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.AllReduceBench;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.output.OutputException;

/** Grids, their keys, and what becomes of their rows. */
final class SweepTest {
  private static final Bench BENCH = BenchRegistry.standard().find("hello-send");

  @TempDir private Path directory;

  private static Sweep sweep(String... axes) {
    return sweep(RunOptions.DEFAULT.withTopology("tiny"), axes);
  }

  private static Sweep sweep(RunOptions base, String... axes) {
    return Sweep.of(BENCH, base, axes(axes), "test", "");
  }

  private static List<Sweep.Axis> axes(String... axes) {
    List<Sweep.Axis> all = new ArrayList<>();
    for (String axis : axes) {
      all.add(Sweep.Axis.parse(axis));
    }
    return all;
  }

  // ---- the grid ----

  @Test
  void points_ofTwoAxes_areTheProductWithTheLastFastest() {
    Sweep sweep = sweep("n_elem=1,2,3", "dtype=f16,f32");

    assertThat(sweep.points())
        .extracting(p -> String.join("/", p.values()))
        .containsExactly("1/f16", "1/f32", "2/f16", "2/f32", "3/f16", "3/f32");
    assertThat(sweep.points().get(3).options().params()).containsExactly("n_elem=2", "dtype=f32");
    assertThat(sweep.points()).extracting(Sweep.Point::key).doesNotHaveDuplicates();
  }

  @Test
  void axes_ofMachineAndCollectives_becomeOverrides() {
    Sweep sweep = sweep("set:ipcq.slots=4,8", "ccl:defaults.slots=2", "topology=tiny,sip-2026");

    RunOptions last = sweep.points().getLast().options();
    assertThat(last.overrides()).containsExactly("ipcq.slots=8");
    assertThat(last.cclOverrides()).containsExactly("defaults.slots=2");
    assertThat(last.topology()).contains("sip-2026");
  }

  @Test
  void key_changesWithEverythingThatDecidesTheResult_andWithNothingElse() throws IOException {
    Path machine = directory.resolve("m.yaml");
    Files.writeString(machine, "extends: tiny\n");
    RunOptions base = RunOptions.DEFAULT.withTopology(machine.toString());
    Set<String> keys = new HashSet<>();
    List<Supplier<Sweep>> different =
        List.of(
            () -> sweep(base, "n_elem=8"),
            () -> sweep(base, "n_elem=9"),
            () -> sweep(base.withMode(org.kernbench.device.Mode.TIME), "n_elem=8"),
            () -> sweep(base.withOverrides(List.of("ipcq.slots=4")), "n_elem=8"),
            () -> sweep(base.withCclOverrides(List.of("defaults.slots=4")), "n_elem=8"),
            () -> sweep(base.withParams(List.of("dtype=f32")), "n_elem=8"),
            () -> sweep(base.withTopology("tiny"), "n_elem=8"),
            () -> new Sweep(BENCH, base, axes("n_elem=8"), "other", ""),
            () -> new Sweep(BENCH, base, axes("n_elem=8"), "test", "code"));
    different.forEach(s -> keys.add(s.get().points().getFirst().key()));
    assertThat(keys).hasSize(different.size());

    String before = sweep(base, "n_elem=8").points().getFirst().key();
    Files.writeString(machine, "extends: tiny\nipcq: {slots: 4}\n");
    assertThat(sweep(base, "n_elem=8").points().getFirst().key()).isNotEqualTo(before);

    String one = sweep(base.withParams(List.of("dtype=f32")), "n_elem=8").points().getFirst().key();
    String same =
        sweep(base.withParams(List.of("N-Elem=8")), "dtype=f32").points().getFirst().key();
    assertThat(same).isEqualTo(one);
  }

  @Test
  void file_describesTheSameAsOptions() throws IOException {
    Path file = directory.resolve("sweep.yaml");
    Files.writeString(
        file,
        """
        bench: hello-send
        topology: tiny
        set: {ipcq.slots: 4}
        params: {dtype: f32}
        vary:
          n_elem: [8, 16]
          set:ipcq.slot_size: [1 KiB, 16 KiB]
        jobs: 3
        out: there
        """);

    Sweep.Description read = Sweep.read(file);

    assertThat(read.jobs()).contains(3);
    assertThat(read.out()).contains(Path.of("there"));
    assertThat(read.base().overrides()).containsExactly("ipcq.slots=4");
    assertThat(read.axes())
        .containsExactly(
            new Sweep.Axis("n_elem", List.of("8", "16")),
            new Sweep.Axis("set:ipcq.slot_size", List.of("1 KiB", "16 KiB")));
  }

  // ---- running ----

  private SweepRunner.Summary run(Sweep sweep, boolean resume, int jobs) {
    return run(sweep, resume, jobs, () -> SweepRunner.inPlace(sweep));
  }

  private SweepRunner.Summary run(
      Sweep sweep, boolean resume, int jobs, Supplier<SweepRunner.Worker> workers) {
    SweepFolder folder = SweepFolder.create(directory.resolve("out"));
    try (ResultStore store = folder.open()) {
      try {
        return SweepRunner.of(sweep, store, Progress.SILENT).run(resume, jobs, workers);
      } finally {
        folder.write(sweep, store);
      }
    }
  }

  private String csv() {
    try {
      return Files.readString(directory.resolve("out/results.csv"));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void sweep_anyNumberOfJobs_givesTheRowsOfSingleRuns() {
    Sweep sweep = sweep("n_elem=1,100,1000", "dtype=f16,f32");
    SweepRunner.Summary summary = run(sweep, false, 3);

    assertThat(summary).isEqualTo(new SweepRunner.Summary(6, 0, 6, 0, List.of()));
    List<String> lines = csv().lines().toList();
    assertThat(lines).hasSize(7);
    for (Sweep.Point point : sweep.points()) {
      RunResult single = Runner.of("test", Progress.SILENT).run(BENCH, point.options());
      assertThat(lines.get(1 + point.index()))
          .startsWith(
              String.join(",", point.values()) + ",ok,true,0.0," + single.metrics().get("crit_ns"))
          .contains(single.sim().opLogHash(), point.key());
    }
  }

  @Test
  void points_inModeTime_standForPackagesAndLaunches_withTheNumbersOfAllOfThem() {
    assertStandsForAll("ring-scale", "ranks=256", "packages, for all");
    assertStandsForAll("train-step", "layers=3", "launches, for all");
  }

  private static void assertStandsForAll(String bench, String axis, String scope) {
    RunOptions base = RunOptions.DEFAULT.withMode(org.kernbench.device.Mode.TIME);
    Bench each = BenchRegistry.standard().find(bench);
    RunOptions point = Sweep.of(each, base, axes(axis), "test", "").points().getFirst().options();
    Runner runner = Runner.of("test", Progress.SILENT);

    RunResult row = runner.run(each, point);
    RunResult whole = runner.run(each, point.withFolding(Folding.OFF).withReuse(Reuse.OFF));

    assertThat(row.sim().scope().text()).contains(scope);
    assertThat(whole.sim().scope().text()).isEqualTo("everything");
    assertThat(row.metrics()).containsAllEntriesOf(whole.metrics());
    assertThat(row.params()).containsAllEntriesOf(whole.params());
    assertThat(row.sim().opLogHash()).isEqualTo(whole.sim().opLogHash());
    assertThat(row.sim().events()).isLessThan(whole.sim().events() / 2);
  }

  private SweepFolder.Texts texts(String... axes) {
    Sweep sweep =
        Sweep.of(
            new AllReduceBench(),
            RunOptions.DEFAULT
                .withTopology("tiny")
                .withOverrides(List.of("system.sips.count=2"))
                .withMode(org.kernbench.device.Mode.TIME)
                .withParams(axes[0].startsWith("n_elem") ? List.of() : List.of("n_elem=64")),
            Arrays.stream(axes).map(Sweep.Axis::parse).toList(),
            "test",
            "");
    SweepFolder folder = SweepFolder.create(directory.resolve("texts"));
    try (ResultStore store = folder.open()) {
      SweepRunner.of(sweep, store, Progress.SILENT).run(true, 1, () -> SweepRunner.inPlace(sweep));
      return folder.write(sweep, store);
    }
  }

  @Test
  void rows_ofCollectives_sayOnHowManyRanksAndBytes() {
    SweepFolder.Texts texts = texts("algorithm=root_center,ring");

    assertThat(texts.rows()).extracting(r -> r.get("ranks").toString()).containsExactly("8", "2");
    assertThat(texts.rows()).extracting(r -> r.get("rank_level")).containsExactly("cube", "sip");
    assertThat(texts.rows()).extracting(r -> r.get("bytes").toString()).containsOnly("128");
    assertThat(texts.csv().lines().findFirst().orElseThrow())
        .contains(",ranks,", ",rank_level,", ",bytes,", ",busbw_gb_per_s");
    assertThat(texts.json()).contains("\"ranks\": 8", "\"rank_level\": \"cube\"");
  }

  @Test
  void axis_thatChangesRanksUnasked_isWarnedOf() {
    assertThat(texts("algorithm=root_center,ring").warnings())
        .containsExactly(
            "algorithm also changes ranks (8, 2), so its rows compare different things; --param"
                + " ranks=… holds it",
            "algorithm also changes rank_level (cube, sip), so its rows compare different things;"
                + " --param rank_level=… holds it");
    assertThat(texts("algorithm=root_center,ring", "rank_level=cube", "ranks=4").warnings())
        .isEmpty();
    assertThat(texts("rank_level=cube,sip", "dtype=f16,f32").warnings()).isEmpty();
    assertThat(texts("set:sip.cube_mesh.w=1,2").warnings()).isEmpty();
  }

  @Test
  void axes_thatAreNumbers_areNumbersInJson() {
    assertThat(texts("n_elem=8,64").json()).contains("\"n_elem\": 8,", "\"n_elem\": 64,");
  }

  /** A bench that remembers what was simulated does so by all that decides it. */
  @Test
  void pointsOfOneWorker_areThoseOfTwo() {
    RunOptions base =
        RunOptions.DEFAULT
            .withTopology("ring")
            .withMode(org.kernbench.device.Mode.TIME)
            .withOverrides(List.of("system.sips.topology=switch", "system.sips.count=4"))
            .withParams(List.of("tp=4", "hidden=256", "tokens=256"));
    List<String> times = new ArrayList<>();
    Bench gpt = BenchRegistry.standard().find("gpt-step");
    for (String chunks : List.of("1", "4")) {
      RunOptions one = base.withCclOverrides(List.of("algorithms.ring.sub_chunks=" + chunks));
      Runner runner = Runner.of("test", Progress.SILENT);
      times.add(runner.run(gpt, one).metrics().get("crit_ns").toString());
      times.add(
          runner
              .run(BenchRegistry.standard().find("gpt-step"), one)
              .metrics()
              .get("crit_ns")
              .toString());
    }
    assertThat(times.get(0)).isEqualTo(times.get(1)).isNotEqualTo(times.get(2));
    assertThat(times.get(2)).isEqualTo(times.get(3));
  }

  @Test
  void resume_runsOnlyWhatIsMissing_andAnExtendedGridKeepsItsRows() {
    run(sweep("n_elem=1,2"), false, 1);
    Sweep wider = sweep("n_elem=1,2,3");
    ConcurrentLinkedQueue<Integer> ran = new ConcurrentLinkedQueue<>();

    SweepRunner.Summary summary = run(wider, true, 2, () -> counting(wider, ran));

    assertThat(ran).containsExactly(2);
    assertThat(summary.reused()).isEqualTo(2);
    assertThat(csv().lines()).hasSize(4);
  }

  @Test
  void rowsThatAreThere_withoutResume_areNotTouched() {
    run(sweep("n_elem=1,2"), false, 1);

    assertThatThrownBy(() -> run(sweep("n_elem=1,2,3"), false, 1))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("has 2 of the 3 points already; use --resume");
  }

  @Test
  void point_thatCannotBeRun_isARowWithItsReason() {
    SweepRunner.Summary summary = run(sweep("to=sip0.cube0.pe1,sip9.cube0.pe0"), false, 1);

    assertThat(summary.failed()).isEqualTo(1);
    assertThat(csv()).contains(",refused,").contains("sip9.cube0.pe0");
  }

  @Test
  void worker_thatDiesOnce_isReplacedAndLosesNothing() {
    Sweep sweep = sweep("n_elem=1,2,3,4");
    Set<Integer> died = new HashSet<>();

    SweepRunner.Summary summary =
        run(sweep, false, 1, () -> dying(sweep, p -> p.index() == 2 && died.add(2)));

    assertThat(summary).isEqualTo(new SweepRunner.Summary(4, 0, 4, 0, List.of()));
  }

  @Test
  void worker_thatAlwaysDies_losesOnlyItsPoint_whichResumeRuns() {
    Sweep sweep = sweep("n_elem=1,2,3,4");

    SweepRunner.Summary summary = run(sweep, false, 2, () -> dying(sweep, p -> p.index() == 2));
    assertThat(summary.done()).isEqualTo(3);
    assertThat(summary.lost()).containsExactly("point n_elem=3: killed");

    SweepRunner.Summary again = run(sweep, true, 1);
    assertThat(again).isEqualTo(new SweepRunner.Summary(4, 3, 1, 0, List.of()));
  }

  /** A worker that breaks, other than by being killed, ends the sweep and says why. */
  @Test
  void worker_thatBreaks_endsTheSweepBeforeTheRemainingPoints() {
    Sweep sweep = sweep("n_elem=1,2,3,4,5,6");
    ConcurrentLinkedQueue<Integer> ran = new ConcurrentLinkedQueue<>();
    Predicate<Sweep.Point> second = p -> p.index() == 1;
    CountDownLatch broken = new CountDownLatch(1);

    assertThatThrownBy(() ->
            run(
                sweep,
                false,
                2,
                () ->
                    worker(
                        sweep,
                        p -> {
                          ran.add(p.index());
                          if (second.test(p)) {
                            throw breaks(broken);
                          }
                          awaitEnd(broken);
                        })))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("out of order");
    assertThat(ran).containsExactlyInAnyOrder(0, 1);
    assertThat(csv().lines()).hasSize(2);
  }

  private static RuntimeException breaks(CountDownLatch broken) {
    broken.countDown();
    return new IllegalStateException("out of order");
  }

  /** Until the other worker's thread has ended, as far as that can be seen from here. */
  private static void awaitEnd(CountDownLatch broken) {
    try {
      broken.await();
      Thread.sleep(200);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static SweepRunner.Worker counting(Sweep sweep, ConcurrentLinkedQueue<Integer> ran) {
    return worker(sweep, p -> ran.add(p.index()));
  }

  private static SweepRunner.Worker dying(Sweep sweep, Predicate<Sweep.Point> when) {
    return worker(
        sweep,
        p -> {
          if (when.test(p)) {
            throw new SweepRunner.WorkerLostException("killed");
          }
        });
  }

  private static SweepRunner.Worker worker(Sweep sweep, Consumer<Sweep.Point> before) {
    SweepRunner.Worker real = SweepRunner.inPlace(sweep);
    return new SweepRunner.Worker() {
      @Override
      public SweepRow run(Sweep.Point point) {
        before.accept(point);
        return real.run(point);
      }

      @Override
      public void close() {
        real.close();
      }
    };
  }

  // ---- the store ----

  private static SweepRow row(int i) {
    return SweepRow.of(
        "key" + i,
        Runner.of("test", Progress.SILENT)
            .run(
                BENCH, RunOptions.DEFAULT.withTopology("tiny").withParams(List.of("n_elem=" + i))));
  }

  @Test
  void row_throughTexts_isTheSame() {
    SweepRow row = row(7);

    assertThat(SweepRow.fromTexts(row.toTexts())).isEqualTo(row);
  }

  @Test
  void store_twoProcessesAtOnce_keepOneRowOfEachKey() throws Exception {
    Path file = directory.resolve("s.sqlite");
    SweepRow template = row(1);
    List<Thread> writers = new ArrayList<>();
    for (int w = 0; w < 2; w++) {
      Thread writer =
          new Thread(() -> {
            try (ResultStore store = ResultStore.open(file)) {
              for (int i = 0; i < 50; i++) {
                List<String> texts = new ArrayList<>(template.toTexts());
                texts.set(0, "key" + i);
                store.put(SweepRow.fromTexts(texts), "test");
              }
            }
          });
      writer.start();
      writers.add(writer);
    }
    for (Thread writer : writers) {
      writer.join();
    }
    try (ResultStore store = ResultStore.open(file)) {
      assertThat(store.keys()).hasSize(50);
    }
  }

  @Test
  void store_fullDisk_isAnErrorAndKeepsWhatWasPut() throws Exception {
    Path file = directory.resolve("s.sqlite");
    SweepRow template = row(1);
    int put = 0;
    try (ResultStore store = ResultStore.open(file)) {
      store.limitPages(12);
      while (true) {
        List<String> texts = new ArrayList<>(template.toTexts());
        texts.set(0, "key" + put);
        store.put(SweepRow.fromTexts(texts), "test");
        put++;
        assertThat(put).isLessThan(1000);
      }
    } catch (OutputException e) {
      assertThat(e).hasMessageContaining("the disk is full").hasMessageContaining("--resume");
    }
    try (ResultStore store = ResultStore.open(file)) {
      assertThat(store.keys()).hasSize(put);
      assertThat(put).isPositive();
      assertThat(store.check()).isEqualTo("ok");
    }
  }

  @Test
  void store_otherFile_isRefused() throws IOException {
    Path file = directory.resolve("s.sqlite");
    Files.writeString(file, "this is no database, but a text that is long enough to have a header");

    assertThatThrownBy(() -> ResultStore.open(file))
        .isInstanceOf(OutputException.class)
        .hasMessageContaining("it is no SQLite file");
    assertThat(file).content().startsWith("this is no database");
  }

  @Test
  void store_ofALaterKernbench_isRefusedAndLeftAsItIs() throws SQLException {
    Path file = directory.resolve("s.sqlite");
    ResultStore.open(file).close();
    String url = "jdbc:sqlite:" + file;
    for (int version : new int[] {ResultStore.SCHEMA + 1, ResultStore.SCHEMA}) {
      try (Connection c = DriverManager.getConnection(url);
          Statement s = c.createStatement()) {
        s.executeUpdate("PRAGMA user_version=" + version);
      }
      if (version == ResultStore.SCHEMA) {
        ResultStore.open(file).close();
        continue;
      }
      assertThatThrownBy(() -> ResultStore.open(file))
          .isInstanceOf(OutputException.class)
          .hasMessage(
              file
                  + ": was written by a later kernbench (tables of version 2); expected 1 or older:"
                  + " use that kernbench, or another file");
    }
  }

  @Test
  void store_whereNoneCanBe_saysWhy() {
    assertThatThrownBy(() -> ResultStore.open(directory))
        .isInstanceOf(OutputException.class)
        .hasMessage("cannot open " + directory + ": it is a directory; expected a file name");
    Path nowhere = directory.resolve("none/s.sqlite");
    assertThatThrownBy(() -> ResultStore.open(nowhere))
        .isInstanceOf(OutputException.class)
        .hasMessage(
            "cannot open "
                + nowhere
                + ": it cannot be made there; name a directory that you can write to");
  }

  /** All but the first page, on which the tables are listed, made unreadable. */
  @Test
  void store_damaged_saysSo() throws IOException {
    Path file = directory.resolve("s.sqlite");
    try (ResultStore store = ResultStore.open(file)) {
      store.put(row(1), "test");
    }
    byte[] bytes = Files.readAllBytes(file);
    Arrays.fill(bytes, 4096, bytes.length, (byte) 0x5a);
    Files.write(file, bytes);
    ResultStore store = ResultStore.open(file);
    String damaged = " " + file + ": it is damaged; remove it or name another directory";
    assertThatThrownBy(store::keys)
        .isInstanceOf(OutputException.class)
        .hasMessage("cannot read" + damaged);
    assertThatThrownBy(() -> store.rows("any"))
        .isInstanceOf(OutputException.class)
        .hasMessage("cannot read" + damaged);
    assertThatThrownBy(() -> store.put(row(2), "test"))
        .isInstanceOf(OutputException.class)
        .hasMessage("cannot write" + damaged);
    assertThat(store.check()).isNotEqualTo("ok");
    store.close();
  }

  @Test
  void store_closed_saysWhatCannotBeDone() {
    Path file = directory.resolve("s.sqlite");
    ResultStore store = ResultStore.open(file);
    store.close();
    Sweep sweep = sweep("n_elem=1");
    List<Runnable> reads = List.of(store::keys, store::validKeys, () -> store.rows(sweep.id()));
    for (Runnable read : reads) {
      assertThatThrownBy(read::run)
          .isInstanceOf(OutputException.class)
          .hasMessageStartingWith("cannot read " + file + ": ");
    }
    assertThatThrownBy(store::check)
        .isInstanceOf(OutputException.class)
        .hasMessageStartingWith("cannot check " + file + ": ");
    List<Runnable> writes =
        List.of(() -> store.put(row(1), "test"), () -> store.plan(sweep, sweep.points()));
    for (Runnable write : writes) {
      assertThatThrownBy(write::run)
          .isInstanceOf(OutputException.class)
          .hasMessageStartingWith("cannot write " + file + ": ");
    }
  }
}
