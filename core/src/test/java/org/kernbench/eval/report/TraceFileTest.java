package org.kernbench.eval.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.device.Mode;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.TransferLog;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.output.OutputException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/** Traces, read back by Google's protobuf library and by SQLite's JSON parser. */
final class TraceFileTest {
  private static final RunResult RUN =
      Runner.of("test", Progress.SILENT)
          .run(
              BenchRegistry.standard().find("ccl-allreduce"),
              RunOptions.DEFAULT
                  .withTopology("tiny")
                  .withParams(List.of("n_elem=20000", "algorithm=mesh")));
  private static final OpLog LOG = RUN.log().orElseThrow();

  @TempDir private Path directory;

  /** A slice as it stands in a file. */
  private record Read(
      String track, String name, long fromPs, long toPs, Map<String, Object> notes) {}

  private record Contents(
      List<Read> slices,
      List<Long> flowsOut,
      List<Long> flowsIn,
      long samples,
      Set<String> units) {}

  private static long number(UnknownFieldSet m, int field) {
    return m.getField(field).getVarintList().getFirst();
  }

  private static String text(UnknownFieldSet m, int field) {
    return m.getField(field).getLengthDelimitedList().getFirst().toStringUtf8();
  }

  private static UnknownFieldSet message(ByteString bytes) throws IOException {
    return UnknownFieldSet.parseFrom(bytes);
  }

  private static Contents perfetto(Path file) throws IOException {
    Map<Long, String> tracks = new HashMap<>();
    Set<String> units = new HashSet<>();
    Map<Long, List<UnknownFieldSet>> open = new HashMap<>();
    Map<UnknownFieldSet, Long> begins = new java.util.IdentityHashMap<>();
    List<Read> slices = new ArrayList<>();
    List<Long> out = new ArrayList<>();
    List<Long> in = new ArrayList<>();
    long samples = 0;
    UnknownFieldSet trace = UnknownFieldSet.parseFrom(Files.readAllBytes(file));
    for (ByteString bytes : trace.getField(1).getLengthDelimitedList()) {
      UnknownFieldSet packet = message(bytes);
      if (packet.hasField(60)) {
        UnknownFieldSet track = message(packet.getField(60).getLengthDelimitedList().getFirst());
        if (track.hasField(2)) {
          tracks.put(number(track, 1), text(track, 2));
        }
        if (track.hasField(8)) {
          units.add(text(message(track.getField(8).getLengthDelimitedList().getFirst()), 6));
        }
        continue;
      }
      UnknownFieldSet event = message(packet.getField(11).getLengthDelimitedList().getFirst());
      long time = number(packet, 8);
      long track = number(event, 11);
      switch ((int) number(event, 9)) {
        case 1 -> {
          assertThat(open.computeIfAbsent(track, t -> new ArrayList<>()))
              .as("no nesting")
              .isEmpty();
          open.get(track).add(event);
          begins.put(event, time);
          out.addAll(event.getField(47).getFixed64List());
          in.addAll(event.getField(48).getFixed64List());
        }
        case 2 -> {
          UnknownFieldSet begin = open.get(track).removeLast();
          slices.add(
              new Read(tracks.get(track), text(begin, 23), begins.get(begin), time, notes(begin)));
        }
        default -> samples++;
      }
    }
    assertThat(open.values()).allSatisfy(left -> assertThat(left).isEmpty());
    return new Contents(slices, out, in, samples, units);
  }

  private static Map<String, Object> notes(UnknownFieldSet event) throws IOException {
    Map<String, Object> notes = new HashMap<>();
    for (ByteString bytes : event.getField(4).getLengthDelimitedList()) {
      UnknownFieldSet note = message(bytes);
      notes.put(text(note, 10), note.hasField(4) ? (Object) number(note, 4) : text(note, 6));
    }
    return notes;
  }

  @Test
  void perfetto_hasEveryOperationAtItsTimes() throws IOException {
    Path file = directory.resolve("t.pftrace");
    TraceFile.Size size = TraceFile.write(RUN, file);
    Contents read = perfetto(file);

    assertThat(Files.size(file)).isEqualTo(size.bytes());
    assertThat(read.slices()).hasSize((int) size.slices());
    assertThat(read.samples()).isEqualTo(size.samples());
    assertThat(read.units()).containsExactlyInAnyOrder("messages", "%");
    Map<Long, Read> engines = new HashMap<>();
    for (Read slice : read.slices()) {
      if (slice.notes().containsKey("issue_ps")) {
        assertThat(engines.put((Long) slice.notes().get("op"), slice)).isNull();
      }
    }
    int messages = 0;
    for (int id = 0; id < LOG.size(); id++) {
      Read slice = engines.get((long) id);
      assertThat(slice.fromPs()).isEqualTo(LOG.startPs(id));
      assertThat(slice.toPs()).isEqualTo(LOG.endPs(id));
      assertThat(slice.track()).startsWith(LOG.pe(id) + " " + LOG.kind(id));
      messages += LOG.kind(id) == OpKind.SEND ? 1 : 0;
    }
    assertThat(engines).hasSize(LOG.size());
    assertThat(read.flowsOut()).hasSize(messages).doesNotHaveDuplicates();
    assertThat(read.flowsIn()).containsExactlyInAnyOrderElementsOf(read.flowsOut());
  }

