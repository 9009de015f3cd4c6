package org.kernbench.config;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.common.SpecVersion;
import org.snakeyaml.engine.v2.composer.Composer;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlVersionException;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.parser.Parser;
import org.snakeyaml.engine.v2.parser.ParserImpl;
import org.snakeyaml.engine.v2.scanner.StreamReader;
import org.snakeyaml.engine.v2.schema.FailsafeSchema;

/**
 * The sections, lists and scalars of a configuration, each with its position. Immutable.
 *
 * <p>Scalars stay text: what they mean is decided by who reads them ({@link ConfigMap}), never by
 * YAML's type guessing. Tags have no effect, so a file cannot create objects.
 */
public final class ConfigTree {
  private static final int MAX_CODE_POINTS = 1 << 20;
  private static final int MAX_VALUES = 100_000;
  private static final int MAX_DEPTH = 50;
  private static final Pattern IN_BRACKETS = Pattern.compile("\\[(\\d{1,6})]");
  private static final String TOO_MUCH =
      "more than %s values (aliases counted each time) or %s levels; expected a configuration"
          .formatted(MAX_VALUES, MAX_DEPTH);

  private final ConfigNode.Section root;

  private ConfigTree(ConfigNode.Section root) {
    this.root = root;
  }

  /**
   * Reads YAML text. Syntax errors and duplicate keys go to {@code problems}; the result then holds
   * what could be read.
   *
   * @param file the name that positions show
   */
  public static ConfigTree parse(String file, String text, Problems problems) {
    Position start = new Position(file, 1, 1);
    Optional<Node> node = compose(file, text, problems);
    if (node.isEmpty()) {
      return new ConfigTree(new ConfigNode.Section(new LinkedHashMap<>(), start));
    }
    ConfigNode converted = new Converter(file, problems).convert(node.get(), "", 0);
    if (converted instanceof ConfigNode.Section section) {
      return new ConfigTree(section);
    }
    problems.add(
        converted.at(), "", "got " + converted.describe() + "; expected keys, \"key: value\"");
    return new ConfigTree(new ConfigNode.Section(new LinkedHashMap<>(), start));
  }

  /**
   * The tree of which {@link #canonicalText} is the text: every scalar of it is there again, and no
   * empty list or section.
   *
   * @param lines {@code path=text}, in any order
   */
  public static ConfigTree ofCanonicalLines(String file, List<String> lines, Problems problems) {
    List<String> inOrder = new ArrayList<>(lines);
    inOrder.sort(Comparator.comparing(ConfigTree::withWideNumbers));
    Position start = new Position(file, 1, 1);
    ConfigTree tree = new ConfigTree(new ConfigNode.Section(new LinkedHashMap<>(), start));
    for (int i = 0; i < inOrder.size(); i++) {
      // each from a place of its own: what one file may not say twice, several may
      Position at = new Position(file + ", line " + (i + 1), 1, 1);
      tree = tree.overridden(inOrder.get(i), at, "pe.dma.setup=10 ns", problems);
    }
    return tree;
  }

  /** A path whose numbers in brackets sort by their value. */
  private static String withWideNumbers(String line) {
    String path = line.substring(0, Math.max(0, line.indexOf('=')));
    return IN_BRACKETS
        .matcher(path)
        .replaceAll(m -> String.format(Locale.ROOT, "[%06d]", Integer.parseInt(m.group(1))));
  }

  /** Whether nothing is in it: the file is empty, or could not be read as keys and values. */
  public boolean isEmpty() {
    return root.entries().isEmpty();
  }

  /**
   * This tree with every key of {@code upper} laid over it: sections merge, other values replace.
   */
  public ConfigTree overlaid(ConfigTree upper) {
    return new ConfigTree(root.overlaid(upper.root));
  }

  /**
   * This tree with overrides such as {@code system.sips.count=8} applied in order. Positions show
   * the file {@code --set}, the number of the override as line, and the column inside it. A value
   * in brackets is a list, {@code pe.gemm.split_k=[1, 2]}, one in braces a section, {@code
   * system.network=[{kind: ring, size: 4}]}.
   */
  public ConfigTree overridden(List<String> overrides, Problems problems) {
    return overridden(overrides, "--set", "system.sips.count=8", problems);
  }

