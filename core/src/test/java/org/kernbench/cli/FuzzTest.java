package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.CheckedOutputStream;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Npy;
import org.kernbench.tensor.NpyArray;
import org.kernbench.tensor.SafeTensors;
import org.kernbench.tensor.Shape;

/**
 * Inputs of every kind, spoilt by chance: over ten thousand, the same ones each time. None may end
 * in a stack trace, in silence or after more than ten seconds (the quickest of three tries), and an
 * exit code that is not 0 comes with a message. An input that fails is kept in {@code
 * target/fuzz-found}.
 *
 * <p>The slow suite runs all of them; the build runs a few of each kind, which holds the harness
 * itself in order.
 */
final class FuzzTest {
  private static final int SECONDS = 10;
  private static final long LONGEST_NS = SECONDS * 1_000_000_000L;
  private static final Path KEPT = Path.of("target/fuzz-found");
  private static final Path MACHINES = Path.of("../machines");
  private static final Path FOUND = Path.of("src/test/resources/bad-inputs");

  private final ClassLoader before = Thread.currentThread().getContextClassLoader();
  private ExecutorService executor = Executors.newSingleThreadExecutor();
  private final List<String> problems = new ArrayList<>();
  private int inputs;

  @TempDir private Path directory;

  @BeforeEach
  void noVirtualThreadsBeside() {
    executor.shutdown();
    executor = Executors.newSingleThreadExecutor();
  }

  @AfterEach
  void forgetUserClasses() {
    executor.shutdownNow();
    Thread.currentThread().setContextClassLoader(before);
  }

  @Test
  @Tag("slow")
  @Timeout(value = 1, unit = TimeUnit.HOURS)
  void tenThousandInputs_endWithAMessageInTime() throws Exception {
    run(20);

    assertThat(problems).isEmpty();
    assertThat(inputs).isGreaterThanOrEqualTo(10_000);
  }

  @Test
  void aFewOfEachKind_endWithAMessageInTime() throws Exception {
    run(0);

    assertThat(problems).isEmpty();
    assertThat(inputs).isBetween(100, 400);
  }

  /** The oracle sees what it is to see: a trace, silence, and what does not end. */
  @Test
  void oracle_seesTracesAndSilence() {
    judge("a", new byte[0], new Session(1, "", "kernbench: internal error\n\tat x.Y"), 0);
    judge("b", new byte[0], new Session(1, "", ""), 0);
    judge("c", new byte[0], new Session(7, "", "kernbench: x"), 0);
    judge("d", new byte[0], new Session(0, "fine", ""), SECONDS * 1_000_000_001L);
    judge("e", new byte[0], new Session(0, "fine", ""), 0);
    judge("f", new byte[0], new Session(2, "", "kernbench: no"), 0);

    assertThat(problems).hasSize(4);
  }

  /**
   * Draws inputs.
   *
   * @param scale hundreds of inputs per kind that is quick to try; 0: a few of each
   */
  private void run(int scale) throws Exception {
    machines(scale == 0 ? 40 : scale * 140);
    collectives(scale == 0 ? 15 : scale * 50);
    tables(scale == 0 ? 15 : scale * 50);
    sweeps(scale == 0 ? 10 : scale * 15);
    recordings(scale == 0 ? 40 : scale * 120);
    arrays(scale == 0 ? 40 : scale * 120);
    reports(scale == 0 ? 10 : scale * 30);
    programs(scale == 0 ? 2 : scale * 2);
    commandLines(scale == 0 ? 20 : scale * 40);
  }

  // ---- trying ----

  private void command(String kind, byte[] input, String... args) {
    inputs++;
    long quickest = Long.MAX_VALUE;
    Optional<Session> session = Optional.empty();
    // on a busy machine one try may be slow: what counts is the quickest of three
    for (int tries = 0; tries < 3 && quickest > LONGEST_NS; tries++) {
      long begin = System.nanoTime();
      session = once(kind, input, args);
      quickest = Math.min(quickest, System.nanoTime() - begin);
      if (session.isEmpty()) {
        return;
      }
    }
    judge(kind + " " + String.join(" ", args), input, session.orElseThrow(), quickest);
  }

  /** The session; nothing if it does not end or lets an exception out, which is noted. */
  private Optional<Session> once(String kind, byte[] input, String... args) {
    Future<Session> running = executor.submit((Callable<Session>) () -> Session.of(args));
    try {
      return Optional.of(running.get(6 * SECONDS, TimeUnit.SECONDS));
    } catch (TimeoutException e) {
      problem(kind, input, "does not end: " + String.join(" ", args));
      running.cancel(true);
      executor = Executors.newSingleThreadExecutor();
    } catch (Exception e) {
      problem(kind, input, "threw " + e);
    }
    return Optional.empty();
  }

