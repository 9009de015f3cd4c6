package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.tree.CaseTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.SwitchExpressionTree;
import com.sun.source.tree.SwitchTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.Modifier;
import javax.lang.model.element.TypeElement;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;

/**
 * A switch over an enumeration or a sealed type names every case: a new constant then fails to
 * compile where it has to be decided, and is not taken for whatever stood last.
 */
final class ClosedSwitchTest {
  private static final Path SOURCES = Path.of("src/main/java");

  /** What every such switch has in its text; other files are not compiled for this. */
  private static final Pattern DEFAULT = Pattern.compile("\\bdefault\\s*(->|:)");

  /**
   * How many such switches a class may have; only ever fewer. The kernels of {@code tensor} divide
   * the operations among themselves, so that each loop is compiled on its own, and refuse what is
   * another's. Whatever operation there will be keeps its engine for as long as it takes, but where
   * {@code CostModel} says otherwise. {@code ResultStore} asks for a few of SQLite's hundred codes.
   */
  private static final Map<String, Integer> ALLOWED =
      new TreeMap<>(
          Map.of(
              "org/kernbench/device/log/CostModel.java", 1,
              "org/kernbench/eval/sweep/ResultStore.java", 1,
              "org/kernbench/tensor/CodeTable.java", 1,
              "org/kernbench/tensor/FloatKernels.java", 2,
              "org/kernbench/tensor/IntKernels.java", 1,
              "org/kernbench/tensor/LongKernels.java", 1,
              "org/kernbench/tensor/QuickFunctions.java", 3,
              "org/kernbench/tensor/RealFunctions.java", 1,
              "org/kernbench/tensor/ScalarNumerics.java", 1));

  @Test
  void defaults_overClosedSets_areOnlyThoseOnTheList() throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.walk(SOURCES)) {
      files = all.filter(f -> f.toString().endsWith(".java")).sorted().toList();
    }
    List<String> found =
        defaults(
            files.stream()
                .filter(ClosedSwitchTest::hasDefault)
                .map(ClosedSwitchTest::source)
                .toList());
    Map<String, Integer> counts = new TreeMap<>();
    for (String place : found) {
      counts.merge(place.substring(0, place.indexOf(':')), 1, Integer::sum);
    }
    assertThat(counts).as(String.join("\n", found)).isEqualTo(ALLOWED);
  }

  @Test
  void defaultOverAnEnumOrASealedType_isFound_overTextOrNumbersNot() throws IOException {
    String text =
        """
        class Wrong {
          enum E { A, B }
          sealed interface S { record X() implements S {} record Y() implements S {} }
          int ofEnum(E e) { return switch (e) { case A -> 1; default -> 2; }; }
          void statement(E e) { switch (e) { case A: break; default: break; } }
          int ofSealed(S s) { return switch (s) { case S.X x -> 1; default -> 2; }; }
          int full(E e) { return switch (e) { case A -> 1; case B -> 2; }; }
          int ofText(String s) { return switch (s) { case "a" -> 1; default -> 2; }; }
          int ofNumber(int i) { return switch (i) { case 1 -> 1; default -> 2; }; }
        }
        """;
    assertThat(defaults(List.of(source("Wrong.java", text))))
        .containsExactly("Wrong.java: 4", "Wrong.java: 5", "Wrong.java: 6");
  }

  private static boolean hasDefault(Path file) {
    return DEFAULT.matcher(text(file)).find();
  }

  private static JavaFileObject source(Path file) {
    return source(SOURCES.relativize(file).toString(), text(file));
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static JavaFileObject source(String name, String text) {
    return new SimpleJavaFileObject(URI.create("string:///" + name), JavaFileObject.Kind.SOURCE) {
      @Override
      public CharSequence getCharContent(boolean ignoreEncodingErrors) {
        return text;
      }
    };
  }

  /** File and line of each default of a switch over a closed set. */
  private static List<String> defaults(List<JavaFileObject> sources) throws IOException {
    List<String> options =
        List.of(
            "-proc:none",
            "-nowarn",
            "--add-modules",
            "jdk.incubator.vector",
            "-cp",
            System.getProperty("java.class.path"));
    JavacTask task =
        (JavacTask)
            ToolProvider.getSystemJavaCompiler()
                .getTask(null, null, diagnostic -> {}, options, null, sources);
    Trees trees = Trees.instance(task);
    List<CompilationUnitTree> units = new ArrayList<>();
    task.parse().forEach(units::add);
    task.analyze();
    List<String> found = new ArrayList<>();
    for (CompilationUnitTree unit : units) {
      new Finder(trees, unit, found).scan(unit, null);
    }
    return found;
  }

  private static final class Finder extends TreePathScanner<Void, Void> {
    private final Trees trees;
    private final CompilationUnitTree unit;
    private final List<String> found;

    Finder(Trees trees, CompilationUnitTree unit, List<String> found) {
      this.trees = trees;
      this.unit = unit;
      this.found = found;
    }

    @Override
    public Void visitSwitch(SwitchTree tree, Void none) {
      check(tree.getExpression(), tree.getCases());
      return super.visitSwitch(tree, none);
    }

    @Override
    public Void visitSwitchExpression(SwitchExpressionTree tree, Void none) {
      check(tree.getExpression(), tree.getCases());
      return super.visitSwitchExpression(tree, none);
    }

    private void check(ExpressionTree selector, List<? extends CaseTree> cases) {
      boolean hasDefault =
          cases.stream()
              .flatMap(c -> c.getLabels().stream())
              .anyMatch(label -> label.getKind() == Tree.Kind.DEFAULT_CASE_LABEL);
      if (hasDefault && isClosed(selector)) {
        long line =
            unit.getLineMap()
                .getLineNumber(trees.getSourcePositions().getStartPosition(unit, selector));
        found.add(unit.getSourceFile().getName().replaceFirst("^/", "") + ": " + line);
      }
    }

    private boolean isClosed(ExpressionTree selector) {
      ExpressionTree bare = selector;
      while (bare instanceof com.sun.source.tree.ParenthesizedTree p) {
        bare = p.getExpression();
      }
      var type = trees.getTypeMirror(new TreePath(getCurrentPath(), bare));
      return type instanceof javax.lang.model.type.DeclaredType declared
          && declared.asElement() instanceof TypeElement element
          && (element.getKind() == ElementKind.ENUM
              || element.getModifiers().contains(Modifier.SEALED));
    }
  }
}
