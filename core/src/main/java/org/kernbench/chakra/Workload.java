package org.kernbench.chakra;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UserFile;

/** The traces of all ranks of one run, and its process groups. */
public final class Workload {
  private static final int LARGEST_FILE = 1 << 30;

  /** Nodes of a rank last no longer, a quarter of what a time can be. */
  private static final long LONGEST_PS = Long.MAX_VALUE / 4;

  private static final String EXPECTED = "a Chakra trace, as protobuf, gzip or JSON";
  private static final Pattern NAME = Pattern.compile("(.*)\\.(\\d{1,8})\\.(et|json)(\\.gz)?");
  private static final int GZIP = 0x8b1f;

  private final List<RankTrace> traces;
  private final Map<String, List<Integer>> groups;
  private final Repairs repairs;

  private Workload(List<RankTrace> traces, Map<String, List<Integer>> groups, Repairs repairs) {
    this.traces = List.copyOf(traces);
    this.groups = groups;
    this.repairs = repairs;
  }

  /**
   * Reads the files {@code name.<rank>.et} (or {@code .json}, or either with {@code .gz}) of all
   * ranks from 0 on.
   *
   * @param from {@code folder/name}, one of the files, or a folder that holds one set of them
   * @param groups file {@code {"1": [ranks], ..}}; empty: {@code name.groups.json} if it is there
   * @throws TraceException if they cannot be read, with the file and the place in it
   */
  public static Workload load(String from, Optional<String> groups) {
    Found found = find(path(from));
    Repairs repairs = new Repairs();
    List<RankTrace> traces = new ArrayList<>();
    found.files.forEach((rank, file) -> {
      if (rank != traces.size()) {
        throw new TraceException(
            "%s: there is rank %s, but no file of rank %s; expected the ranks from 0 on without a gap"
                .formatted(file, rank, traces.size()));
      }
      traces.add(new RankTrace(rank, file.toString(), nodes(file, rank, repairs)));
    });
    Optional<Path> file =
        groups.map(Workload::path).or(() -> Optional.of(found.groups).filter(Files::exists));
    return of(traces, file.map(f -> groups(f, traces.size())).orElse(Map.of()), repairs);
  }

  /** Traces that exist already, of ranks 0 to one less than there are. */
  static Workload of(List<RankTrace> traces, Map<String, List<Integer>> groups, Repairs repairs) {
    return new Workload(traces, Collections.unmodifiableMap(new LinkedHashMap<>(groups)), repairs);
  }

  /** By rank. */
  public List<RankTrace> traces() {
    return traces;
  }

  /** Ranks of each process group by its name, in the order of the file. */
  public Map<String, List<Integer>> groups() {
    return groups;
  }

  /** What was mended so far. */
  public Repairs repairs() {
    return repairs;
  }

  // ---- files ----

  private record Found(SortedMap<Integer, Path> files, Path groups) {}

  private static Path path(String name) {
    try {
      return UserFile.path(name);
    } catch (UnreadableException e) {
      throw new TraceException("\"" + name + "\" " + e.getMessage());
    }
  }

  private static Found find(Path from) {
    boolean isFolder = Files.isDirectory(from);
    Path folder = isFolder ? from : Optional.ofNullable(from.getParent()).orElse(Path.of(""));
    String name = isFolder ? "" : String.valueOf(from.getFileName());
    Matcher one = NAME.matcher(name);
    String wanted = one.matches() ? one.group(1) : name;
    SortedMap<Integer, Path> files = new TreeMap<>();
    TreeSet<String> names = new TreeSet<>();
    try (DirectoryStream<Path> all =
        Files.newDirectoryStream(folder.toString().isEmpty() ? Path.of(".") : folder)) {
      for (Path each : all) {
        Matcher m = NAME.matcher(each.getFileName().toString());
        if (m.matches() && (isFolder || m.group(1).equals(wanted))) {
          names.add(m.group(1));
          Path other = files.put(Integer.parseInt(m.group(2)), folder.resolve(each.getFileName()));
          if (other != null && names.size() == 1) {
            throw new TraceException(
                "%s and %s are of one rank; expected one file for each rank"
                    .formatted(other, each.getFileName()));
          }
        }
      }
    } catch (IOException e) {
      throw new TraceException(
          folder + ": no such folder; expected one with files name.0.et, name.1.et, ..");
    }
    if (names.size() > 1) {
      throw new TraceException(
          "%s: has traces of several runs: %s; expected folder/name of one"
              .formatted(folder, String.join(", ", names)));
    }
    if (files.isEmpty()) {
      throw new TraceException(
          "%s: no trace; expected files %s.0.et, %s.1.et, .. (or .json, or .gz)"
              .formatted(from, isFolder ? "name" : wanted, isFolder ? "name" : wanted));
    }
    return new Found(files, folder.resolve(names.first() + ".groups.json"));
  }

