package org.kernbench;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.core.domain.properties.CanBeAnnotated.Predicates.annotatedWith;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.core.importer.ImportOption.OnlyIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;

/**
 * The plan of the house, as rules: which room may use which, and what no room may do.
 *
 * <p>The plan itself is {@code docs/adr/0010-build-layout.md} and the map in {@code docs/house.md}.
 * An exception to a rule is written beside the rule, with its reason.
 */
@AnalyzeClasses(packages = "org.kernbench", importOptions = DoNotIncludeTests.class)
final class ArchitectureTest {
  private static final String ROOT = "org.kernbench.";

  /** Those who may name the module of vectors. */
  private static final Set<String> VECTOR_CLASSES =
      Set.of(ROOT + "tensor.VectorGemm", ROOT + "tensor.VectorBlocks");

  /** Rooms that decide what a simulation computes: everything below {@code eval}. */
  private static final String[] MODEL_ROOMS =
      rooms("sim", "tensor", "config", "machine", "device", "tl", "torch", "ccl", "nn");

  // Arrows ---------------------------------------------------------------------------------------

  @ArchTest
  static final ArchRule sim_usesNothing =
      room("sim")
          .because(
              "the clock and the event queue must be readable and testable without any device");

  @ArchTest
  static final ArchRule tensor_usesNothing =
      room("tensor", "tools.jackson.core")
          .because("numbers and their rounding are a leaf: every mode and every room shares them");

  @ArchTest
  static final ArchRule config_usesOnlyTheYamlParser =
      room("config", "org.snakeyaml.engine")
          .because("machine and ccl bind their files with it, so it can know neither of them");

  @ArchTest
  static final ArchRule yamlTypes_stayInConfig =
      noClasses()
          .that(resideOutsideOfPackage(ROOT + "config.."))
          .should()
          .dependOnClassesThat(resideInAPackage("org.snakeyaml.."))
          .because("one style of message for every file: nobody else reads YAML (ADR 0009)");

  @ArchTest
  static final ArchRule jsonTypes_stayWhereFilesAreReadAndWritten =
      noClasses()
          .that(
              resideOutsideOfPackages(
                  ROOT + "tensor", ROOT + "chakra", ROOT + "eval.output", ROOT + "eval.report"))
          .should()
          .dependOnClassesThat(resideInAPackage("tools.jackson.."))
          .because(
              "values become JSON in eval.output.Json, a header in SafeTensors, a trace in chakra"
                  + " (ADR 0093)");

  @ArchTest
  static final ArchRule machine_isADescription =
      room("machine", "config", "tensor", "sim")
          .because("a machine is described, shown and validated without anything that moves");

  @ArchTest
  static final ArchRule machine_takesOnlyRatesFromSim =
      takesOnly("machine", "sim", "Rate")
          .because("Rate is a quantity; clock and queue belong to the moving machine");

  @ArchTest
  static final ArchRule device_knowsNoKernelLanguage =
      room("device", "sim", "tensor", "machine")
          .because("engines execute commands, whichever language or trace they came from");

  @ArchTest
  static final ArchRule reuse_isBelowDevice =
      room(
              "device.reuse",
              ROOT + "device.fabric",
              ROOT + "device.log",
              ROOT + "device.memory",
              "machine",
              "sim")
          .because("what it notices of PEs and launches stands in its Memo interfaces (ADR 0111)");

  @ArchTest
  static final ArchRule reuse_showsItsDoorOnly =
      classes()
          .that(resideInAPackage(ROOT + "device.reuse"))
          .and()
          .arePublic()
          .should()
          .haveNameMatching(
              ".*\\.(LaunchMemo|Memo(Host|Launch|Pe|Engine|Queues(\\$\\w+)?)|(Launch|Pe)Mark|Dependence(\\$Memory)?)")
          .because("keys, outcomes and replays are nobody else's business (ADR 0111)");

