package org.kernbench.tl;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * The table of calls in {@code docs/kernel-guide.md} has every call of the language, and no other.
 */
final class KernelGuideTest {
  private static final Path GUIDE =
      Path.of(System.getProperty("basedir", "."), "../docs/kernel-guide.md");

  private static final Pattern ROW = Pattern.compile("(?m)^\\| [a-z ]+ \\| (.*?) \\| .* \\|$");
  private static final Pattern CODE = Pattern.compile("`([^`]+)`");

  /** What a value says of itself; not calls of the language. */
  private static final Set<String> ASIDE = Set.of("dtype", "elements", "isDense", "shape");

  @Test
  void table_hasEveryCallAndNoOther() throws IOException {
    Set<String> calls = new TreeSet<>();
    for (Class<?> type : List.of(Tl.class, Value.class)) {
      for (Method method : type.getDeclaredMethods()) {
        if (Modifier.isPublic(method.getModifiers()) && !method.getName().equals("toString")) {
          calls.add(method.getName());
        }
      }
    }
    calls.removeAll(ASIDE);
    assertThat(table()).isEqualTo(calls);
  }

  private static Set<String> table() throws IOException {
    String page = Files.readString(GUIDE);
    String section = page.substring(page.indexOf("## 2."), page.indexOf("## 3."));
    Set<String> names = new TreeSet<>();
    Matcher row = ROW.matcher(section);
    while (row.find()) {
      Matcher code = CODE.matcher(row.group(1));
      while (code.find()) {
        names.addAll(List.of(code.group(1).replaceAll("\\([^)]*\\)|tl\\.", "").split(" ")));
      }
    }
    return names;
  }
}
