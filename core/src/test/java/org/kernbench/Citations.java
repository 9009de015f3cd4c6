package org.kernbench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Citations of a text that lead nowhere. What counts as a citation:
 *
 * <ul>
 *   <li>{@code ADR 0019}, and in decisions a bare {@code 0019};
 *   <li>a page of {@code docs/spec} with what follows it: {@code docs/spec/collectives.md O11 to
 *       O13}, {@code docs/spec/megatron.md 4.2};
 *   <li>a bare label O or D and a number, in files that cite the page which defines it;
 *   <li>{@code section 3}: of the page itself, so in code not at all;
 *   <li>any name that ends in {@code .md}, any path that begins in a folder of the root;
 *   <li>in pages: links and their anchors, {@code room/Type} and {@code room.Type}, names of types
 *       of several words;
 *   <li>names of test classes, with their methods, in pages and comments.
 * </ul>
 *
 * <p>Decisions tell how things were, so types and paths that they name may be gone; tests, links
 * and norms must be there.
 */
final class Citations {
  private static final String LABEL = "(?:[OD]\\d+|\\d+(?:\\.\\d+)*)";
  private static final Pattern ADR = Pattern.compile("\\bADRs? \\[?0*(\\d+)\\b");
  private static final Pattern BARE_ADR =
      Pattern.compile("(?<![\\w.,\\[/-])(0\\d{3})(?![\\w.-]?\\d)");
  private static final Pattern NORM =
      Pattern.compile(
          "docs/spec/([\\w-]+\\.md)(?:,? (" + LABEL + "(?:(?:, | and | to )" + LABEL + ")*))?");
  private static final Pattern BARE_LABEL = Pattern.compile("(?<![\\w.-])([OD])([1-9]\\d?)\\b");
  private static final Pattern SECTION =
      Pattern.compile("(?:^|\\W)[Ss]ections? (\\d+)(?: and (\\d+))?");
  private static final Pattern PAGE =
      Pattern.compile("(?<![\\w/.*-])((?:[\\w.-]+/)*[\\w.-]+\\.md)\\b");
  private static final Pattern PATH =
      Pattern.compile(
          "(?<![\\w/.$-])((?:core|docs|machines|examples|scripts|bench|cluster|\\.ci)/[\\w.*/-]*[\\w*/])");
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
  private static final Pattern IN_ROOM = Pattern.compile("`([a-z]+)[./]([A-Z]\\w+)");
  private static final Pattern WORDS =
      Pattern.compile("`([A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)(?=[`.(#<])");
  private static final Pattern TEST =
      Pattern.compile("\\b([A-Z]\\w*Test)\\b(?:[.#]([a-z]\\w*)\\b(?!\\())?");
  private static final Pattern TEST_METHOD =
      Pattern.compile("`([a-z][a-z0-9]*[A-Z]?\\w*_\\w*[A-Z]\\w*)`");

  /** Names in pages that other projects have. */
  private static final Set<String> OTHERS =
      Set.of(
          "ParameterizedTest",
          "PriorityQueue",
          "BigInteger",
          "JFreeChart",
          "ForestColl",
          "GiB",
          "ColumnParallelLinear");

  private final House house;
  private final String file;
  private final boolean page;
  private final boolean decision;
  private final Set<String> problems = new LinkedHashSet<>();

  private Citations(House house, String file) {
    this.house = house;
    this.file = file;
    this.page = file.endsWith(".md");
    this.decision = file.startsWith("docs/adr/0");
  }

  /** What a file cites and the house does not have, one line each. */
  static List<String> problems(House house, String file, String text) {
    Citations citations = new Citations(house, file);
    citations.check(text);
    return List.copyOf(citations.problems);
  }

  private void check(String text) {
    if (file.matches(".*/Citations(Test)?\\.java")) {
      return; // they have wrong ones on purpose
    }
    String said = file.endsWith(".java") ? comments(text + "\n") : text;
    String flat = flat(said);
    decisions(flat);
    norms(flat);
    sections(flat);
    pages(page ? flat(House.withoutBlocks(text).replaceAll("\\[[^]]*]\\([^)]*\\)", "")) : flat);
    tests(flat);
    if (!decision) {
      paths(flat);
    }
    if (page) {
      links(House.withoutBlocks(text));
      types(House.withoutBlocks(text));
    }
  }

  private static String comments(String java) {
    StringBuilder comments = new StringBuilder();
    Matcher comment =
        Pattern.compile("(?s)/\\*.*?\\*/|//[^\\n]*\\n(?:\\s*//[^\\n]*\\n)*").matcher(java);
    while (comment.find()) {
      comments.append(comment.group()).append('\n');
    }
    return comments.toString();
  }

  /** Without the ends of lines and marks of code, so that a citation is in one piece. */
  private static String flat(String text) {
    return text.replaceAll("\\s*\\n\\s*(?:\\*(?![*/])|//|#(?= ))?[ \\t]*", " ")
        .replaceAll("\\{@code ([^}]*)\\}", "$1")
        .replace("`", "");
  }