  @ArchTest
  static final ArchRule tl_knowsNoHost =
      room("tl", "device", "tensor", "machine")
          .because("a kernel sees one processing element, not the host that launched it");

  @ArchTest
  static final ArchRule tl_takesOnlyPlacesFromMachine =
      takesOnly(
              "tl",
              "machine",
              "Machine",
              "MemoryAddress",
              "Pe",
              "PhysicalAddress",
              "SimulationException",
              "VirtualAddress")
          .because(
              "device's door names places and errors in machine's words; costs are device's business");

  @ArchTest
  static final ArchRule torch_knowsNoAlgorithm =
      room("torch", "tl", "device", "machine", "tensor", "config", "sim")
          .because("collective algorithms plug into an interface that torch owns");

  @ArchTest
  static final ArchRule torch_takesOnlyCoroutinesFromSim =
      noClasses()
          .that(resideInAPackage(ROOT + "torch.."))
          .should()
          .dependOnClassesThat(
              resideInAPackage(ROOT + "sim..")
                  .and(
                      describe(
                          "are not Coroutine", type -> !type.getSimpleName().equals("Coroutine"))))
          .because("ranks pass a baton as kernels do; clock and queue belong to the machine");

  @ArchTest
  static final ArchRule ccl_plugsIntoTorch =
      room("ccl", "torch", "tl", "config", "machine", "tensor", "device", "sim")
          .because("an algorithm is written against the kernel language and the group it serves");

  @ArchTest
  static final ArchRule ccl_takesOnlyRatesFromSim =
      takesOnly("ccl", "sim", "Rate", "ClockRate")
          .because("closed forms and bounds are computed from links; clock and queue move them");

  @ArchTest
  static final ArchRule nn_trainsThroughTorch =
      room("nn", "torch", "tl", "tensor", "device", "machine")
          .because("layers are host programs and kernels; which algorithm reduces is not theirs");

  @ArchTest
  static final ArchRule eval_knowsNoTerminal =
      noClasses()
          .that(resideInAPackage(ROOT + "eval.."))
          .should()
          .dependOnClassesThat(resideInAnyPackage(ROOT + "cli..", "picocli.."))
          .because("benches and reports return data, so that tests and sweeps use them unchanged");

  @ArchTest
  static final ArchRule cli_isUsedByNobody =
      noClasses()
          .that(resideOutsideOfPackage(ROOT + "cli.."))
          .should()
          .dependOnClassesThat(resideInAnyPackage(ROOT + "cli..", "picocli.."))
          .because("the composition root is the end of all arrows");

  @ArchTest
  static final ArchRule cli_asksEvalForResults =
      noClasses()
          .that(resideInAPackage(ROOT + "cli.."))
          .should()
          .dependOnClassesThat(resideInAnyPackage(ROOT + "sim..", ROOT + "tl.."))
          .because(
              "a command that needs the engine or a kernel is a bench, and benches live in eval");

  @ArchTest
  static final ArchRule rooms_haveNoCycles =
      slices()
          .matching(ROOT + "(**)")
          .should()
          .beFreeOfCycles()
          .because("a room is understood from what it uses, never from what uses it");

  // Conduct --------------------------------------------------------------------------------------

  @ArchTest
  static final ArchRule onlyCli_printsExitsOrReadsTheEnvironment =
      noClasses()
          .that(resideOutsideOfPackage(ROOT + "cli.."))
          .should(
              access(
                  "System.exit, halt, out, err, in, console, getenv or printStackTrace",
                  Set.of(
                      "java.lang.System.exit",
                      "java.lang.System.out",
                      "java.lang.System.err",
                      "java.lang.System.in",
                      "java.lang.System.console",
                      "java.lang.System.getenv",
                      "java.lang.Runtime.exit",
                      "java.lang.Runtime.halt",
                      "java.lang.Throwable.printStackTrace"),
                  access -> true))
          .because("standard output is a contract (text, json, csv) that one room can keep");