  /**
   * This tree with the overrides of another option, applied in order.
   *
   * @param option what positions show as the file
   * @param example of an override, for messages
   */
  public ConfigTree overridden(
      List<String> overrides, String option, String example, Problems problems) {
    ConfigTree result = this;
    for (int i = 0; i < overrides.size(); i++) {
      Position start = new Position(option, i + 1, 1);
      result = result.overridden(overrides.get(i), start, example, problems);
    }
    return result;
  }

  /**
   * The values without positions: sections as maps, lists as lists, scalars as the text that is
   * written.
   */
  public Map<String, Object> plain() {
    return plain(root);
  }

  private static Map<String, Object> plain(ConfigNode.Section section) {
    Map<String, Object> all = new LinkedHashMap<>();
    section.entries().forEach((key, entry) -> all.put(key, plain(entry.value())));
    return all;
  }

  private static Object plain(ConfigNode node) {
    return switch (node) {
      case ConfigNode.Scalar scalar -> scalar.text();
      case ConfigNode.Sequence list -> list.items().stream().map(ConfigTree::plain).toList();
      case ConfigNode.Section section -> plain(section);
    };
  }

  /** Whether there is such a key at the top level. */
  public boolean has(String key) {
    return root.entries().get(key) != null;
  }

  /** The text of a scalar at the top level, if it is there. */
  public Optional<String> topLevelText(String key) {
    ConfigNode.Entry entry = root.entries().get(key);
    return entry != null && entry.value() instanceof ConfigNode.Scalar scalar
        ? Optional.of(scalar.text())
        : Optional.empty();
  }

  /** Where the value of a key at the top level stands; the start of the file if there is none. */
  public Position topLevelPosition(String key) {
    ConfigNode.Entry entry = root.entries().get(key);
    return entry == null ? root.at() : entry.value().at();
  }

  /** Whether there is a value at a dotted path. */
  public boolean contains(String path) {
    ConfigNode node = root;
    for (String key : keys(path)) {
      ConfigNode inner = child(node, key);
      if (inner == null) {
        return false;
      }
      node = inner;
    }
    return true;
  }

  /** Where the value at a dotted path stands; the innermost section around it if it is missing. */
  public Position positionOf(String path) {
    ConfigNode node = root;
    for (String key : keys(path)) {
      ConfigNode inner = child(node, key);
      if (inner == null) {
        return node.at();
      }
      node = inner;
    }
    return node.at();
  }

  /** The keys of a path; those of a list are numbers, after a point or in brackets, which stay. */
  private static String[] keys(String path) {
    return path.replace("[", ".[").split("\\.");
  }

  private static @Nullable ConfigNode child(ConfigNode node, String key) {
    if (node instanceof ConfigNode.Section section) {
      ConfigNode.Entry entry = section.entries().get(key);
      return entry == null ? null : entry.value();
    }
    if (node instanceof ConfigNode.Sequence list) {
      int index = index(key, list);
      return index < 0 ? null : list.items().get(index);
    }
    return null;
  }

  /** The number that a key is in a list, or -1. */
  private static int index(String key, ConfigNode.Sequence list) {
    int index = index(key);
    return index < list.items().size() ? index : -1;
  }

  private static int index(String key) {
    String number = isBracketed(key) ? key.substring(1, key.length() - 1) : key;
    return number.matches("\\d{1,6}") ? Integer.parseInt(number) : -1;
  }

  private static boolean isBracketed(String key) {
    return key.startsWith("[") && key.endsWith("]");
  }

  /** This tree without one key of the top level. */
  public ConfigTree without(String key) {
    Map<String, ConfigNode.Entry> rest = new LinkedHashMap<>(root.entries());
    rest.remove(key);
    return new ConfigTree(new ConfigNode.Section(rest, root.at()));
  }

  /** Typed access from the top; problems are added to {@code problems}. */
  public ConfigMap root(Problems problems) {
    return new ConfigMap(root, "", problems, true);
  }

  /**
   * One line {@code path=text} per scalar, sorted by path, without the given top-level keys: equal
   * configurations give equal text, whatever the order of their keys.
   */
  public String canonicalText(List<String> withoutTopLevelKeys) {
    List<String> lines = new ArrayList<>();
    for (Map.Entry<String, ConfigNode.Entry> entry : root.entries().entrySet()) {
      if (!withoutTopLevelKeys.contains(entry.getKey())) {
        flatten(entry.getKey(), entry.getValue().value(), lines);
      }
    }
    lines.sort(null);
    return String.join("\n", lines);
  }

