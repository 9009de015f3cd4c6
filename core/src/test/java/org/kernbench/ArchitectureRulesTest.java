package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A rule that cannot fail protects nothing: every rule of {@link ArchitectureTest} meets a small
 * house that is wrong in every room, and must name the wrong line and leave the right ones alone.
 */
@TestInstance(Lifecycle.PER_CLASS)
final class ArchitectureRulesTest {
  /** What is wrong stands in the line; what is right has a name with {@code ok}. */
  private static final List<String> WRONG_HOUSE =
      List.of(
          """
          package org.kernbench.sim;
          public class OpenType {
            public static int[] shared = new int[1];
            static final int[] okTable = {1};
            static final java.util.Map<String, String> okMap = java.util.Map.of();
            static final Integer okBox = 1;
            static int count;
            static final java.util.HashMap<String, String> CACHE = new java.util.HashMap<>();
            static final java.util.concurrent.atomic.AtomicLong TOTAL = null;
            static final ThreadLocal<String> CURRENT = new ThreadLocal<>();
            void arrow() { org.kernbench.tensor.UsesSim.go(); }
            java.util.logging.Logger library() { return null; }
            void print() { System.out.println(); }
            void complain() { new Exception().printStackTrace(); }
            void exit() { System.exit(1); }
            String environment() { return System.getenv("HOME"); }
            long wallClock() { return System.nanoTime(); }
            java.util.function.LongSupplier wallClockByName() { return System::currentTimeMillis; }
            int chance() { return new java.util.Random().nextInt(); }
            double chanceOfMath() { return Math.random(); }
            double power() { return Math.pow(2, 0.5); }
            double okPower() { return StrictMath.pow(2, Math.sqrt(0.5)); }
            int okChance() { return new java.util.Random(42).nextInt(); }
          }
          """,
          """
          package org.kernbench.tensor;
          public final class UsesSim {
            public static void go() { new org.kernbench.sim.OpenType(); }
            jdk.incubator.vector.FloatVector vector;
          }
          """,
          """
          package org.kernbench.tensor;
          public sealed class okSealed permits okSealed.Only {
            static final class Only extends okSealed {}
          }
          """,
          """
          package org.kernbench.tensor;
          public final class Holding { public record Holder(int[] cells, long okCount) {} }
          """,
          """
          package org.kernbench.tensor;
          final class VectorGemm {
            jdk.incubator.vector.FloatVector okVector;
            tools.jackson.core.JsonParser okJson;
          }
          """,
          """
          package org.kernbench.config;
          public final class UsesCsv {
            de.siegmar.fastcsv.reader.CsvReader<String> csv;
            org.snakeyaml.engine.v2.api.Load okYaml;
          }
          """,
          """
          package org.kernbench.machine;
          public final class UsesClock {
            Object clock() { return new org.kernbench.sim.OpenType(); }
            org.kernbench.sim.Rate okRate;
            org.snakeyaml.engine.v2.api.Load yaml;
          }
          """,
          """
          package org.kernbench.device;
          final class UsesConfig { org.kernbench.config.UsesCsv config; org.kernbench.sim.Rate okRate; }
          """,
          """
          package org.kernbench.device.reuse;
          public final class UsesTensor {
            org.kernbench.tensor.Holding held;
            org.kernbench.sim.Rate okRate;
          }
          """,
          """
          package org.kernbench.tl;
          final class UsesMachine {
            org.kernbench.config.UsesCsv config;
            org.kernbench.machine.UsesClock clock;
            org.kernbench.machine.Pe okPlace;
            org.kernbench.machine.Pe[] okPlaces;
          }
          """,
          """
          package org.kernbench.torch;
          final class UsesCollective {
            org.kernbench.ccl.UsesClock collective;
            org.kernbench.sim.OpenType clock;
            org.kernbench.sim.Coroutine okBaton;
          }
          """,
          """
          package org.kernbench.ccl;
          public final class UsesClock {
            org.kernbench.sim.OpenType clock;
            org.kernbench.sim.Rate okRate;
            de.siegmar.fastcsv.reader.CsvReader<String> csv;
          }
          """,
          """
          package org.kernbench.nn;
          final class UsesAlgorithm { org.kernbench.ccl.UsesClock algorithm; }
          """,
          """
          package org.kernbench.eval;
          public final class UsesTerminal {
            picocli.CommandLine terminal;
            org.snakeyaml.engine.v2.api.Load yaml;
            tools.jackson.core.JsonParser json;
          }
          """,
          """
          package org.kernbench.cli;
          final class UsesEngine {
            org.kernbench.sim.Rate engine;
            org.kernbench.eval.UsesTerminal okEval;
            void okPrint() { System.out.println(); }
          }
          """);

  @TempDir static Path classes;
  private JavaClasses wrongHouse;
  private URLClassLoader loader;
  private ClassLoader before;

  @BeforeAll
  void build() throws IOException {
    compile(WRONG_HOUSE);
    wrongHouse = new ClassFileImporter().importPath(classes);
    // The rule on closed types asks the class itself whether it is sealed.
    before = Thread.currentThread().getContextClassLoader();
    loader = new URLClassLoader(new URL[] {classes.toUri().toURL()}, before);
    Thread.currentThread().setContextClassLoader(loader);
  }

  @AfterAll
  void tearDown() throws IOException {
    Thread.currentThread().setContextClassLoader(before);
    loader.close();
  }

