package org.kernbench.eval;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Which packages of kernbench a user's program sees: those of the list {@code for-users.txt}. The
 * others are as if they were not there, as a module would keep them (ADR 0092).
 *
 * @param open names of the packages for users
 * @param own the loader of kernbench
 */
record RoomsForUsers(Set<String> open, ClassLoader own) {
  static final String LIST = "/org/kernbench/for-users.txt";
  private static final String ROOT = "org.kernbench.";
  private static final Pattern NAME = Pattern.compile("org\\.kernbench(\\.\\w+)+");

  /** Those of this kernbench. */
  static RoomsForUsers ofThisProgram() {
    try (@Nullable InputStream list = RoomsForUsers.class.getResourceAsStream(LIST)) {
      if (list == null) {
        throw new IllegalStateException("kernbench is incomplete: no " + LIST);
      }
      Set<String> open =
          new String(list.readAllBytes(), StandardCharsets.UTF_8)
              .lines()
              .collect(Collectors.toSet());
      return new RoomsForUsers(open, RoomsForUsers.class.getClassLoader());
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Whether a package is one of kernbench's that is not for users; not so a user's own. */
  boolean hides(String packageName) {
    return packageName.startsWith(ROOT)
        && !open.contains(packageName)
        && own.getResource(packageName.replace('.', '/') + "/package-info.class") != null;
  }

  /** Whether the class of a full name is in a package that is not for users. */
  boolean hidesClass(String className) {
    return className.startsWith(ROOT) && hides(packageOf(className));
  }

  /** Why the class or package of a full name cannot be used, and what can. */
  String refusal(String name) {
    String above = name;
    while (!open.contains(above) && above.startsWith(ROOT)) {
      above = packageOf(above);
    }
    String instead = open.contains(above) ? above + " or another" : "one";
    return "%s is inside kernbench, not for programs; use %s of the rooms for users (docs/rooms.md)"
        .formatted(name, instead);
  }

  /** The refusal behind a compiler's message that names a hidden package; empty if none does. */
  String behind(String message) {
    Matcher name = NAME.matcher(message);
    while (name.find()) {
      if (hides(name.group()) || hidesClass(name.group())) {
        return refusal(name.group());
      }
    }
    return "";
  }

  /** What stands between a user's classes and those of kernbench. */
  ClassLoader door() {
    return new ClassLoader("rooms for users", own) {
      @Override
      protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (hidesClass(name)) {
          throw new ClassNotFoundException(name);
        }
        return own.loadClass(name);
      }
    };
  }

  private static String packageOf(String className) {
    return className.substring(0, Math.max(0, className.lastIndexOf('.')));
  }

  /** A class that a user's program names and that is not for it. */
  static final class Refused extends ClassNotFoundException {
    private static final long serialVersionUID = 1L;

    Refused(String message) {
      super(message);
    }
  }
}