  private static void flatten(String path, ConfigNode node, List<String> lines) {
    if (node instanceof ConfigNode.Section section) {
      for (Map.Entry<String, ConfigNode.Entry> entry : section.entries().entrySet()) {
        flatten(path.concat(".").concat(entry.getKey()), entry.getValue().value(), lines);
      }
    } else if (node instanceof ConfigNode.Sequence sequence) {
      for (int i = 0; i < sequence.items().size(); i++) {
        flatten(path + "[" + i + "]", sequence.items().get(i), lines);
      }
    } else if (node instanceof ConfigNode.Scalar scalar) {
      lines.add(path.concat("=").concat(scalar.text()));
    }
  }

  private ConfigTree overridden(
      String override, Position start, String example, Problems problems) {
    int equals = override.indexOf('=');
    String path = equals < 0 ? override : override.substring(0, equals).trim();
    if (equals < 0
        || path.isEmpty()
        || path.startsWith(".")
        || path.endsWith(".")
        || path.contains("..")) {
      problems.add(
          start,
          path,
          "got \"" + Shown.text(override) + "\"; expected path=value, e.g. " + example);
      return this;
    }
    String text = override.substring(equals + 1).trim();
    Position valueAt = new Position(start.file(), start.line(), equals + 2);
    ConfigNode value = value(text, valueAt);
    ConfigNode replaced = replaced(root, keys(path), 0, value, start);
    return new ConfigTree((ConfigNode.Section) replaced);
  }

  /** A scalar, a list in brackets or a section in braces, as YAML has them on one line. */
  private static ConfigNode value(String text, Position at) {
    if (isIn(text, "[", "]")) {
      return new ConfigNode.Sequence(
          inside(text).stream().map(item -> value(item, at)).toList(), at);
    }
    if (isIn(text, "{", "}") && inside(text).stream().allMatch(e -> e.indexOf(':') > 0)) {
      Map<String, ConfigNode.Entry> entries = new LinkedHashMap<>();
      for (String entry : inside(text)) {
        int colon = entry.indexOf(':');
        ConfigNode value = value(entry.substring(colon + 1).strip(), at);
        entries.put(entry.substring(0, colon).strip(), new ConfigNode.Entry(at, value));
      }
      return new ConfigNode.Section(entries, at);
    }
    return new ConfigNode.Scalar(text, at);
  }

  private static boolean isIn(String text, String first, String last) {
    return text.startsWith(first) && text.endsWith(last) && text.length() > 1;
  }

  private static List<String> inside(String text) {
    String inside = text.substring(1, text.length() - 1);
    return inside.isBlank() ? List.of() : FlowItems.of(inside);
  }

  /**
   * A node with a value in place of the one at a path, or beside the others if there is none; the
   * number in brackets that is next makes a list longer, {@code [0]} a list of what was none.
   */
  private static ConfigNode replaced(
      @Nullable ConfigNode node, String[] keys, int depth, ConfigNode value, Position start) {
    if (depth == keys.length) {
      return value;
    }
    String key = keys[depth];
    if (node instanceof ConfigNode.Sequence list && index(key, list) >= 0) {
      int index = index(key, list);
      List<ConfigNode> items = new ArrayList<>(list.items());
      items.set(index, replaced(items.get(index), keys, depth + 1, value, start));
      return new ConfigNode.Sequence(items, list.at());
    }
    List<ConfigNode> items =
        node instanceof ConfigNode.Sequence list
            ? new ArrayList<>(list.items())
            : new ArrayList<>();
    if (isBracketed(key) && index(key) == items.size()) {
      items.add(replaced(null, keys, depth + 1, value, start));
      return new ConfigNode.Sequence(items, start);
    }
    Map<String, ConfigNode.Entry> entries = new LinkedHashMap<>();
    if (node instanceof ConfigNode.Section section) {
      entries.putAll(section.entries());
    }
    ConfigNode inner = node == null ? null : child(node, key);
    entries.put(key, new ConfigNode.Entry(start, replaced(inner, keys, depth + 1, value, start)));
    return new ConfigNode.Section(entries, start);
  }