  private void decisions(String flat) {
    Matcher cited = ADR.matcher(flat);
    while (cited.find()) {
      decision(cited.group(), cited.group(1));
    }
    Matcher bare = BARE_ADR.matcher(decision ? flat : "");
    while (bare.find()) {
      decision(bare.group(), bare.group(1));
    }
  }

  private void decision(String said, String number) {
    if (!house.decisions().containsKey(Integer.parseInt(number))) {
      problems.add(file + ": " + said + ": no such decision in docs/adr");
    }
  }

  private void norms(String flat) {
    Matcher cited = NORM.matcher(flat);
    while (cited.find()) {
      String norm = "docs/spec/" + cited.group(1);
      if (cited.group(2) != null && house.hasPath(norm)) {
        for (String number : cited.group(2).split(", | and | to ")) {
          defined(norm, number);
        }
      }
    }
    Matcher bare = BARE_LABEL.matcher(file.equals("docs/spec/README.md") ? "" : flat);
    while (bare.find()) {
      String norm = bare.group(1).equals("O") ? "docs/spec/collectives.md" : "docs/spec/gemm.md";
      defined(norm, bare.group(1) + bare.group(2));
      if (!flat.contains(norm.substring("docs/".length())) && !file.equals(norm)) {
        problems.add(file + ": labels " + bare.group(1) + ": say of what: cite " + norm);
      }
    }
    if (flat.contains("pecification") && !flat.contains("spec/")) {
      problems.add(file + ": a specification that is not cited; name a page of docs/spec");
    }
  }

  private void defined(String norm, String number) {
    if (!house.numbers(norm).contains(number)) {
      problems.add(file + ": " + norm + " " + number + ": no such section or label");
    }
  }

  private void sections(String flat) {
    Matcher cited = SECTION.matcher(flat);
    while (cited.find()) {
      for (int i = 1; i <= 2; i++) {
        String number = cited.group(i);
        boolean others = flat.substring(0, cited.end()).endsWith("Recipes, section " + number);
        if (number != null && !others && !(page && house.numbers(file).contains(number))) {
          problems.add(file + ":" + cited.group() + ": no such section here; name the page");
        }
      }
    }
  }

  private void pages(String flat) {
    Matcher named = PAGE.matcher(flat);
    while (named.find()) {
      String name = named.group(1);
      if (!house.hasPath(name) && !house.hasPath("docs/" + name) && !house.hasPath(beside(name))) {
        problems.add(file + ": " + name + ": no such page");
      }
    }
  }

  private String beside(String name) {
    Path folder = Path.of(file).resolveSibling(name).normalize();
    return folder.toString().replace('\\', '/');
  }

  private void paths(String flat) {
    Matcher named = PATH.matcher(flat);
    while (named.find()) {
      String path = named.group(1);
      boolean made = path.contains("/target/") || path.matches(".*\\b[A-Z]{3,}\\b.*");
      made |= flat.substring(named.end()).matches("(?s)-?\\$.*"); // a variable follows
      made |= path.contains("*") && !page; // of a shell, where a star may stand for folders
      if (!made && !house.hasPath(path) && !path.endsWith(".md")) {
        problems.add(file + ": " + path + ": no such file or folder");
      }
    }
  }

  private void links(String text) {
    Matcher link = LINK.matcher(text);
    while (link.find()) {
      String target = link.group(1);
      if (target.matches("(https?|mailto):.*|…")) {
        continue;
      }
      int hash = target.indexOf('#');
      String path = hash < 0 ? target : target.substring(0, hash);
      String there = path.isEmpty() ? file : beside(path);
      if (!house.hasPath(there)) {
        problems.add(file + ": link to " + target + ": no such file or page");
      } else if (hash >= 0 && !house.hasAnchor(there, target.substring(hash + 1))) {
        problems.add(file + ": link to " + target + ": no such heading");
      }
    }
  }

  private void types(String text) {
    Matcher inRoom = IN_ROOM.matcher(decision ? "" : text);
    while (inRoom.find()) {
      if (house.hasRoom(inRoom.group(1)) && !house.hasType(inRoom.group(1), inRoom.group(2))) {
        problems.add(file + ": " + inRoom.group().substring(1) + ": no such type in that room");
      }
    }
    Matcher words = WORDS.matcher(decision ? "" : text);
    while (words.find()) {
      if (!house.hasType(words.group(1)) && !OTHERS.contains(words.group(1))) {
        problems.add(file + ": " + words.group(1) + ": no such type");
      }
    }
  }

  private void tests(String flat) {
    Matcher named = TEST.matcher(flat);
    while (named.find()) {
      String method = named.group(2) == null || named.group(2).equals("java") ? "" : named.group(2);
      if (!house.hasTest(named.group(1), method) && !OTHERS.contains(named.group(1))) {
        problems.add(file + ": " + named.group() + ": no such test");
      }
    }
  }

  /** Methods of tests in a page, named without their class. */
  static List<String> methods(String page) {
    List<String> methods = new ArrayList<>();
    Matcher named = TEST_METHOD.matcher(page);
    while (named.find()) {
      methods.add(named.group(1));
    }
    return methods;
  }
}
