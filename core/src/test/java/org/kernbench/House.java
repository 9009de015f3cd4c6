package org.kernbench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What can be cited in this repository: files, headings, norms, decisions, tests and types. Read
 * from the working tree, without what is built.
 */
final class House {
  static final Path ROOT = Path.of(System.getProperty("basedir", "."), "..").normalize();

  private static final Set<String> NOT_OURS = Set.of("target", ".git", ".idea", "node_modules");
  private static final Pattern DECISION = Pattern.compile("docs/adr/(\\d{4})-.*\\.md");
  private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.*)$");
  private static final Pattern NUMBER = Pattern.compile("^(\\d+(?:\\.\\d+)*)\\.? .*");
  private static final Pattern LABEL = Pattern.compile("(?m)^\\*\\*([OD]\\d+)\\*\\*");
  private static final Pattern TYPE =
      Pattern.compile("\\b(?:class|record|interface|enum) ([A-Z]\\w*)");
  private static final Pattern METHOD = Pattern.compile("\\b(?:void|ArchRule) (\\w+)\\b(?=\\(| =)");

  private final Map<String, String> texts = new TreeMap<>();
  private final Set<String> paths = new HashSet<>();
  private final Map<Integer, String> decisions = new TreeMap<>();
  private final Map<String, Set<String>> tests = new HashMap<>();
  private final Set<String> types = new HashSet<>();

  House() {
    try (Stream<Path> walk = Files.walk(ROOT)) {
      walk.filter(House::isOurs).forEach(this::add);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isOurs(Path path) {
    for (Path part : ROOT.relativize(path)) {
      if (NOT_OURS.contains(part.toString())) {
        return false;
      }
    }
    return true;
  }

  private void add(Path path) {
    String name = ROOT.relativize(path).toString().replace('\\', '/');
    paths.add(name);
    if (!Files.isRegularFile(path) || !isText(name)) {
      return;
    }
    String text = read(path);
    texts.put(name, text);
    Matcher decision = DECISION.matcher(name);
    if (decision.matches()) {
      decisions.put(Integer.parseInt(decision.group(1)), name);
    }
    if (name.endsWith(".java")) {
      all(TYPE, text).forEach(types::add);
    }
    if (name.endsWith("Test.java")) {
      String type = name.substring(name.lastIndexOf('/') + 1, name.length() - ".java".length());
      tests.put(type, Set.copyOf(all(METHOD, text)));
    }
  }

  private static boolean isText(String name) {
    return name.matches(".*\\.(md|java|yaml|xml|sh)|scripts/[^.]*|kernbench|\\.ci/.*");
  }

  private static String read(Path path) {
    try {
      return Files.readString(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<String> all(Pattern pattern, String text) {
    List<String> found = new ArrayList<>();
    Matcher matcher = pattern.matcher(text);
    while (matcher.find()) {
      found.add(matcher.group(1));
    }
    return found;
  }

  /** Names of text files, from the root on, with what is in them. */
  Map<String, String> texts() {
    return texts;
  }

  /** Files of decisions by number. */
  Map<Integer, String> decisions() {
    return decisions;
  }

  /** Whether there is a file or folder; a star stands for any part of a name. */
  boolean hasPath(String path) {
    String name = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    if (!name.contains("*")) {
      return paths.contains(name);
    }
    PathMatcher glob = FileSystems.getDefault().getPathMatcher("glob:" + name);
    return paths.stream().anyMatch(p -> glob.matches(Path.of(p)));
  }

  /** Whether there is a test class, with that method if it is not empty. */
  boolean hasTest(String type, String method) {
    Set<String> methods = tests.get(type);
    return methods != null && (method.isEmpty() || methods.contains(method));
  }

  /** Whether any test class has a method of that name. */
  boolean hasTestMethod(String method) {
    return tests.values().stream().anyMatch(methods -> methods.contains(method));
  }

  /** Whether any source declares a type of that name. */
  boolean hasType(String type) {
    return types.contains(type);
  }

  /** Whether there is a package of that name below {@code org.kernbench}. */
  boolean hasRoom(String room) {
    return paths.contains("core/src/main/java/org/kernbench/" + room);
  }

  /** Whether a room has a class in a file of its own, in the product or its tests. */
  boolean hasType(String room, String type) {
    String file = "/java/org/kernbench/" + room + "/" + type + ".java";
    return paths.contains("core/src/main" + file) || paths.contains("core/src/test" + file);
  }

  /** Whether a page has a heading that a link with this anchor reaches. */
  boolean hasAnchor(String page, String anchor) {
    return headings(page).stream().map(House::anchor).anyMatch(anchor::equals);
  }

  /** Numbers of sections, and labels (a letter and a number), that a page defines. */
  Set<String> numbers(String page) {
    Set<String> numbers =
        headings(page).stream()
            .map(NUMBER::matcher)
            .filter(Matcher::matches)
            .map(m -> m.group(1))
            .collect(Collectors.toCollection(HashSet::new));
    numbers.addAll(all(LABEL, texts.getOrDefault(page, "")));
    return numbers;
  }

  private List<String> headings(String page) {
    return all(HEADING, withoutBlocks(texts.getOrDefault(page, "")));
  }

  /** A page without its fenced blocks. */
  static String withoutBlocks(String page) {
    return page.replaceAll("(?ms)^```.*?^```$", "");
  }

  /** As GitHub makes it of a heading. */
  static String anchor(String heading) {
    return heading
        .replaceAll("\\[([^]]*)\\]\\([^)]*\\)", "$1")
        .toLowerCase(Locale.ROOT)
        .replaceAll("[^\\p{L}\\p{N} _-]", "")
        .replace(' ', '-');
  }
}
