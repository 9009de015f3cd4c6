package mutation;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;

/** Which tests reach which lines, as it was found by running them once. */
final class Coverage {
  /** A test: one method, or one case of a parameterised one. */
  record Leaf(String testClass, String id, int ms) {
    String room() {
      String[] names = testClass.split("\\.");
      return names[2];
    }

    /** Class and method, and the number of the case. */
    String name() {
      return testClass.substring(testClass.lastIndexOf('.') + 1) + "#" + nameOf(id);
    }
  }

  static String nameOf(String id) {
    return id.replaceFirst("^.*?\\[(method|test-template|test-factory|field):", "")
        .replaceAll("\\(.*?\\)", "")
        .replace("]/[test-template-invocation:", " ")
        .replace("]/[dynamic-test:", " ")
        .replaceAll("]$", "");
  }

  private record Reached(Leaf leaf, BitSet lines) {}

  /** What was reached while files had other contents than now counts for the whole file. */
  private final List<Reached> tests = new ArrayList<>();

  private final Map<String, BitSet> idsOfFile = new HashMap<>();
  private final Map<String, Integer> ids = new HashMap<>();
  private final List<String> red = new ArrayList<>();

  Coverage(List<String> lines) {
    for (String line : lines) {
      ids.put(line, ids.size());
      String file = line.substring(0, line.indexOf(':'));
      idsOfFile.computeIfAbsent(file, key -> new BitSet()).set(ids.get(line));
    }
  }

  /** Adds the tests of a class, from the file that {@link TestRuns} wrote. */
  void read(Path file) throws IOException {
    try (var in = new DataInputStream(new GZIPInputStream(Files.newInputStream(file)))) {
      int count = in.readInt();
      for (int i = 0; i < count; i++) {
        Leaf leaf = new Leaf(file.getFileName().toString(), in.readUTF(), in.readInt());
        boolean green = in.readBoolean();
        BitSet lines = BitSet.valueOf(in.readNBytes(in.readInt()));
        if (green) {
          tests.add(new Reached(leaf, lines));
        } else {
          red.add(leaf.name());
        }
      }
    }
  }

  /**
   * Lines of a room that no test reaches, or none of the room itself: {@code
   * ccl/bounds/Cuts.java:12}.
   */
  List<String> unreached(String room, boolean byItself) {
    BitSet all = new BitSet();
    for (Reached test : tests) {
      if (!byItself || test.leaf.room().equals(room)) {
        all.or(test.lines);
      }
    }
    return ids.entrySet().stream()
        .filter(e -> e.getKey().startsWith(room + "/") && !all.get(e.getValue()))
        .map(Map.Entry::getKey)
        .toList();
  }

  int size() {
    return tests.size();
  }

  /** Tests that fail without any change; they are left out. */
  List<String> red() {
    return red;
  }

  /** The tests that reach a change: those of its room first, then nearest and quickest classes. */
  List<Leaf> reaching(Mutation m, boolean wholeFile) {
    BitSet wanted = new BitSet();
    if (wholeFile || m.runsOnce()) {
      wanted.or(idsOfFile.getOrDefault(m.file(), new BitSet()));
    } else {
      for (int line = m.firstLine(); line <= m.lastLine(); line++) {
        Integer id = ids.get(m.file() + ":" + line);
        if (id != null) {
          wanted.set(id);
        }
      }
    }
    List<Leaf> found =
        new ArrayList<>(
            tests.stream().filter(t -> t.lines.intersects(wanted)).map(Reached::leaf).toList());
    Map<String, Integer> msOfClass = new HashMap<>();
    found.forEach(t -> msOfClass.merge(t.testClass, t.ms + 1, Integer::sum));
    found.sort(
        Comparator.comparing((Leaf t) -> !t.room().equals(m.room()))
            .thenComparing(t -> distance(t, m))
            .thenComparing(t -> msOfClass.get(t.testClass))
            .thenComparing(Leaf::testClass));
    return found;
  }

  private static int distance(Leaf test, Mutation m) {
    String tested = test.testClass.replaceFirst(".*\\.", "").replaceFirst("Test$", "");
    String changed = m.file().replaceFirst(".*/", "").replaceFirst("\\.java$", "");
    if (tested.equals(changed)) {
      return 0;
    }
    return tested.contains(changed) || changed.contains(tested) ? 1 : 2;
  }
}