  /**
   * A training step of two by two ranks: each rank has its launches in order, and whatever its PEs
   * did lies within one of them.
   */
  @Test
  void perfetto_ofATrainingStep_hasEveryLaunchOfEveryRank() throws IOException {
    RunResult step =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("train-step"),
                RunOptions.DEFAULT
                    .withTopology("tiny")
                    .withMode(Mode.TIME)
                    .withParams(List.of("tp=2", "dp=2", "layers=1")));
    OpLog log = step.log().orElseThrow();
    LaunchLog launches = log.launches();
    Path file = directory.resolve("step.pftrace");
    TraceFile.write(step, file);
    Map<Integer, List<Read>> ranks = new TreeMap<>();
    for (Read slice : perfetto(file).slices()) {
      if (slice.track().startsWith("rank ")) {
        ranks
            .computeIfAbsent(Integer.valueOf(slice.track().split(" ")[1]), r -> new ArrayList<>())
            .add(slice);
      }
    }

    assertThat(ranks.keySet()).containsExactly(0, 1, 2, 3);
    assertThat(launches.size()).isGreaterThan(50);
    Map<Integer, Integer> rankOf = new HashMap<>(); // by PE, from the rows of launches
    Machine machine = step.machine().orElseThrow();
    for (int launch = 0; launch < launches.size(); launch++) {
      Set<Integer> there = new HashSet<>();
      for (int row = launches.firstRow(launch); row < launches.endRow(launch); row++) {
        Pe pe = launches.pes(launch).get(row - launches.firstRow(launch));
        rankOf.put(machine.peIndex(pe), launches.rank(row));
        there.add(launches.rank(row));
      }
      long id = launch;
      for (int rank : there) {
        assertThat(ranks.get(rank))
            .filteredOn(slice -> slice.notes().get("launch").equals(id))
            .singleElement()
            .satisfies(slice -> {
              assertThat(slice.name()).isEqualTo(launches.name((int) id));
              assertThat(slice.fromPs()).isEqualTo(launches.startPs((int) id));
              assertThat(slice.toPs()).isLessThanOrEqualTo(launches.donePs((int) id));
            });
      }
    }
    for (int op = 0; op < log.size(); op++) {
      long from = log.startPs(op);
      long to = log.endPs(op);
      assertThat(ranks.get(rankOf.get(machine.peIndex(log.pe(op)))))
          .as("operation %d", op)
          .anyMatch(slice -> slice.fromPs() <= from && to <= slice.toPs());
    }
    long reduces =
        ranks.get(0).stream()
            .filter(slice -> "all_reduce".equals(slice.notes().get("collective")))
            .count();
    long expected =
        IntStream.range(0, launches.size())
            .filter(l ->
                launches
                    .exchange(l)
                    .filter(e -> e.operation().equals("all_reduce") && e.ranks().contains(0))
                    .isPresent())
            .count();
    assertThat(reduces).isEqualTo(expected).isPositive();
  }

  @Test
  void perfetto_linksCarryEveryByteOnce() throws IOException {
    Path file = directory.resolve("t.pftrace");
    TraceFile.write(RUN, file);

    Map<String, Long> read = new HashMap<>();
    for (Read slice : perfetto(file).slices()) {
      if (slice.track().contains("->")) {
        read.merge(slice.track(), (Long) slice.notes().get("bytes"), Long::sum);
      }
    }
    TransferLog ways = LOG.transfers();
    Map<String, Long> served = new HashMap<>();
    for (int s = 0; s < ways.services(); s++) {
      if (ways.link(s) < RUN.machine().orElseThrow().linkCount()) {
        String link = RUN.machine().orElseThrow().link(ways.link(s)).name();
        served.merge(link, (long) ways.chunkBytes(s), Long::sum);
      }
    }
    assertThat(read).isEqualTo(served).isNotEmpty();
  }

  @Test
  void chrome_isJsonWithTheSameSlices() throws Exception {
    Path file = directory.resolve("t.json");
    TraceFile.Size size = TraceFile.write(RUN, file);

    long durations = 0;
    for (Read slice : writePerfetto().slices()) {
      durations += slice.toPs() - slice.fromPs();
    }
    String query =
        """
        SELECT count(*) FILTER (WHERE value ->> 'ph' = 'X'),
               count(*) FILTER (WHERE value ->> 'ph' = 's'),
               count(*) FILTER (WHERE value ->> 'ph' = 'C'),
               sum(CASE value ->> 'ph' WHEN 'X' THEN CAST(round((value ->> 'dur') * 1000) AS INTEGER) END)
        FROM json_each(?, '$.traceEvents')
        """;
    try (var sqlite = DriverManager.getConnection("jdbc:sqlite::memory:");
        var statement = sqlite.prepareStatement(query)) {
      statement.setString(1, Files.readString(file));
      try (var row = statement.executeQuery()) {
        assertThat(row.getLong(1)).isEqualTo(size.slices());
        assertThat(row.getLong(2)).isEqualTo(size.flows());
        assertThat(row.getLong(3)).isEqualTo(size.samples());
        assertThat(row.getLong(4)).isEqualTo(durations);
      }
    }
  }

  private Contents writePerfetto() throws IOException {
    Path file = directory.resolve("same.pftrace");
    TraceFile.write(RUN, file);
    return perfetto(file);
  }

  @Test
  void trace_ofTwoRuns_hasTheSameBytes() throws IOException {
    RunResult again =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("ccl-allreduce"),
                RunOptions.DEFAULT
                    .withTopology("tiny")
                    .withParams(List.of("n_elem=20000", "algorithm=mesh")));
    TraceFile.write(RUN, directory.resolve("a"));
    TraceFile.write(again, directory.resolve("b"));

    assertThat(directory.resolve("a")).hasSameBinaryContentAs(directory.resolve("b"));
  }

  @Test
  void slots_neverMoreThanTheRingHas() {
    Trace trace = Trace.of(RUN.machine().orElseThrow(), LOG);
    int slots = RUN.machine().orElseThrow().ipcq().slots();

    assertThat(trace.counters())
        .filteredOn(c -> c.unit().equals("messages"))
        .isNotEmpty()
        .allSatisfy(
            c -> assertThat(c.samples()).allMatch(s -> s.value() >= 0 && s.value() <= slots));
    assertThat(trace.counters())
        .filteredOn(c -> c.unit().equals("%"))
        .allSatisfy(c -> assertThat(c.samples()).allMatch(s -> s.value() <= 100));
  }

  /** What a link's counter says of the whole run is how long its slices are together. */
  @Test
  void use_ofEachLink_addsUpToItsSlices() {
    Trace trace = Trace.of(RUN.machine().orElseThrow(), LOG);
    int compared = 0;
    for (Trace.Counter counter : trace.counters()) {
      List<Trace.Slice> slices =
          trace.tracks().stream()
              .filter(t -> (t.name() + " ").startsWith(counter.name().replace("use ", "") + " "))
              .flatMap(t -> t.slices().stream())
              .toList();
      if (!counter.unit().equals("%") || slices.isEmpty()) {
        continue;
      }
      double busy = 0;
      List<Trace.Sample> samples = counter.samples();
      for (int i = 1; i < samples.size(); i++) {
        long ps = samples.get(i).timePs() - samples.get(i - 1).timePs();
        busy += samples.get(i - 1).value() / 100 * ps;
      }
      double sum = slices.stream().mapToLong(s -> s.toPs() - s.fromPs()).sum();
      long endPs = samples.getLast().timePs();
      // each value is rounded to a tenth of a percent
      assertThat(busy).as(counter.name()).isCloseTo(sum, within(0.0006 * endPs));
      compared++;
    }
    assertThat(compared).isGreaterThan(10);
  }

  /** What a library's program takes is no work of an engine, and has tracks of its own. */
  @Test
  void timeOfALibrary_isNoTrackOfAnEngine() {
    RunResult run =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("ccl-allreduce"),
                RunOptions.DEFAULT
                    .withTopology("dgx-h100")
                    .withMode(Mode.TIME)
                    .withParams(List.of("n_elem=4096", "algorithm=ring")));
    OpLog log = run.log().orElseThrow();
    int let = 0;
    int computed = 0;
    for (int op = 0; op < log.size(); op++) {
      boolean lets = log.work(op).orElse(null) instanceof ComputeOp.Elapsed;
      let += lets ? 1 : 0;
      computed += !lets && log.kind(op) == OpKind.MATH ? 1 : 0;
    }
    assertThat(let).isPositive();
    Trace trace = Trace.of(run.machine().orElseThrow(), log);
    assertThat(slices(trace, "protocol")).isEqualTo(let);
    assertThat(slices(trace, "MATH")).isEqualTo(computed);
  }

  /** Of the tracks of engines with a word in their names, if all slices have it too. */
  private static int slices(Trace trace, String word) {
    int count = 0;
    for (Trace.Track track : trace.tracks()) {
      if (track.group() == Trace.Group.ENGINES && track.name().contains(" " + word)) {
        assertThat(track.slices()).allMatch(slice -> slice.name().startsWith(word));
        count += track.slices().size();
      }
    }
    return count;
  }

  @Test
  void benchWithoutOperations_isRefused() {
    RunResult values =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("hello-send"),
                RunOptions.DEFAULT.withTopology("tiny").withMode(Mode.VALUES));

    assertThatThrownBy(() -> TraceFile.write(values, directory.resolve("t")))
        .isInstanceOf(OutputException.class)
        .hasMessageContaining("keeps no operations in mode values");
  }
}
