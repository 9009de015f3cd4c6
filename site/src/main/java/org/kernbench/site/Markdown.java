package org.kernbench.site;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TableCell;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Code;
import org.commonmark.node.CustomNode;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.HardLineBreak;
import org.commonmark.node.Heading;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.ListItem;
import org.commonmark.node.Node;
import org.commonmark.node.Paragraph;
import org.commonmark.node.SoftLineBreak;
import org.commonmark.node.Text;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.NodeRenderer;
import org.commonmark.renderer.html.AttributeProvider;
import org.commonmark.renderer.html.HtmlNodeRendererContext;
import org.commonmark.renderer.html.HtmlRenderer;
import org.commonmark.renderer.html.HtmlWriter;

/**
 * Makes pages of the Markdown files of the repository. Links from page to page stay links; files
 * that a page shows or names are remembered, to be laid beside the pages.
 */
final class Markdown {
  private static final List<Extension> EXTENSIONS = List.of(TablesExtension.create());
  private static final Parser PARSER = Parser.builder().extensions(EXTENSIONS).build();

  /** A box that moves sideways where the window is narrower than the table. */
  private static final String TABLE = "<div class=\"table\">";

  private final Path root;
  private final Set<String> files = new TreeSet<>();

  /** Of the repository at a path. */
  Markdown(Path root) {
    this.root = root;
  }

  /** Files and folders, from the root on, that pages made so far link to and that are no pages. */
  Set<String> files() {
    return files;
  }

  /** The page of a file of the repository; {@code README.md} is the site's first page. */
  Page page(String file, String text) {
    return page(file, pageOf(file), text);
  }

  /** The page of a text that stands in no file. */
  Page page(String file, String path, String text) {
    Node document = PARSER.parse(text);
    Outline outline = new Outline();
    document.accept(outline);
    document.accept(new Relinker(file));
    HtmlRenderer renderer =
        HtmlRenderer.builder()
            .extensions(EXTENSIONS)
            .attributeProviderFactory(context -> attributes(outline))
            .nodeRendererFactory(CodeBlocks::new)
            .build();
    List<Section> sections = outline.sections();
    String title = sections.getFirst().heading();
    String language = file.endsWith(".ko.md") ? "ko" : "en";
    String html =
        renderer
            .render(document)
            .replace("<table>", TABLE + "<table>")
            .replace("</table>", "</table></div>");
    return new Page(path, title, language, html, sections, outline.headings());
  }

  /** Where the page of a Markdown file is. */
  static String pageOf(String file) {
    return file.equals("README.md") ? "index.html" : file.replaceFirst("\\.md$", ".html");
  }

  private static AttributeProvider attributes(Outline outline) {
    return (node, tag, attributes) -> {
      String anchor = outline.anchors.get(node);
      if (anchor != null) {
        attributes.put("id", anchor);
      }
      if (node instanceof Image) {
        attributes.put("loading", "lazy");
      }
      if (node instanceof TableCell cell && cell.isHeader()) {
        attributes.put("scope", "col");
      }
    };
  }

  // ---- links ----

  /** Turns links to Markdown files into links to their pages, seen from the page of one file. */
  private final class Relinker extends AbstractVisitor {
    private final String file;

    Relinker(String file) {
      this.file = file;
    }

    @Override
    public void visit(Link link) {
      link.setDestination(target(link.getDestination()));
      visitChildren(link);
    }

    @Override
    public void visit(Image image) {
      image.setDestination(target(image.getDestination()));
      visitChildren(image);
    }

    private String target(String destination) {
      if (destination.startsWith("#") || destination.matches("[a-z]+:.*")) {
        return destination;
      }
      int hash = destination.indexOf('#');
      String anchor = hash < 0 ? "" : destination.substring(hash);
      String name = hash < 0 ? destination : destination.substring(0, hash);
      Path folder = Path.of("/" + file).getParent();
      String wanted = folder.resolve(name).normalize().toString().substring(1).replace('\\', '/');
      return relative(pageOf(file), placeOf(wanted)) + anchor;
    }

    private String placeOf(String wanted) {
      if (wanted.endsWith(".md")) {
        return pageOf(wanted);
      }
      files.add(wanted);
      return Files.isDirectory(root.resolve(wanted)) ? wanted + "/index.html" : wanted;
    }
  }

  /** The way from one page to another place of the site. */
  static String relative(String from, String to) {
    Path folder = Path.of("/" + from).getParent();
    return folder.relativize(Path.of("/" + to)).toString().replace('\\', '/');
  }

  // ---- headings ----

  /** Headings with their names, and the text under each. */
  private static final class Outline extends AbstractVisitor {
    private final Anchors names = new Anchors();
    private final Map<Node, String> anchors = new IdentityHashMap<>();
    private final List<Section> done = new ArrayList<>();
    private final List<Section> second = new ArrayList<>();
    private String heading = "";
    private String anchor = "";
    private StringBuilder text = new StringBuilder();
    private boolean begun;

    List<Section> sections() {
      List<Section> all = new ArrayList<>(done);
      all.add(new Section(heading, anchor, text.toString().strip()));
      return all;
    }

    List<Section> headings() {
      return second;
    }

    @Override
    public void visit(Heading node) {
      if (begun) {
        done.add(new Section(heading, anchor, text.toString().strip()));
      }
      text = new StringBuilder();
      visitChildren(node);
      heading = text.toString().strip();
      anchor = names.next(heading);
      anchors.put(node, anchor);
      if (node.getLevel() == 2) {
        second.add(new Section(heading, anchor, ""));
      }
      text = new StringBuilder();
      begun = true;
    }

    @Override
    public void visit(Text node) {
      text.append(node.getLiteral());
    }

    @Override
    public void visit(Code node) {
      text.append(node.getLiteral());
    }

    @Override
    public void visit(FencedCodeBlock node) {
      text.append(node.getLiteral()).append(' ');
    }

    @Override
    public void visit(SoftLineBreak node) {
      text.append(' ');
    }

    @Override
    public void visit(HardLineBreak node) {
      text.append(' ');
    }

    @Override
    public void visit(Paragraph node) {
      visitChildren(node);
      text.append(' ');
    }

    @Override
    public void visit(ListItem node) {
      visitChildren(node);
      text.append(' ');
    }

    @Override
    public void visit(CustomNode node) {
      visitChildren(node);
      if (node instanceof TableCell) {
        text.append(' ');
      }
    }
  }

  // ---- what the library has in another form ----

  /** Blocks of code with the name of the file that they are. */
  private record CodeBlocks(HtmlNodeRendererContext context) implements NodeRenderer {
    @Override
    public Set<Class<? extends Node>> getNodeTypes() {
      return Set.of(FencedCodeBlock.class);
    }

    @Override
    public void render(Node node) {
      FencedCodeBlock block = (FencedCodeBlock) node;
      String[] info = String.valueOf(block.getInfo()).strip().split(" ", 2);
      boolean named = info.length == 2 && info[1].matches("[\\w./-]+\\.\\w+");
      HtmlWriter html = context.getWriter();
      html.line();
      html.tag("figure", Map.of("class", "code"));
      if (named) {
        html.tag("figcaption");
        html.text(info[1]);
        html.tag("/figcaption");
      }
      html.tag("pre");
      html.tag("code", info[0].isEmpty() ? Map.of() : Map.of("class", "language-" + info[0]));
      html.text(block.getLiteral());
      html.tag("/code");
      html.tag("/pre");
      html.tag("/figure");
      html.line();
    }
  }
}
