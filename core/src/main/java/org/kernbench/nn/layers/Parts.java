package org.kernbench.nn.layers;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.kernbench.nn.autograd.Parameter;

/** What a {@link Module} consists of; it adds each part when it makes it. */
public final class Parts {
  private final List<Parameter> own = new ArrayList<>();
  private final List<Module> children = new ArrayList<>();

  /** Nothing yet. */
  public Parts() {}

  /** Adds a parameter, and returns it. */
  public Parameter add(Parameter parameter) {
    own.add(parameter);
    return parameter;
  }

  /** Adds a further part, and returns it. */
  public <M extends Module> M add(M module) {
    children.add(module);
    return module;
  }

  List<Parameter> parameters() {
    List<Parameter> all = new ArrayList<>(own);
    children.forEach(child -> all.addAll(child.parameters()));
    return Collections.unmodifiableList(all);
  }
}