  @ArchTest
  static final ArchRule model_readsNoWallClock =
      noClasses()
          .that(resideInAnyPackage(MODEL_ROOMS))
          .should(
              access(
                  "the wall clock",
                  Set.of(
                      "java.lang.System.currentTimeMillis",
                      "java.lang.System.nanoTime",
                      "java.time.Instant.now",
                      "java.time.LocalDate.now",
                      "java.time.LocalDateTime.now",
                      "java.time.ZonedDateTime.now",
                      "java.time.Clock.systemUTC",
                      "java.time.Clock.systemDefaultZone"),
                  access -> true))
          .because(
              "same inputs give the same bytes on any machine; wall time is eval's to measure");

  @ArchTest
  static final ArchRule functions_areThoseOfStrictMath =
      noClasses()
          .that(resideInAPackage(ROOT + "."))
          .should(
              access(
                  "functions of Math that may differ in their last bit",
                  Set.of(
                      "java.lang.Math.acos",
                      "java.lang.Math.asin",
                      "java.lang.Math.atan",
                      "java.lang.Math.atan2",
                      "java.lang.Math.cbrt",
                      "java.lang.Math.cos",
                      "java.lang.Math.cosh",
                      "java.lang.Math.exp",
                      "java.lang.Math.expm1",
                      "java.lang.Math.hypot",
                      "java.lang.Math.log",
                      "java.lang.Math.log10",
                      "java.lang.Math.log1p",
                      "java.lang.Math.pow",
                      "java.lang.Math.sin",
                      "java.lang.Math.sinh",
                      "java.lang.Math.tan",
                      "java.lang.Math.tanh"),
                  access -> true))
          .because("same inputs give the same bytes on any processor and virtual machine");

  @ArchTest
  static final ArchRule model_hasNoUnseededRandomness =
      noClasses()
          .that(resideInAnyPackage(MODEL_ROOMS))
          .should(
              access(
                  "randomness without a seed",
                  Set.of(
                      "java.lang.Math.random",
                      "java.lang.StrictMath.random",
                      "java.util.UUID.randomUUID",
                      "java.util.concurrent.ThreadLocalRandom.current",
                      "java.util.random.RandomGenerator.getDefault",
                      "java.util.Random.<init>",
                      "java.util.SplittableRandom.<init>",
                      "java.security.SecureRandom.<init>",
                      "java.lang.System.identityHashCode"),
                  access ->
                      !(access.getTarget()
                              instanceof AccessTarget.ConstructorCallTarget constructor)
                          || constructor.getRawParameterTypes().isEmpty()
                          || constructor.getOwner().getSimpleName().equals("SecureRandom")))
          .because("every seed is an explicit input of the run");

  @ArchTest
  static final ArchRule static_stateIsConstant =
      fields()
          .that()
          .areStatic()
          .and(describe("are written in source", field -> !isSynthetic(field)))
          .should(beConstant())
          .because("two simulations in one process must not see each other");

  @ArchTest
  static final ArchRule incubatorModules_sitBehindTheVectorClasses =
      noClasses()
          .that(
              describe(
                  "are not the vector classes", type -> !VECTOR_CLASSES.contains(type.getName())))
          .should()
          .dependOnClassesThat(resideInAPackage("jdk.incubator.."))
          .because(
              "unfinished modules may change or warn, so two classes hold them and have twins");

  // Doors ----------------------------------------------------------------------------------------

  @ArchTest
  static final ArchRule publicTypes_areClosed =
      classes()
          .that()
          .arePublic()
          .should(beClosed())
          .because("a door promises behaviour; open classes promise whatever a subclass does");

  @ArchTest
  static final ArchRule publicRecords_holdNoArrays =
      fields()
          .that(
              describe(
                  "belong to public records",
                  field ->
                      field.getOwner().isRecord()
                          && field.getOwner().getModifiers().contains(JavaModifier.PUBLIC)))
          .and()
          .areNotStatic()
          .should(haveNoArrayType())
          .because(
              "an array component is shared and compared by identity; wrap it in a final class");

