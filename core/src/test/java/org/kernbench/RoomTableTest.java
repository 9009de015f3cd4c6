package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * The table of families in docs/house.md: all rooms, what each uses, and arrows that point down
 * only.
 */
final class RoomTableTest {
  private static final String ROOT = "org.kernbench.";
  private static final Pattern ROW = Pattern.compile("(?m)^\\| `([a-z]+)` \\| (.*) \\| (.*) \\|$");

  private static final Map<String, String> TABLE = table();
  private static final Map<String, Set<String>> USES = uses();

  private static Map<String, String> table() {
    try {
      String rooms = Files.readString(House.ROOT.resolve("docs/house.md"));
      Map<String, String> table = new LinkedHashMap<>();
      Matcher row = ROW.matcher(rooms);
      while (row.find()) {
        table.put(row.group(1), row.group(3));
      }
      return table;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static Map<String, Set<String>> uses() {
    JavaClasses product = ProductClasses.all();
    Map<String, Set<String>> uses = new LinkedHashMap<>();
    for (JavaClass type : product) {
      Set<String> used = uses.computeIfAbsent(room(type), r -> new TreeSet<>());
      for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
        JavaClass target = dependency.getTargetClass().getBaseComponentType();
        if (target.getPackageName().startsWith(ROOT) && !room(target).equals(room(type))) {
          used.add(room(target));
        }
      }
    }
    return uses;
  }

  private static String room(JavaClass type) {
    return type.getPackageName().substring(ROOT.length()).replaceFirst("\\..*", "");
  }

  @Test
  void rooms_areAllThere() {
    assertThat(TABLE.keySet()).containsExactlyInAnyOrderElementsOf(USES.keySet());
  }

  @Test
  void arrows_pointDownTheTable() {
    List<String> order = new ArrayList<>(TABLE.keySet());
    USES.forEach((room, used) ->
        assertThat(used)
            .as("rooms that %s uses stand below it", room)
            .allMatch(other -> order.indexOf(other) > order.indexOf(room)));
  }

  /** Each room that is used is named, and each that is named is used; or all below, in words. */
  @Test
  void uses_areWhatEachRoomUses() {
    TABLE.forEach((room, said) -> {
      if (!said.contains("all below") && !said.contains("exposes")) {
        Set<String> named = new TreeSet<>(List.of(said.split("[^a-z]+")));
        named.retainAll(TABLE.keySet());
        assertThat(named).as(room).isEqualTo(USES.get(room));
      }
    });
  }
}