  private void judge(String what, byte[] input, Session session, long ns) {
    String err = session.err();
    if (err.contains("\tat ")
        || err.contains("internal error")
        || session.out().contains("\tat ")) {
      problem(what, input, "a trace: " + err.lines().limit(4).toList());
    } else if (session.exitCode() < 0 || session.exitCode() > 2) {
      problem(what, input, "exit code " + session.exitCode());
    } else if (session.exitCode() != 0 && err.isBlank() && session.out().isBlank()) {
      problem(what, input, "exit code " + session.exitCode() + " without a word");
    } else if (ns > LONGEST_NS) {
      problem(what, input, "took " + ns / 1_000_000 + " ms");
    }
  }

  private void problem(String what, byte[] input, String why) {
    if (problems.size() < 40) {
      problems.add("input " + inputs + " (" + what + "): " + why);
    }
    if (input.length > 0) {
      try {
        Files.createDirectories(KEPT);
        Files.write(KEPT.resolve("input-" + inputs), input);
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }
  }

  private Path write(String name, byte[] bytes) throws IOException {
    Path file = directory.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.write(file, bytes);
  }

  // ---- kinds ----

  private void machines(int count) throws IOException {
    Random random = new Random(1);
    List<String> texts = new ArrayList<>();
    try (Stream<Path> all = Files.list(MACHINES)) {
      for (Path file : all.sorted().toList()) {
        texts.add(Files.readString(file));
      }
    }
    texts.add("extends: tiny\n");
    for (int i = 0; i < count; i++) {
      byte[] bytes = spoilt(texts.get(random.nextInt(texts.size())), random);
      command("machine", bytes, "machine", "validate", write("m.yaml", bytes).toString());
    }
  }

  private void collectives(int count) throws IOException {
    Random random = new Random(2);
    String text =
        Files.readString(FOUND.resolve("ccl_table_nul.yaml")).replace("\"a\\0b\"", "none");
    for (int i = 0; i < count; i++) {
      byte[] bytes = spoilt(text, random);
      String file = write("c.yaml", bytes).toString();
      command(
          "ccl",
          bytes,
          "run",
          "ccl-allreduce",
          "-q",
          "--topology",
          "ring",
          "--mode",
          "time",
          "--param",
          "n_elem=64",
          "--ccl",
          file);
    }
  }

  private void tables(int count) throws IOException {
    Random random = new Random(3);
    String text = Files.readString(FOUND.resolve("stale-resume/tab2.yaml"));
    for (int i = 0; i < count; i++) {
      byte[] bytes = spoilt(text, random);
      String file = write("t.yaml", bytes).toString();
      command(
          "table",
          bytes,
          "run",
          "ccl-allreduce",
          "-q",
          "--topology",
          "ring",
          "--mode",
          "time",
          "--param",
          "n_elem=64",
          "--ccl-set",
          "defaults.algorithm=auto",
          "--ccl-set",
          "defaults.table=" + file);
    }
  }

  private void sweeps(int count) throws IOException {
    Random random = new Random(4);
    String text =
        "bench: hello-send\ntopology: tiny\nset: {ipcq.slots: 4}\nparams: {dtype: f32}\nmode: time\n"
            + "vary:\n  n_elem: [8, 16]\n  set:ipcq.slot_size: [1 KiB, 16 KiB]\n";
    for (int i = 0; i < count; i++) {
      byte[] bytes = spoilt(text, random);
      String file = write("s.yaml", bytes).toString();
      command(
          "sweep",
          bytes,
          "sweep",
          file,
          "-q",
          "--jobs",
          "1",
          "--resume",
          "--out",
          directory.resolve("sweep-out").toString());
    }
  }

  /** The content is spoilt and the checksum made to fit, so that the tables themselves are read. */
  private void recordings(int count) throws IOException {
    Random random = new Random(5);
    List<byte[]> whole = new ArrayList<>();
    for (String bench : List.of("hello-send", "ccl-allreduce")) {
      String out = directory.resolve("run-" + bench).toString();
      assertThat(
              Session.of("run", bench, "--topology", "tiny", "--param", "n_elem=64", "--out", out)
                  .exitCode())
          .isZero();
      whole.add(Files.readAllBytes(Path.of(out, "run.log")));
    }
    for (int i = 0; i < count; i++) {
      byte[] log = whole.get(random.nextInt(whole.size()));
      byte[] content =
          new InflaterInputStream(new java.io.ByteArrayInputStream(log, 12, log.length - 12))
              .readAllBytes();
      byte[] bytes =
          random.nextInt(8) == 0
              ? spoiltBytes(log, random)
              : sealed(log, spoiltBytes(Arrays.copyOf(content, content.length - 8), random));
      String folder = write("rec/run.log", bytes).getParent().toString();
      command(
          "recording",
          bytes,
          random.nextInt(3) > 0
              ? new String[] {"explain", folder, "-q"}
              : new String[] {"diff", folder, directory.resolve("run-hello-send").toString()});
    }
  }

  private static byte[] sealed(byte[] log, byte[] content) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(log, 0, 12);
    DeflaterOutputStream deflated = new DeflaterOutputStream(out);
    CheckedOutputStream checked = new CheckedOutputStream(deflated, new CRC32());
    checked.write(content);
    new DataOutputStream(deflated).writeLong(checked.getChecksum().getValue());
    deflated.finish();
    return out.toByteArray();
  }