  static Stream<Arguments> rules() {
    return Stream.of(
        arguments("sim_usesNothing", List.of("OpenType.arrow", "OpenType.library")),
        arguments("tensor_usesNothing", List.of("UsesSim.go")),
        arguments("config_usesOnlyTheYamlParser", List.of("UsesCsv.csv")),
        arguments("machine_isADescription", List.of("UsesClock.yaml")),
        arguments("machine_takesOnlyRatesFromSim", List.of("UsesClock.clock")),
        arguments("device_knowsNoKernelLanguage", List.of("UsesConfig.config")),
        arguments("reuse_isBelowDevice", List.of("UsesTensor.held")),
        arguments("reuse_showsItsDoorOnly", List.of("reuse.UsesTensor")),
        arguments("tl_knowsNoHost", List.of("UsesMachine.config")),
        arguments("tl_takesOnlyPlacesFromMachine", List.of("UsesMachine.clock")),
        arguments("torch_knowsNoAlgorithm", List.of("UsesCollective.collective")),
        arguments("torch_takesOnlyCoroutinesFromSim", List.of("UsesCollective.clock")),
        arguments("ccl_plugsIntoTorch", List.of("ccl.UsesClock.csv")),
        arguments("ccl_takesOnlyRatesFromSim", List.of("ccl.UsesClock.clock")),
        arguments("nn_trainsThroughTorch", List.of("UsesAlgorithm.algorithm")),
        arguments("yamlTypes_stayInConfig", List.of("UsesTerminal.yaml", "UsesClock.yaml")),
        arguments("jsonTypes_stayWhereFilesAreReadAndWritten", List.of("UsesTerminal.json")),
        arguments("eval_knowsNoTerminal", List.of("UsesTerminal.terminal")),
        arguments("cli_isUsedByNobody", List.of("UsesTerminal.terminal")),
        arguments("cli_asksEvalForResults", List.of("UsesEngine.engine")),
        arguments("rooms_haveNoCycles", List.of("Slice sim -> ")),
        arguments(
            "onlyCli_printsExitsOrReadsTheEnvironment",
            List.of(
                "OpenType.print", "OpenType.complain", "OpenType.exit", "OpenType.environment")),
        arguments(
            "model_readsNoWallClock", List.of("OpenType.wallClock()", "OpenType.wallClockByName")),
        arguments(
            "model_hasNoUnseededRandomness", List.of("OpenType.chance()", "OpenType.chanceOfMath")),
        arguments("functions_areThoseOfStrictMath", List.of("OpenType.power()")),
        arguments(
            "static_stateIsConstant",
            List.of(
                "OpenType.shared",
                "OpenType.count",
                "OpenType.CACHE",
                "OpenType.TOTAL",
                "OpenType.CURRENT")),
        arguments("incubatorModules_sitBehindTheVectorClasses", List.of("tensor.UsesSim.vector")),
        arguments("publicTypes_areClosed", List.of("sim.OpenType")),
        arguments("publicRecords_holdNoArrays", List.of("Holder.cells")),
        arguments("packages_saySoThemselves", List.of("sim.OpenType", "eval.UsesTerminal")));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("rules")
  void rule_wrongHouse_namesWhatIsWrongAndNothingElse(String name, List<String> wrong)
      throws ReflectiveOperationException {
    String report = rule(name).evaluate(wrongHouse).getFailureReport().toString();

    assertThat(report).contains(wrong);
    if (!name.equals("packages_saySoThemselves")) {
      // Members with ok in their name, however they are reached: okRate, Rules.okChance, okSealed.
      assertThat(report.lines().filter(line -> line.matches(".*[.>]ok[A-Z]\\w*.* in \\(.*")))
          .isEmpty();
    }
  }

  /** A room that was renamed or has gone takes its rules with it, or they fail. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("rules")
  void rule_nothingToLookAt_fails(String name, List<String> unused)
      throws ReflectiveOperationException {
    ArchRule rule = rule(name);
    JavaClasses nothing = new ClassFileImporter().importClasses();

    assertThatThrownBy(() -> rule.check(nothing))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("failed to check any");
  }

  @Test
  void rules_all_areTriedHere() {
    Set<String> declared =
        Stream.of(ArchitectureTest.class.getDeclaredFields())
            .filter(field -> field.getType() == ArchRule.class)
            .map(Field::getName)
            .collect(Collectors.toSet());

    assertThat(rules().map(arguments -> (String) arguments.get()[0]).collect(Collectors.toSet()))
        .isEqualTo(declared);
  }

  private static ArchRule rule(String name) throws ReflectiveOperationException {
    Field field = ArchitectureTest.class.getDeclaredField(name);
    return (ArchRule) field.get(null);
  }

  private static void compile(List<String> sources) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter complaints = new StringWriter();
    boolean done =
        compiler
            .getTask(
                complaints,
                null,
                null,
                List.of(
                    "-d",
                    classes.toString(),
                    "-proc:none",
                    "--add-modules",
                    "jdk.incubator.vector"),
                null,
                sources.stream().map(ArchitectureRulesTest::source).toList())
            .call();
    if (!done) {
      throw new UncheckedIOException(new IOException(complaints.toString()));
    }
  }

  private static JavaFileObject source(String text) {
    String name = text.replaceAll("(?s).*?(?:class) (\\w+).*", "$1");
    return new SimpleJavaFileObject(
        URI.create("string:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
      @Override
      public CharSequence getCharContent(boolean ignoreEncodingErrors) {
        return text;
      }
    };
  }
}