  private static List<TraceNode> nodes(Path file, int rank, Repairs repairs) {
    byte[] bytes = bytes(file);
    try (InputStream in = unpacked(bytes)) {
      if (file.toString().contains(".json")) {
        byte[] text = in.readNBytes(LARGEST_FILE);
        return checked(
            file,
            JsonTraceReader.read(
                new String(text, StandardCharsets.UTF_8), file.toString(), rank, repairs));
      }
      return checked(file, ProtoTraceReader.read(in, file.toString(), rank, repairs));
    } catch (IOException e) {
      throw new TraceException(
          "%s: cannot be unpacked (%s); expected %s"
              .formatted(
                  file, Optional.ofNullable(e.getMessage()).orElse("it ends early"), EXPECTED));
    }
  }

  /** All of them one after the other must be a time that can be held, with others added. */
  private static List<TraceNode> checked(Path file, List<TraceNode> nodes) {
    long left = LONGEST_PS;
    for (TraceNode node : nodes) {
      left -= node.durationPs();
      if (left < 0) {
        throw new TraceException(
            "%s: its nodes last longer than %s days, one after the other"
                .formatted(file, TimeUnit.SECONDS.toDays(LONGEST_PS / 1_000_000_000_000L)));
      }
    }
    return nodes;
  }

  private static byte[] bytes(Path file) {
    try {
      return UserFile.bytes(file, LARGEST_FILE, EXPECTED);
    } catch (UnreadableException e) {
      throw new TraceException(file + ": " + e.getMessage());
    }
  }

  private static InputStream unpacked(byte[] bytes) throws IOException {
    InputStream in = new ByteArrayInputStream(bytes);
    boolean isPacked =
        bytes.length >= 2 && (Byte.toUnsignedInt(bytes[1]) << 8 | (bytes[0] & 0xff)) == GZIP;
    return isPacked ? new Bounded(new GZIPInputStream(in)) : in;
  }

  /** A stream that ends in an error where a file that unpacks into very much would go on. */
  private static final class Bounded extends java.io.FilterInputStream {
    private long left = LARGEST_FILE;

    Bounded(InputStream in) {
      super(in);
    }

    @Override
    public int read() throws IOException {
      int b = super.read();
      count(b < 0 ? 0 : 1);
      return b;
    }

    @Override
    public int read(byte[] to, int from, int length) throws IOException {
      int n = super.read(to, from, length);
      count(Math.max(0, n));
      return n;
    }

    private void count(int n) throws IOException {
      left -= n;
      if (left < 0) {
        throw new IOException("more than 1 GiB when unpacked");
      }
    }
  }

  // ---- groups ----

  private static Map<String, List<Integer>> groups(Path file, int ranks) {
    Object json = JsonTree.read(new String(bytes(file), StandardCharsets.UTF_8), file.toString());
    if (!(json instanceof Map<?, ?> map)) {
      throw new TraceException(file + ": expected {\"name\": [ranks], ..}");
    }
    Map<String, List<Integer>> groups = new LinkedHashMap<>();
    map.forEach(
        (name, members) -> groups.put(String.valueOf(name), members(file, name, members, ranks)));
    List<Integer> zero = groups.get("0");
    if (zero != null && zero.size() < ranks) {
      throw new TraceException(
          "%s: group 0: has ranks %s; in a trace \"0\" means all %s; expected all of them, or another name there and here"
              .formatted(file, zero, ranks));
    }
    return groups;
  }

  private static List<Integer> members(Path file, Object name, Object members, int ranks) {
    TreeSet<Integer> sorted = new TreeSet<>();
    if (members instanceof List<?> list && !list.isEmpty()) {
      for (Object each : list) {
        if (!(each instanceof Long rank)
            || rank < 0
            || rank >= ranks
            || !sorted.add(rank.intValue())) {
          throw new TraceException(
              "%s: group %s: rank %s; expected each once, 0 to %s, as there are %s traces"
                  .formatted(file, name, each, ranks - 1, ranks));
        }
      }
      return List.copyOf(sorted);
    }
    throw new TraceException(
        "%s: group %s: is %s; expected a list of ranks".formatted(file, name, members));
  }
}
