import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.constantpool.Utf8Entry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/**
 * Measures the house: types, public share and largest circle of each room, lengths of methods, long
 * files. Arguments: a folder of sources and one of the classes that were compiled from them.
 */
public final class HouseFigures {
  private static final String ROOT = "org/kernbench/";
  private static final Pattern TYPE = Pattern.compile(ROOT + "[a-z/]+[A-Z][A-Za-z0-9]*");
  private static final int LONG_FILE = 400;

  private final Map<String, Set<String>> uses = new TreeMap<>();
  private final Set<String> open = new HashSet<>();
  private final List<Integer> methods = new ArrayList<>();

  private HouseFigures() {}

  public static void main(String[] args) throws IOException {
    HouseFigures house = new HouseFigures();
    List<Path> sources = files(Path.of(args[0]), ".java");
    house.readClasses(Path.of(args[1]));
    house.readSources(sources);
    house.print(sources);
  }

  private static List<Path> files(Path folder, String ending) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(f -> f.toString().endsWith(ending)).sorted().toList();
    }
  }

  /** A class without what is nested in it. */
  private static String outermost(String name) {
    int nested = name.indexOf('$');
    return nested < 0 ? name : name.substring(0, nested);
  }

  private static String room(String type) {
    return type.substring(ROOT.length(), type.lastIndexOf('/')).replace('/', '.');
  }

  // ---- classes: who uses whom ----

  private void readClasses(Path folder) throws IOException {
    for (Path file : files(folder, ".class")) {
      ClassModel model = ClassFile.of().parse(file);
      String name = model.thisClass().asInternalName();
      if (!name.startsWith(ROOT)
          || name.endsWith("-info")
          || !TYPE.matcher(outermost(name)).matches()) {
        continue;
      }
      Set<String> targets = uses.computeIfAbsent(outermost(name), t -> new HashSet<>());
      for (PoolEntry entry : model.constantPool()) {
        String text =
            switch (entry) {
              case ClassEntry c -> c.asInternalName();
              case Utf8Entry u when u.stringValue().contains("L" + ROOT) -> u.stringValue();
              default -> "";
            };
        Matcher type = TYPE.matcher(text);
        while (type.find()) {
          targets.add(type.group());
        }
      }
      if (name.equals(outermost(name)) && model.flags().has(java.lang.reflect.AccessFlag.PUBLIC)) {
        open.add(name);
      }
    }
  }

  private int largestCircle(Set<String> room) {
    Map<String, Set<String>> reached = new HashMap<>();
    for (String type : room) {
      Set<String> seen = new HashSet<>();
      List<String> open = new ArrayList<>(List.of(type));
      while (!open.isEmpty()) {
        for (String target : uses.get(open.removeLast())) {
          if (room.contains(target) && seen.add(target)) {
            open.add(target);
          }
        }
      }
      reached.put(type, seen);
    }
    return room.stream()
        .mapToInt(t ->
            (int)
                reached.get(t).stream()
                    .filter(o -> o.equals(t) || reached.get(o).contains(t))
                    .count())
        .map(n -> Math.max(n, 1))
        .max()
        .orElse(0);
  }

  // ---- sources: lengths ----

  private void readSources(List<Path> sources) throws IOException {
    var compiler = ToolProvider.getSystemJavaCompiler();
    var manager = compiler.getStandardFileManager(null, null, null);
    JavacTask task =
        (JavacTask)
            compiler.getTask(
                null,
                manager,
                d -> {},
                List.of(),
                null,
                manager.getJavaFileObjectsFromPaths(sources));
    var positions = Trees.instance(task).getSourcePositions();
    for (CompilationUnitTree unit : task.parse()) {
      new TreeScanner<Void, Void>() {
        @Override
        public Void visitMethod(MethodTree method, Void none) {
          if (method.getBody() != null) {
            var lines = unit.getLineMap();
            long from = lines.getLineNumber(positions.getStartPosition(unit, method.getBody()));
            long to = lines.getLineNumber(positions.getEndPosition(unit, method.getBody()));
            methods.add((int) (to - from + 1));
          }
          return super.visitMethod(method, none);
        }
      }.scan(unit, null);
    }
    methods.sort(null);
  }

  private int method(double share) {
    return methods.get((int) Math.ceil(share * methods.size()) - 1);
  }

  private void print(List<Path> sources) throws IOException {
    Map<String, Set<String>> rooms = new TreeMap<>();
    uses.keySet()
        .forEach(type -> rooms.computeIfAbsent(room(type), r -> new HashSet<>()).add(type));
    System.out.println("| room | types | public | largest circle |");
    System.out.println("| --- | --- | --- | --- |");
    rooms.forEach((room, types) -> {
      long shown = types.stream().filter(open::contains).count();
      System.out.printf(
          "| `%s` | %d | %.0f %% | %d |%n",
          room, types.size(), 100.0 * shown / types.size(), largestCircle(types));
    });
    long shown = uses.keySet().stream().filter(open::contains).count();
    System.out.printf(
        "| all %d | %d | %.0f %% | |%n", rooms.size(), uses.size(), 100.0 * shown / uses.size());
    System.out.printf(
        "%nMethods: %d; lines at 50, 90 and 99 of 100: %d, %d, %d.%n",
        methods.size(), method(0.5), method(0.9), method(0.99));
    List<String> longest = new ArrayList<>();
    for (Path file : sources) {
      long lines = Files.lines(file).count();
      if (lines > LONG_FILE) {
        longest.add(file.getFileName().toString().replace(".java", "") + " " + lines);
      }
    }
    System.out.printf(
        "Files over %d lines: %d (%s).%n", LONG_FILE, longest.size(), String.join(", ", longest));
  }
}
