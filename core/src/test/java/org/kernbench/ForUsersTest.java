package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.JavaType;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The rooms that users may enter: the list that the program goes by is the one that {@code
 * docs/rooms.md} shows, and nobody who stays in them meets a type of another room.
 */
final class ForUsersTest {
  private static final String ROOT = "org.kernbench.";
  private static final Pattern ROW = Pattern.compile("\\| `([a-z.]+)` \\| users \\|.*");

  private final Set<String> rooms = listed();

  private static Set<String> listed() {
    try (Stream<String> lines =
        Files.lines(House.ROOT.resolve("core/src/main/resources/org/kernbench/for-users.txt"))) {
      return lines.collect(Collectors.toCollection(TreeSet::new));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void list_isTheColumnOfThePlan() throws IOException {
    Set<String> shown =
        Files.readAllLines(House.ROOT.resolve("docs/rooms.md")).stream()
            .map(ROW::matcher)
            .filter(Matcher::matches)
            .map(row -> ROOT + row.group(1))
            .collect(Collectors.toCollection(TreeSet::new));
    assertThat(rooms).isEqualTo(shown);
  }

  @Test
  void signatures_inRoomsForUsers_nameOnlyTypesForUsers() {
    Set<String> leaks = new TreeSet<>();
    ProductClasses.all().stream().filter(this::isForUsers).forEach(type -> addLeaks(type, leaks));
    assertThat(leaks).isEmpty();
  }

  private void addLeaks(JavaClass type, Set<String> leaks) {
    Stream.concat(type.getSuperclass().stream(), type.getInterfaces().stream())
        .forEach(above -> addLeaks(type.getName(), above, leaks));
    if (type.reflect().isSealed() && type.isInterface()) {
      for (Class<?> below : type.reflect().getPermittedSubclasses()) {
        if (!rooms.contains(below.getPackageName())) {
          leaks.add(type.getName() + " permits " + below.getName());
        }
      }
    }
    for (JavaField field : type.getFields()) {
      if (isOpen(field)) {
        addLeaks(field.getFullName(), field.getType(), leaks);
      }
    }
    for (JavaCodeUnit unit : type.getCodeUnits()) {
      if (isOpen(unit)) {
        Stream.of(
                Stream.of(unit.getReturnType()),
                unit.getParameterTypes().stream(),
                unit.getTypeParameters().stream(),
                unit.getExceptionTypes().stream().map(JavaType.class::cast))
            .flatMap(types -> types)
            .forEach(used -> addLeaks(unit.getFullName(), used, leaks));
      }
    }
  }

  private void addLeaks(String where, JavaType used, Set<String> leaks) {
    for (JavaClass type : used.getAllInvolvedRawTypes()) {
      JavaClass base = type.getBaseComponentType();
      if (base.getPackageName().startsWith(ROOT) && !isForUsers(base)) {
        leaks.add(where + " names " + base.getName());
      }
    }
  }

  private static boolean isOpen(JavaMember member) {
    return !member.getModifiers().contains(JavaModifier.SYNTHETIC)
        && (member.getModifiers().contains(JavaModifier.PUBLIC)
            || member.getModifiers().contains(JavaModifier.PROTECTED)
                && !member.getOwner().getModifiers().contains(JavaModifier.FINAL));
  }

  /** In a room for users, and public with everything that it stands in. */
  private boolean isForUsers(JavaClass type) {
    return rooms.contains(type.getPackageName())
        && type.getModifiers().contains(JavaModifier.PUBLIC)
        && type.getEnclosingClass().map(this::isForUsers).orElse(true);
  }
}
