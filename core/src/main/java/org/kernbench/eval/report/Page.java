package org.kernbench.eval.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One HTML page that holds all it shows. Its policy allows its own style and scripts, by their
 * hashes, and nothing else: what data say can be shown and never run.
 */
public final class Page {
  private static final Pattern PLACE = Pattern.compile("\\{\\{([A-Z]+)}}");

  private final String template;
  private final Map<String, String> parts = new LinkedHashMap<>();
  private final List<String> scripts = new ArrayList<>();

  /** A page by its template, one of those packed with the program. */
  public Page(String template) {
    this.template = resource(template);
  }

  /** The style: files of the program, one after the other. */
  public Page style(String... files) {
    parts.put("STYLE", joined(files));
    return this;
  }

  /** A script for a place of the template: files of the program, one after the other. */
  public Page script(String place, String... files) {
    String script = joined(files);
    parts.put(place, script);
    scripts.add(script);
    return this;
  }

  /** JSON for a place in an element that no browser runs: nothing in it can end the element. */
  public Page data(String place, String json) {
    parts.put(
        place,
        json.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"));
    return this;
  }

  /** Markup that is right as it is. */
  public Page markup(String place, String html) {
    parts.put(place, html);
    return this;
  }

  /**
   * The page with its parts, each put in once: a part is never looked through for the place of
   * another.
   */
  @Override
  public String toString() {
    parts.put("POLICY", policy());
    StringBuilder html = new StringBuilder();
    Matcher place = PLACE.matcher(template);
    int from = 0;
    while (place.find()) {
      html.append(template, from, place.start()).append(parts.getOrDefault(place.group(1), ""));
      from = place.end();
    }
    return html.append(template, from, template.length()).toString();
  }

  private String policy() {
    StringBuilder policy = new StringBuilder("default-src 'none'; base-uri 'none'; ");
    policy.append("form-action 'none'; img-src data:; style-src ");
    policy.append(source(parts.getOrDefault("STYLE", ""))).append("; script-src");
    for (String script : scripts) {
      policy.append(' ').append(source(script));
    }
    return policy.toString();
  }

  /** The element that holds a text has a line end before and after it. */
  private static String source(String text) {
    byte[] element = ("\n" + text + "\n").getBytes(StandardCharsets.UTF_8);
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(element);
      return "'sha256-" + Base64.getEncoder().encodeToString(digest) + "'";
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java has SHA-256", e);
    }
  }

  private static String joined(String... files) {
    StringBuilder all = new StringBuilder();
    for (String file : files) {
      all.append(resource(file));
    }
    return all.toString();
  }

  private static String resource(String name) {
    try (InputStream in = Page.class.getResourceAsStream("/report/" + name)) {
      if (in == null) {
        throw new AssertionError(name + " is not packed with the program");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
