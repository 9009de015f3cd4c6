package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.Trees;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What {@code scripts/mutants} may draw from a source: all but what means the same by its form
 * alone, and the neighbours of that, which do not.
 */
final class MutationFinderTest {
  private static final JavaCompiler JAVAC = ToolProvider.getSystemJavaCompiler();

  @TempDir Path folder;
  private Class<?> finder;

  @BeforeEach
  void compileTheTool() throws Exception {
    Path sources = House.ROOT.resolve("scripts/mutation");
    StringWriter messages = new StringWriter();
    try (StandardJavaFileManager files = JAVAC.getStandardFileManager(null, null, null)) {
      Iterable<? extends JavaFileObject> tool =
          files.getJavaFileObjects(
              sources.resolve("Mutation.java"), sources.resolve("MutationFinder.java"));
      List<String> options = List.of("-proc:none", "-d", folder.toString());
      assertThat(JAVAC.getTask(messages, files, null, options, null, tool).call())
          .as(messages.toString())
          .isTrue();
    }
    URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()});
    finder = loader.loadClass("mutation.MutationFinder");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "private static final long serialVersionUID = 1L;",
        "List<String> a = new ArrayList<>(2);",
        "Object a = new java.util.ArrayList<>();",
        "Object a = new ArrayDeque<String>(8);",
        "StringBuilder a = new StringBuilder(120);",
        "int hashCode() { return 31 * a + 7; }",
      })
  void find_sameByForm_isNotDrawn(String member) throws Exception {
    assertThat(changes(member)).isEmpty();
  }

  @Test
  void find_roomThatIsComputed_hasItsOperatorsAlone() throws Exception {
    // 2 * n may become 2 / n, which fails for none; more room than twice changes nothing
    assertThat(changes("Object a = new ArrayList<>(2 * n);")).containsExactly("*  ->  /");
    assertThat(changes("Object a = new HashMap<>(n + 1);")).containsExactly("+  ->  -");
    assertThat(changes("Object a = new ArrayList<>(n - 1);"))
        .containsExactlyInAnyOrder("-  ->  +", "1  ->  0");
    assertThat(changes("Object a = new LinkedHashMap<>(16, 0.75f, true);"))
        .contains("true  ->  false")
        .noneMatch(change -> change.startsWith("16  ->"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "private static final long VERSION = 1L;",
        "Object a = new ArrayList<>(List.of(2));",
        "Object a = new Semaphore(1);",
        "Object a = new int[3];",
        "Object a = new ArrayList<>(4) {};",
      })
  void find_whatOnlyLooksLikeIt_isDrawn(String member) throws Exception {
    assertThat(changes(member)).isNotEmpty();
  }

  private List<String> changes(String member) throws Exception {
    String source = "class A {\n  " + member + "\n}\n";
    JavaFileObject file =
        new SimpleJavaFileObject(URI.create("string:///A.java"), JavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return source;
          }
        };
    JavacTask task =
        (JavacTask) JAVAC.getTask(null, null, null, List.of("-proc:none"), null, List.of(file));
    Method find =
        finder.getDeclaredMethod(
            "find", String.class, String.class, CompilationUnitTree.class, SourcePositions.class);
    find.setAccessible(true);
    List<String> changes = new ArrayList<>();
    for (CompilationUnitTree unit : task.parse()) {
      SourcePositions positions = Trees.instance(task).getSourcePositions();
      for (Object mutation : (List<?>) find.invoke(null, "A.java", source, unit, positions)) {
        Method change = mutation.getClass().getDeclaredMethod("change");
        change.setAccessible(true);
        changes.add((String) change.invoke(mutation));
      }
    }
    return changes;
  }
}
