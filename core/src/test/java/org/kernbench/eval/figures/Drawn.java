package org.kernbench.eval.figures;

import java.awt.font.FontRenderContext;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.NamedNodeMap;
import org.w3c.dom.Node;
import org.xml.sax.SAXException;

/** What a figure consists of, read back from its SVG: each element with what it inherits. */
record Drawn(double width, double height, List<Drawn.Item> items) {
  /** An element, its attributes and those of the groups around it. */
  record Item(String kind, Map<String, String> attributes, String text) {
    double at(String name) {
      return Double.parseDouble(attributes.getOrDefault(name, "0"));
    }

    /** Inside, as {@code rgb(r,g,b)}; {@code none} of what is only a line. */
    String fill() {
      return attributes.getOrDefault("fill", "");
    }

    String stroke() {
      return attributes.getOrDefault("stroke", "");
    }

    /** Of a text in an upright font. */
    double wide() {
      String size = attributes.getOrDefault("font-size", "12px");
      float points = Float.parseFloat(size.replace("px", ""));
      FontRenderContext measure = new FontRenderContext(null, true, true);
      return FigureFonts.plain(points).getStringBounds(text, measure).getWidth();
    }

    double middle() {
      return at("x") + wide() / 2;
    }

    double end() {
      return at("x") + wide();
    }
  }

  static Drawn of(Figure figure) {
    try {
      DocumentBuilderFactory xml = DocumentBuilderFactory.newInstance();
      xml.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
      Element svg =
          xml.newDocumentBuilder()
              .parse(new ByteArrayInputStream(figure.svg().getBytes(StandardCharsets.UTF_8)))
              .getDocumentElement();
      List<Item> items = new ArrayList<>();
      read(svg, Map.of(), items);
      return new Drawn(
          Double.parseDouble(svg.getAttribute("width")),
          Double.parseDouble(svg.getAttribute("height")),
          items.subList(1, items.size())); // the ground
    } catch (IOException | SAXException | ParserConfigurationException e) {
      throw new AssertionError(e);
    }
  }

  private static void read(Element element, Map<String, String> around, List<Item> items) {
    Map<String, String> all = new HashMap<>(around);
    NamedNodeMap own = element.getAttributes();
    for (int i = 0; i < own.getLength(); i++) {
      all.put(own.item(i).getNodeName(), own.item(i).getNodeValue());
    }
    switch (element.getTagName()) {
      case "text", "rect", "line", "path" ->
          items.add(new Item(element.getTagName(), all, element.getTextContent().strip()));
      default -> {
        for (Node n = element.getFirstChild(); n != null; n = n.getNextSibling()) {
          if (n instanceof Element inner) {
            read(inner, all, items);
          }
        }
      }
    }
  }

  List<Item> all(String kind) {
    return items.stream().filter(i -> i.kind().equals(kind)).toList();
  }

  List<Item> texts() {
    return all("text");
  }

  /** The one text that says this. */
  Item text(String said) {
    List<Item> found = texts().stream().filter(i -> i.text().equals(said)).toList();
    if (found.size() != 1) {
      throw new AssertionError(
          said
              + " is there %d times of %s"
                  .formatted(found.size(), texts().stream().map(Item::text).toList()));
    }
    return found.getFirst();
  }

  /** Pairs of texts that lie on each other, and texts that are not inside the picture. */
  List<String> clashes() {
    List<String> clashes = new ArrayList<>();
    List<Item> texts = texts();
    for (int i = 0; i < texts.size(); i++) {
      Item one = texts.get(i);
      if (one.at("x") < 0 || one.end() > width || one.at("y") > height - 4 || one.at("y") < 10) {
        clashes.add(one.text() + " leaves the picture");
      }
      for (Item other : texts.subList(i + 1, texts.size())) {
        boolean level = Math.abs(one.at("y") - other.at("y")) < 10;
        if (level && one.at("x") < other.end() && other.at("x") < one.end()) {
          clashes.add(one.text() + " on " + other.text());
        }
      }
    }
    return clashes;
  }
}