  @ArchTest
  static final ArchRule packages_saySoThemselves =
      classes()
          .that(describe("are not package-info", type -> !isPackageInfo(type)))
          .should(liveInADescribedPackage())
          .because("package-info says purpose, door and arrows, and marks the package null-free");

  @ArchTest
  static void tests_liveWithWhatTheyTest(JavaClasses product) {
    Set<String> rooms =
        product.stream()
            .map(JavaClass::getPackageName)
            .collect(Collectors.toCollection(TreeSet::new));
    rooms.add("org.kernbench"); // the house as a whole: this class, the launcher's test
    classes()
        .should()
        .resideInAnyPackage(rooms.toArray(String[]::new))
        .because("a test is found where its subject is, and may use what is private to the room")
        .check(
            new ClassFileImporter(List.of(new OnlyIncludeTests())).importPackages("org.kernbench"));
  }

  // Words ----------------------------------------------------------------------------------------

  /**
   * The rule that a room depends on itself, on java.base, on JSpecify's annotations and on the
   * named rooms (a bare word) and libraries (a word with a dot), and on nothing else.
   */
  private static ArchRule room(String name, String... uses) {
    List<String> allowed = new ArrayList<>(List.of(ROOT + name + "..", "org.jspecify.."));
    for (String use : uses) {
      allowed.add(use.contains(".") ? use + ".." : ROOT + use + "..");
    }
    return classes()
        .that(resideInAPackage(ROOT + name + ".."))
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage(allowed.toArray(String[]::new))
                .or(inJavaBase())
                .or(describe("the Vector API, by its own rule", ArchitectureTest::isIncubating))
                .as("are in java.base or %s", allowed));
  }

  /** The rule that of another room's types a room uses none but the named ones. */
  private static ArchRule takesOnly(String room, String other, String... types) {
    Set<String> named = Set.of(types);
    return noClasses()
        .that()
        .resideInAPackage(ROOT + room + "..")
        .should()
        .dependOnClassesThat(
            resideInAPackage(ROOT + other + "..")
                .and(
                    describe(
                        "are not " + String.join(", ", types),
                        type -> !named.contains(type.getBaseComponentType().getSimpleName()))));
  }

  private static String[] rooms(String... names) {
    return Stream.of(names).map(name -> ROOT + name + "..").toArray(String[]::new);
  }

  private static DescribedPredicate<JavaClass> inJavaBase() {
    Set<String> packages = Object.class.getModule().getPackages();
    return describe(
        "are in java.base",
        type -> {
          JavaClass base = type.getBaseComponentType();
          return base.isPrimitive() || packages.contains(base.getPackageName());
        });
  }

  private static boolean isIncubating(JavaClass type) {
    return type.getBaseComponentType().getPackageName().startsWith("jdk.incubator.");
  }

  /** Accesses (calls, constructions, field reads) whose target is one of {@code owner.member}. */
  private static ArchCondition<JavaClass> access(
      String what, Set<String> members, Predicate<JavaAccess<?>> when) {
    return new ArchCondition<>("use " + what) {
      @Override
      public void check(JavaClass type, ConditionEvents events) {
        Stream.concat(
                type.getAccessesFromSelf().stream(),
                Stream.concat(
                    type.getMethodReferencesFromSelf().stream(),
                    type.getConstructorReferencesFromSelf().stream()))
            .filter(access -> names(access.getTarget()).anyMatch(members::contains))
            .filter(when)
            .forEach(access ->
                events.add(SimpleConditionEvent.satisfied(type, access.getDescription())));
      }
    };
  }

  /** {@code owner.member} for the owner and everything it inherits from. */
  private static Stream<String> names(AccessTarget target) {
    JavaClass owner = target.getOwner();
    return Stream.concat(
            Stream.of(owner),
            Stream.concat(
                owner.getAllRawSuperclasses().stream(), owner.getAllRawInterfaces().stream()))
        .filter(type -> type.equals(owner) || !target.getName().equals("<init>"))
        .map(type -> type.getName() + "." + target.getName());
  }

  private static boolean isSynthetic(JavaField field) {
    return field.getModifiers().contains(JavaModifier.SYNTHETIC) || field.getName().startsWith("$");
  }

  /**
   * Final, and of a type that does not change. An array that stays inside its room is accepted: it
   * is how lookup tables are written.
   */
  private static ArchCondition<JavaField> beConstant() {
    Map<Class<?>, String> mutable =
        Map.of(
            java.util.AbstractCollection.class, "a mutable collection",
            java.util.AbstractMap.class, "a mutable map",
            java.lang.ThreadLocal.class, "a variable per thread",
            java.lang.Number.class, "an atomic or adder",
            java.lang.StringBuilder.class, "a buffer",
            java.util.Random.class, "a generator with state",
            java.util.concurrent.ConcurrentMap.class, "a mutable map",
            java.util.concurrent.atomic.AtomicReference.class, "a mutable reference",
            java.util.concurrent.atomic.AtomicBoolean.class, "a mutable flag",
            java.util.concurrent.locks.Lock.class, "a lock");
    Set<String> boxes =
        Set.of("java.lang.Integer", "java.lang.Long", "java.lang.Double", "java.lang.Float");
    return new ArchCondition<>("be final and immutable") {
      @Override
      public void check(JavaField field, ConditionEvents events) {
        JavaClass type = field.getRawType();
        if (!field.getModifiers().contains(JavaModifier.FINAL)) {
          report(field, "is not final", events);
        } else if (type.isArray() && isVisibleOutside(field)) {
          report(field, "is an array that other rooms can write", events);
        } else if (!boxes.contains(type.getName()) && !type.getName().startsWith("java.math.")) {
          mutable.forEach((base, meaning) -> {
            if (type.isAssignableTo(base)) {
              report(field, "is " + meaning, events);
            }
          });
        }
      }
    };
  }

  private static boolean isVisibleOutside(JavaField field) {
    return field.getModifiers().contains(JavaModifier.PUBLIC)
        || field.getModifiers().contains(JavaModifier.PROTECTED);
  }

  private static ArchCondition<JavaClass> beClosed() {
    return new ArchCondition<>("be an interface, record, enum, exception, sealed or final") {
      @Override
      public void check(JavaClass type, ConditionEvents events) {
        boolean closed =
            type.isInterface()
                || type.isRecord()
                || type.isEnum()
                || type.getModifiers().contains(JavaModifier.FINAL)
                || type.isAssignableTo(Throwable.class)
                || type.reflect().isSealed();
        if (!closed) {
          report(type, "is an open public class", events);
        }
      }
    };
  }

  private static ArchCondition<JavaField> haveNoArrayType() {
    return new ArchCondition<>("have no array type") {
      @Override
      public void check(JavaField field, ConditionEvents events) {
        if (field.getRawType().isArray()) {
          report(field, "is an array", events);
        }
      }
    };
  }

  private static boolean isPackageInfo(JavaClass type) {
    return type.getSimpleName().equals("package-info");
  }

  private static ArchCondition<JavaClass> liveInADescribedPackage() {
    return new ArchCondition<>("live in a package with a @NullMarked package-info") {
      @Override
      public void check(JavaClass type, ConditionEvents events) {
        boolean described =
            type.getPackage()
                .tryGetPackageInfo()
                .filter(annotatedWith(NullMarked.class)::test)
                .isPresent();
        if (!described) {
          report(type, "is in a package without one", events);
        }
      }
    };
  }

  private static void report(JavaClass type, String what, ConditionEvents events) {
    events.add(
        SimpleConditionEvent.violated(
            type, type.getDescription() + " " + what + " in " + type.getSourceCodeLocation()));
  }

  private static void report(JavaField field, String what, ConditionEvents events) {
    events.add(
        SimpleConditionEvent.violated(
            field, field.getDescription() + " " + what + " in " + field.getSourceCodeLocation()));
  }
}