  private static Optional<Node> compose(String file, String text, Problems problems) {
    if (text.length() > MAX_CODE_POINTS) { // the parser would take long to find out
      problems.add(
          new Position(file, 1, 1),
          "",
          "has " + text.length() + " characters; expected at most " + MAX_CODE_POINTS);
      return Optional.empty();
    }
    LoadSettings settings =
        LoadSettings.builder()
            .setLabel(file)
            .setSchema(new FailsafeSchema())
            .setAllowDuplicateKeys(true)
            .setCodePointLimit(MAX_CODE_POINTS)
            .build();
    try {
      Parser parser = new ParserImpl(settings, new StreamReader(settings, text));
      // a key is a value too here, and the file around them a level
      return new Composer(settings, new GuardedParser(parser, MAX_DEPTH + 1, 2 * MAX_VALUES))
          .getSingleNode();
    } catch (GuardedParser.TooMuchException e) {
      Position at = e.at().map(m -> position(file, m)).orElse(new Position(file, 1, 1));
      problems.add(at, "", TOO_MUCH);
      return Optional.empty();
    } catch (MarkedYamlEngineException e) {
      Position at = e.getProblemMark().map(m -> position(file, m)).orElse(new Position(file, 1, 1));
      String context = e.getContext() == null ? "" : e.getContext() + ", ";
      problems.add(at, "", "not valid YAML: " + context + e.getProblem());
      return Optional.empty();
    } catch (YamlVersionException e) {
      SpecVersion found = e.getSpecVersion();
      problems.add(
          new Position(file, 1, 1),
          "",
          "says %%YAML %s.%s; expected 1.2, or no such line"
              .formatted(found.getMajor(), found.getMinor()));
      return Optional.empty();
    } catch (YamlEngineException e) {
      problems.add(new Position(file, 1, 1), "", "not valid YAML: " + e.getMessage());
      return Optional.empty();
    }
  }

  /** Turns nodes of the YAML library into ours; one file. */
  private static final class Converter {
    private final String file;
    private final Problems problems;

    /** Aliases repeat what they name, so a short text can stand for very many values. */
    private int values;

    Converter(String file, Problems problems) {
      this.file = file;
      this.problems = problems;
    }

    ConfigNode convert(Node node, String path, int depth) {
      Position at = position(file, node);
      if (++values > MAX_VALUES || depth > MAX_DEPTH) {
        if (values == MAX_VALUES + 1 || depth > MAX_DEPTH) {
          problems.add(at, path, TOO_MUCH);
          values = MAX_VALUES + 1;
        }
        return new ConfigNode.Scalar("", at);
      }
      if (node instanceof MappingNode mapping) {
        return new ConfigNode.Section(entries(mapping, path, depth), at);
      }
      if (node instanceof SequenceNode sequence) {
        List<ConfigNode> items = new ArrayList<>();
        for (Node item : sequence.getValue()) {
          if (values <= MAX_VALUES) {
            items.add(convert(item, path + "[" + items.size() + "]", depth + 1));
          }
        }
        return new ConfigNode.Sequence(items, at);
      }
      return new ConfigNode.Scalar(node instanceof ScalarNode scalar ? scalar.getValue() : "", at);
    }

    private Map<String, ConfigNode.Entry> entries(MappingNode mapping, String path, int depth) {
      Map<String, ConfigNode.Entry> entries = new LinkedHashMap<>();
      for (NodeTuple tuple : mapping.getValue()) {
        Position keyAt = position(file, tuple.getKeyNode());
        if (!(tuple.getKeyNode() instanceof ScalarNode keyNode)) {
          problems.add(keyAt, path, "got a key that is not a word; expected \"key: value\"");
          continue;
        }
        if (values > MAX_VALUES) {
          break;
        }
        String key = keyNode.getValue();
        String keyPath = ConfigMap.join(path, key);
        ConfigNode value = convert(tuple.getValueNode(), keyPath, depth + 1);
        ConfigNode.Entry before = entries.putIfAbsent(key, new ConfigNode.Entry(keyAt, value));
        if (before != null) {
          problems.add(
              keyAt, keyPath, "duplicate key; it already stands in line " + before.keyAt().line());
        }
      }
      return entries;
    }
  }

  private static Position position(String file, Node node) {
    Optional<Mark> mark = node.getStartMark();
    return mark.isPresent() ? position(file, mark.get()) : new Position(file, 1, 1);
  }

  private static Position position(String file, Mark mark) {
    return new Position(file, mark.getLine() + 1, mark.getColumn() + 1);
  }
}
