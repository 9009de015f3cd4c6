package org.kernbench.site;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.kernbench.cli.Commands;

/**
 * Makes the site: a page of every Markdown file, the reference, the files that pages link to, and
 * the index of the search. All of it works from a folder, without a server and without a network.
 */
public final class MakeSite {
  private static final List<String> OWN = List.of("site.css", "site.js");

  private final Path root;
  private final Path out;
  private final Markdown markdown;

  private MakeSite(Path root, Path out) {
    this.root = root;
    this.out = out;
    this.markdown = new Markdown(root);
  }

  /**
   * Makes the site.
   *
   * @param args the repository, and the folder to write to; pages of Javadoc that are there, in
   *     {@code javadoc}, get their place in the navigation
   */
  public static void main(String[] args) throws IOException {
    List<Page> pages = make(Path.of(args[0]), Path.of(args[1]));
    System.out.printf(
        Locale.ROOT,
        "%,d pages, %,d sections in the search: %s%n",
        pages.size(),
        pages.stream().mapToInt(p -> p.sections().size()).sum(),
        Path.of(args[1]).resolve("index.html"));
  }

  /** Makes the site of a repository in a folder. */
  static List<Page> make(Path root, Path out) throws IOException {
    return new MakeSite(root, out).make();
  }

  private List<Page> make() throws IOException {
    Map<String, String> texts = new TreeMap<>();
    for (String file : markdownFiles()) {
      texts.put(file, Files.readString(root.resolve(file)));
    }
    texts.putAll(Reference.pages(texts.get("docs/machine-guide.md")));
    List<Page> pages = new ArrayList<>();
    texts.forEach((file, text) -> pages.add(markdown.page(file, text)));
    for (String file : List.copyOf(markdown.files())) {
      lay(file, pages);
    }
    Navigation navigation = Navigation.of(Files.exists(out.resolve("javadoc/index.html")));
    String frame = resource("frame.html");
    for (Page page : pages) {
      write(page.path(), framed(frame, navigation, page));
    }
    for (String own : OWN) {
      write(own, resource(own));
    }
    write("search-index.js", SearchIndex.of(pages));
    return pages;
  }

  private Set<String> markdownFiles() throws IOException {
    Set<String> files = new TreeSet<>();
    for (String top : List.of("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "examples")) {
      try (Stream<Path> walk = Files.walk(root.resolve(top))) {
        walk.map(p -> root.relativize(p).toString().replace('\\', '/'))
            .filter(name -> name.endsWith(".md"))
            .forEach(files::add);
      }
    }
    return files;
  }

  /** Copies a file that a page links to; a folder becomes a list of its files, each laid too. */
  private void lay(String file, List<Page> pages) throws IOException {
    Path source = root.resolve(file);
    if (!Files.exists(source)) {
      throw new IOException("a page links to " + file + ", which is not there");
    }
    if (!Files.isDirectory(source)) {
      Path target = out.resolve(file);
      Files.createDirectories(target.getParent());
      Files.write(target, Files.readAllBytes(source));
      return;
    }
    if (Files.exists(source.resolve("README.md"))) {
      StringBuilder text = new StringBuilder("# " + file + "\n\n* [README.md](README.md)\n");
      pages.add(folder(file, text));
      return;
    }
    pages.add(folder(file, new StringBuilder("# " + file + "\n\n")));
    for (String name : names(source)) {
      if (Files.isRegularFile(source.resolve(name))) {
        lay(file + "/" + name, pages);
      }
    }
  }

  private Page folder(String file, StringBuilder text) throws IOException {
    for (String name : names(root.resolve(file))) {
      if (Files.isRegularFile(root.resolve(file).resolve(name)) && !name.equals("README.md")) {
        text.append("* [").append(name).append("](").append(name).append(")\n");
        lay(file + "/" + name, List.of());
      }
    }
    return markdown.page(file + "/index.md", file + "/index.html", text.toString());
  }

  private static List<String> names(Path folder) throws IOException {
    try (Stream<Path> list = Files.list(folder)) {
      return list.map(p -> p.getFileName().toString()).sorted().toList();
    }
  }

  private static String framed(String frame, Navigation navigation, Page page) {
    StringBuilder contents = new StringBuilder();
    for (Section heading : page.headings()) {
      contents
          .append("<li><a href=\"#")
          .append(heading.anchor())
          .append("\">")
          .append(escaped(heading.heading()))
          .append("</a></li>\n");
    }
    return frame
        .replace("{title}", escaped(page.title()))
        .replace("{language}", page.language())
        .replace("{root}", page.toRoot())
        .replace("{version}", Commands.version())
        .replace("{navigation}", navigation.html(page))
        .replace("{few}", page.headings().size() < 3 ? "hidden" : "")
        .replace("{contents}", contents)
        .replace("{text}", page.html());
  }

  static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }

  private void write(String file, String text) throws IOException {
    Path target = out.resolve(file);
    Files.createDirectories(target.getParent());
    Files.writeString(target, text);
  }

  private static String resource(String name) {
    try (InputStream in = MakeSite.class.getResourceAsStream(name)) {
      return new String(
          java.util.Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
