package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * {@code docs/rooms.md} is the plan of the house, and the house is like its plan: every room with
 * exactly the arrows that stand there. No room has too many types, or classes that hang together in
 * too large a circle.
 */
final class RoomsTest {
  private static final String ROOT = "org.kernbench.";

  /** {@code | room | for whom | holds | uses |}. */
  private static final Pattern ROW =
      Pattern.compile("\\| `([a-z.]+)` \\| (users|inside) \\| ([^|]+) \\| ([^|]+) \\|");

  private static final int MOST_TYPES = 40;
  private static final int LARGEST_CIRCLE = 12;

  private final Map<String, Set<String>> plan = plan();
  private final Map<JavaClass, Set<JavaClass>> uses = uses();

  private static Map<String, Set<String>> plan() {
    Map<String, Set<String>> rooms = new TreeMap<>();
    try {
      for (String line : Files.readAllLines(House.ROOT.resolve("docs/rooms.md"))) {
        Matcher row = ROW.matcher(line);
        if (row.matches()) {
          rooms.put(
              row.group(1),
              Arrays.stream(row.group(4).split(","))
                  .map(word -> word.replace("`", "").trim())
                  .filter(word -> !word.equals("–"))
                  .collect(Collectors.toCollection(TreeSet::new)));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return rooms;
  }

  /** The types of the house, nested ones counted as those that they stand in. */
  private static Map<JavaClass, Set<JavaClass>> uses() {
    JavaClasses all = ProductClasses.all();
    Map<JavaClass, Set<JavaClass>> uses = new HashMap<>();
    for (JavaClass type : all) {
      JavaClass from = outermost(type);
      if (from.getSimpleName().equals("package-info")) {
        continue;
      }
      Set<JavaClass> to = uses.computeIfAbsent(from, t -> new HashSet<>());
      for (Dependency d : type.getDirectDependenciesFromSelf()) {
        JavaClass target = outermost(d.getTargetClass().getBaseComponentType());
        if (target.getPackageName().startsWith(ROOT) && !target.equals(from)) {
          to.add(target);
        }
      }
    }
    return uses;
  }

  private static JavaClass outermost(JavaClass type) {
    return type.getEnclosingClass().map(RoomsTest::outermost).orElse(type);
  }

  private static String room(JavaClass type) {
    return type.getPackageName().substring(ROOT.length());
  }

  @Test
  void rooms_haveTheArrowsOfThePlan_andNoOthers() {
    Map<String, Set<String>> arrows = new TreeMap<>();
    uses.forEach((from, targets) -> {
      Set<String> of = arrows.computeIfAbsent(room(from), r -> new TreeSet<>());
      targets.stream().map(RoomsTest::room).filter(to -> !to.equals(room(from))).forEach(of::add);
    });
    assertThat(arrows).isEqualTo(plan);
  }

  @Test
  void rooms_areSmallEnoughToKnow() {
    Map<String, Integer> sizes = new TreeMap<>();
    uses.keySet().forEach(type -> sizes.merge(room(type), 1, Integer::sum));
    sizes.forEach((room, types) -> assertThat(types).as(room).isLessThanOrEqualTo(MOST_TYPES));
  }

  @Test
  void circlesOfClasses_areSmall() {
    for (String room : plan.keySet()) {
      Set<JavaClass> inside =
          uses.keySet().stream().filter(t -> room(t).equals(room)).collect(Collectors.toSet());
      Set<JavaClass> circle = largestCircle(inside, uses::get);
      assertThat(circle.size())
          .as("%s: %s", room, circle.stream().map(JavaClass::getSimpleName).sorted().toList())
          .isBetween(1, LARGEST_CIRCLE);
    }
  }

  @Test
  void largestCircle_ofARingWithATail_isTheRing() {
    Map<String, Set<String>> ring =
        Map.of(
            "a", Set.of("b"), "b", Set.of("c"), "c", Set.of("a"), "d", Set.of("a"), "e", Set.of());
    assertThat(largestCircle(ring.keySet(), ring::get)).containsExactlyInAnyOrder("a", "b", "c");
    assertThat(largestCircle(Set.of("d", "e"), ring::get)).hasSize(1);
  }

  /** The largest set of nodes each of which reaches each other; of a lone node, itself. */
  private static <T> Set<T> largestCircle(Set<T> nodes, Function<T, Set<T>> next) {
    Map<T, Set<T>> reached = new HashMap<>();
    for (T node : nodes) {
      reached.put(node, reachedFrom(node, nodes, next));
    }
    Set<T> largest = Set.of();
    for (T node : nodes) {
      Set<T> circle =
          reached.get(node).stream()
              .filter(other -> reached.get(other).contains(node))
              .collect(Collectors.toCollection(HashSet::new));
      circle.add(node);
      largest = circle.size() > largest.size() ? circle : largest;
    }
    return largest;
  }

  private static <T> Set<T> reachedFrom(T node, Set<T> nodes, Function<T, Set<T>> next) {
    Set<T> seen = new HashSet<>();
    Deque<T> open = new ArrayDeque<>(List.of(node));
    while (!open.isEmpty()) {
      List<T> targets = new ArrayList<>(next.apply(open.pop()));
      targets.retainAll(nodes);
      targets.stream().filter(seen::add).forEach(open::push);
    }
    return seen;
  }
}