  /** Readers of arrays are called by programs: they may only throw an error with a message. */
  private void arrays(int count) throws IOException {
    Random random = new Random(6);
    Path npy = directory.resolve("a.npy");
    Path npz = directory.resolve("a.npz");
    Path safe = directory.resolve("a.safetensors");
    NpyArray array = new NpyArray(DType.F32, Shape.of(2, 3), new byte[24]);
    Npy.write(npy, DType.F32, Shape.of(2, 3), new byte[24]);
    Npy.writeArchive(npz, Map.of("x", array));
    SafeTensors.write(safe, Map.of("x", array, "y", array), Map.of("k", "v"));
    byte[][] whole = {Files.readAllBytes(npy), Files.readAllBytes(npz), Files.readAllBytes(safe)};
    List<BiConsumer<Path, byte[]>> readers = List.of(FuzzTest::npy, FuzzTest::npz, FuzzTest::safe);
    for (int i = 0; i < count; i++) {
      int kind = random.nextInt(3);
      byte[] bytes = spoiltArray(kind, whole[kind], random);
      Path file = write("fuzz.bin", bytes);
      inputs++;
      long begin = System.nanoTime();
      try {
        readers.get(kind).accept(file, bytes);
      } catch (java.io.UncheckedIOException e) {
        if (e.getCause().getMessage() == null) {
          problem("array", bytes, "no message: " + e.getCause());
        }
      } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
        problem("array " + kind, bytes, "threw " + e);
      }
      if (System.nanoTime() - begin > LONGEST_NS) {
        problem("array", bytes, "took too long");
      }
    }
  }

  private static byte[] spoiltArray(int kind, byte[] whole, Random random) throws IOException {
    if (kind == 0 && random.nextBoolean()) {
      return spoiltHeader(whole, 10, random);
    }
    if (kind == 1 && random.nextBoolean()) { // an archive in order, of an entry that is not
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      try (ZipOutputStream zip = new ZipOutputStream(out)) {
        zip.putNextEntry(new ZipEntry("x.npy"));
        zip.write(spoiltHeader(Npy1.HEADER, 10, random));
        zip.write(new byte[random.nextInt(4) == 0 ? 1 << 22 : random.nextInt(100)]);
        zip.closeEntry();
      }
      return out.toByteArray();
    }
    if (kind == 2 && random.nextInt(3) > 0) {
      int length = java.nio.ByteBuffer.wrap(whole).order(java.nio.ByteOrder.LITTLE_ENDIAN).getInt();
      byte[] header = spoilt(new String(whole, 8, length, StandardCharsets.UTF_8), random);
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      for (int i = 0; i < 8; i++) {
        out.write(header.length >>> 8 * i & (i < 4 ? 0xFF : 0));
      }
      out.write(header);
      out.write(new byte[48]);
      return out.toByteArray();
    }
    return spoiltBytes(whole, random);
  }

  private static byte[] spoiltHeader(byte[] npy, int at, Random random) {
    byte[] header =
        spoilt(new String(npy, at, npy.length - at, StandardCharsets.ISO_8859_1), random);
    byte[] all = new byte[at + header.length];
    System.arraycopy(npy, 0, all, 0, at);
    System.arraycopy(header, 0, all, at, header.length);
    all[8] = (byte) Math.min(header.length, 0x76);
    return all;
  }

  /** The bytes of a small array. */
  private static final class Npy1 {
    static final byte[] HEADER =
        ("\u0093NUMPY\u0001\u0000\u0076\u0000{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
                + " ".repeat(57)
                + "\n")
            .getBytes(StandardCharsets.ISO_8859_1);
  }

  private static void npy(Path file, byte[] bytes) {
    unchecked(() -> Npy.read(file));
  }

  private static void npz(Path file, byte[] bytes) {
    unchecked(() -> Npy.readArchive(file));
  }

  private static void safe(Path file, byte[] bytes) {
    unchecked(() -> {
      SafeTensors tensors = SafeTensors.open(file);
      for (String name : tensors.names()) {
        tensors.read(name);
      }
      return tensors.metadata();
    });
  }

  private interface Reading {
    Object read() throws IOException;
  }

  private static void unchecked(Reading reading) {
    try {
      assertThat(reading.read()).isNotNull();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private void reports(int count) throws IOException {
    Random random = new Random(7);
    Path run = directory.resolve("run");
    Path sweep = directory.resolve("sw");
    assertThat(
            Session.of("run", "hello-send", "--topology", "tiny", "--out", run.toString())
                .exitCode())
        .isZero();
    assertThat(
            Session.of(
                    "sweep",
                    "hello-send",
                    "--topology",
                    "tiny",
                    "--vary",
                    "n_elem=1,2",
                    "--jobs",
                    "1",
                    "-q",
                    "--out",
                    sweep.toString())
                .exitCode())
        .isZero();
    String[] texts = {
      Files.readString(run.resolve("report.json")), Files.readString(sweep.resolve("results.json"))
    };
    for (int i = 0; i < count; i++) {
      int kind = random.nextInt(2);
      byte[] bytes = spoilt(texts[kind], random);
      Path folder =
          write("rep" + kind + (kind == 0 ? "/report.json" : "/results.json"), bytes).getParent();
      write("rep" + kind + "/f.svg", spoilt("<svg><script>alert(1)</script><g/></svg>", random));
      command("report", bytes, "report", folder.toString());
    }
  }

  private void programs(int count) throws IOException {
    Random random = new Random(8);
    String text =
        Files.readString(FOUND.resolve("kernel-tclose/MyBench.java.txt"))
            .replace("torch.close();", "");
    List<String> words =
        List.of(
            "x",
            "y",
            "tl",
            "0",
            "-1",
            "rows",
            "null",
            "shape",
            "torch",
            "2",
            "COLUMNS",
            "Integer.MAX_VALUE",
            "launch",
            "1.5",
            "options",
            "machine");
    Pattern word = Pattern.compile("\\b[a-zA-Z0-9.]+\\b");
    int from = text.indexOf("public Outcome run");
    for (int i = 0; i < count; i++) {
      List<int[]> places = new ArrayList<>();
      Matcher m = word.matcher(text);
      for (int at = from; m.find(at); at = m.end()) {
        places.add(new int[] {m.start(), m.end()});
      }
      int[] place = places.get(random.nextInt(places.size()));
      String by = words.get(random.nextInt(words.size()));
      String spoilt = text.substring(0, place[0]) + by + text.substring(place[1]);
      byte[] bytes = spoilt.getBytes(StandardCharsets.UTF_8);
      String file = write("MyBench.java", bytes).toString();
      command("program", bytes, "run", file, "--topology", "tiny", "-q");
    }
    Thread.currentThread().setContextClassLoader(before);
  }

  private void commandLines(int count) {
    Random random = new Random(9);
    List<String> commands =
        List.of(
            "run hello-send --topology tiny",
            "list",
            "machine show tiny",
            "machine validate tiny",
            "explain hello-send --topology tiny",
            "run ccl-allreduce --topology ring --mode time",
            "layout groups",
            "probe --topology tiny",
            "report",
            "diff",
            "completion",
            "--version",
            "machine",
            "sweep hello-send --topology tiny --vary n_elem=1 --jobs 1 -q --out OUT");
    List<String> words =
        List.of(
            "--param",
            "n_elem=",
            "n_elem=8",
            "--set",
            "ipcq.slots=0",
            "ipcq.slots=4",
            "ipcq..",
            "=",
            "--format",
            "json",
            "csv",
            "xml",
            "--point",
            "1",
            "--device",
            "sip:0",
            "sip:99999999999999999999",
            "--mode",
            "time",
            "values",
            "--verify",
            "--check",
            "--rows",
            "-1",
            "99999999999",
            "--ccl-set",
            "defaults.algorithm=auto",
            "defaults.slots=-1",
            "--help",
            "",
            " ",
            "-",
            "--",
            "@x",
            "--param=to=sip9999999999.cube0.pe0",
            "to=sip0.cube0.pe1",
            "--vary",
            "n_elem=1,1",
            "--class-path",
            "/dev/null",
            "nothing.java",
            "-q",
            "--topology",
            "tyni",
            "system.sips.count=99999999999",
            "system.sips.count=0",
            "--bench",
            "dtype=f64");
    String out = directory.resolve("lines").toString();
    for (int i = 0; i < count; i++) {
      List<String> args = new ArrayList<>();
      for (String each : commands.get(random.nextInt(commands.size())).split(" ")) {
        args.add(each.equals("OUT") ? out + i : each);
      }
      for (int more = random.nextInt(5); more > 0; more--) {
        args.add(
            random.nextInt(args.size()) + 1 > args.size() ? 0 : args.size(),
            words.get(random.nextInt(words.size())));
      }
      command("line", new byte[0], args.toArray(String[]::new));
    }
  }

  // ---- spoiling ----

  private static final List<String> ODD =
      List.of(
          "",
          "0",
          "-1",
          "9223372036854775807",
          "9223372036854775808",
          "1e308",
          "NaN",
          "null",
          "~",
          "{}",
          "[]",
          "\"\\0\"",
          "&a [*a]",
          "!!java.net.URL x",
          "9".repeat(500),
          "1 B",
          "1 TB",
          "1 ps",
          "1000000 s",
          "0 B",
          "9223372036854775807 B",
          "9000000 s",
          "1 B/s",
          "auto",
          "machine",
          "../..",
          "/dev/zero",
          "\u2028",
          "\u0001",
          "1.5",
          "1/3",
          "true",
          "2 GHz",
          "65536",
          "1000000");

  private static byte[] spoilt(String text, Random random) {
    String s = text;
    for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
      s =
          switch (random.nextInt(7)) {
            case 0 -> values(s, random, old -> ODD.get(random.nextInt(ODD.size())));
            case 1 ->
                values(s, random, old -> old.replaceAll("\\d+", "" + random.nextInt(1 << 20)));
            case 2 -> lines(s, random, false);
            case 3 -> lines(s, random, true);
            case 4 -> values(s, random, old -> "[" + old + ", " + old + "]");
            case 5 -> values(s, random, old -> "[".repeat(random.nextInt(300)) + old);
            default ->
                new String(
                    spoiltBytes(s.getBytes(StandardCharsets.UTF_8), random),
                    random.nextInt(4) == 0 ? StandardCharsets.ISO_8859_1 : StandardCharsets.UTF_8);
          };
    }
    return s.getBytes(StandardCharsets.UTF_8);
  }

  private static final Pattern VALUE = Pattern.compile("(?<=[:\\[,=] ?)[\\w.%/ ]{1,20}");

  /** Another value in one place. */
  private static String values(String s, Random random, Function<String, String> by) {
    Matcher m = VALUE.matcher(s);
    int from = s.isEmpty() ? 0 : random.nextInt(s.length());
    return m.find(from) || m.find(0)
        ? s.substring(0, m.start()) + by.apply(m.group()) + s.substring(m.end())
        : s;
  }

  /** A line twice, or not at all. */
  private static String lines(String s, Random random, boolean twice) {
    List<String> lines = new ArrayList<>(s.lines().toList());
    if (lines.isEmpty()) {
      return s;
    }
    int at = random.nextInt(lines.size());
    String line = lines.remove(at);
    if (twice) {
      lines.add(random.nextInt(lines.size() + 1), line);
      lines.add(at, line);
    }
    return String.join("\n", lines) + "\n";
  }

  private static byte[] spoiltBytes(byte[] whole, Random random) {
    byte[] bytes = whole.clone();
    for (int changes = 1 + random.nextInt(4); changes > 0 && bytes.length > 0; changes--) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(5)) {
        case 0 -> bytes = Arrays.copyOf(bytes, at);
        case 1 -> bytes[at] = (byte) random.nextInt(256);
        case 2 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
        case 3 -> Arrays.fill(bytes, at, Math.min(bytes.length, at + 4), (byte) -1);
        default -> bytes[at] = (byte) (random.nextBoolean() ? 0 : 0x7F);
      }
    }
    return bytes;
  }
}
