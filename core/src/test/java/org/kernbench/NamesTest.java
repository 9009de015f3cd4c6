package org.kernbench;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toCollection;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * One name, one thing (ADR 0223): no two types of the house have the same simple name. A type that
 * stands in another may have a name that is used elsewhere, for it is read beside its owner's, as
 * {@code Cost.Compute}; but not that of a type of its own room, which it would hide.
 */
final class NamesTest {
  @Test
  void types_haveNamesOfTheirOwn() {
    assertThat(sharedNames(ProductClasses.all())).isEmpty();
  }

  @Test
  void nestedTypes_hideNoTypeOfTheirRoom() {
    assertThat(hidden(ProductClasses.all())).isEmpty();
  }

  @Test
  void sharedNames_ofTwoLists_areFound() {
    assertThat(sharedNames(ProductClasses.of(java.util.List.class, java.awt.List.class, Map.class)))
        .containsOnlyKeys("List");
  }

  @Test
  void hidden_ofANestedHouse_isFound() {
    assertThat(hidden(ProductClasses.of(House.class, Hidden.class, Hidden.House.class)))
        .containsExactly(Hidden.House.class.getName());
  }

  /** A type that hides one of this room. */
  private static final class Hidden {
    private record House() {}
  }

  /** Simple names of several types, and these. */
  private static Map<String, Set<String>> sharedNames(Collection<JavaClass> classes) {
    Map<String, Set<String>> names =
        classes.stream()
            .filter(type -> !isNested(type) && !type.getSimpleName().equals("package-info"))
            .collect(
                groupingBy(
                    JavaClass::getSimpleName,
                    TreeMap::new,
                    mapping(JavaClass::getName, toCollection(TreeSet::new))));
    names.values().removeIf(types -> types.size() == 1);
    return names;
  }

  /** Nested types with the simple name of a type of the same room that is not nested. */
  private static Stream<String> hidden(Collection<JavaClass> classes) {
    Set<String> open =
        classes.stream()
            .filter(type -> !isNested(type))
            .map(JavaClass::getName)
            .collect(toCollection(TreeSet::new));
    return classes.stream()
        .filter(NamesTest::isNested)
        .filter(type -> open.contains(type.getPackageName() + "." + type.getSimpleName()))
        .map(JavaClass::getName);
  }

  private static boolean isNested(JavaClass type) {
    return type.getEnclosingClass().isPresent();
  }
}
