package org.kernbench.eval.layouts;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.TextTable;
import org.kernbench.nn.parallel.RankGrid;

/** {@code kernbench layout groups}: how a grid numbers its ranks, and which groups they form. */
public final class LayoutGroups {
  private final RankGrid grid;
  private final List<Request> requests = new ArrayList<>();

  /** Groups that are asked for: of a view, or of the grid itself if that is empty. */
  private record Request(String view, List<String> dims) {}

  private LayoutGroups(RankGrid grid) {
    this.grid = grid;
  }

  /**
   * Groups of a grid.
   *
   * @param dims sets of dimensions, each of the grid itself or of a view, {@code view:dim}; if
   *     there are none, every single dimension of the grid and of its views
   * @throws org.kernbench.nn.parallel.LayoutException if there is no such view or dimension
   */
  public static LayoutGroups of(RankGrid grid, List<List<String>> dims) {
    LayoutGroups groups = new LayoutGroups(grid);
    for (List<String> set : dims) {
      String first = set.getFirst();
      int colon = first.indexOf(':');
      List<String> names = new ArrayList<>(set);
      names.set(0, first.substring(colon + 1));
      groups.add(colon < 0 ? "" : first.substring(0, colon), names);
    }
    if (dims.isEmpty()) {
      grid.names().forEach(name -> groups.add("", List.of(name)));
      for (String view : grid.views()) {
        grid.view(view).names().forEach(name -> groups.add(view, List.of(name)));
      }
    }
    return groups;
  }

  private void add(String view, List<String> dims) {
    grid.key(view, dims); // refuses what is not there
    requests.add(new Request(view, dims));
  }

  /** For people. */
  public String text() {
    StringBuilder out = new StringBuilder();
    out.append("grid ").append(grid).append("   ").append(grid.size()).append(" ranks\n");
    List<String> header = new ArrayList<>(List.of("rank"));
    header.addAll(grid.names());
    for (String view : grid.views()) {
      out.append("view ").append(view).append(": ").append(grid.view(view)).append('\n');
      grid.view(view).names().forEach(name -> header.add(view + ":" + name));
    }
    TextTable ranks = new TextTable(header);
    for (int rank = grid.offset(); rank < grid.offset() + grid.size(); rank++) {
      List<String> row = new ArrayList<>(List.of("" + rank));
      for (String name : grid.names()) {
        row.add("" + grid.coordinate(rank, name));
      }
      for (String view : grid.views()) {
        for (String name : grid.view(view).names()) {
          row.add("" + grid.view(view).coordinate(rank, name));
        }
      }
      ranks.add(row);
    }
    out.append('\n').append(ranks);
    TextTable table = new TextTable(List.of("groups", "", "", "")).left(0, 3);
    for (Request r : requests) {
      List<List<Integer>> groups = grid.enumerateIn(r.view, r.dims);
      table.add(
          List.of(
              grid.key(r.view, r.dims),
              "" + groups.size(),
              "of " + groups.getFirst().size(),
              shown(groups)));
    }
    return out.append('\n').append(table).toString();
  }

  /** For example {@code [0 1][2 3]}. */
  static String shown(List<List<Integer>> groups) {
    StringBuilder text = new StringBuilder();
    for (List<Integer> group : groups) {
      text.append(group.toString().replace(",", ""));
    }
    return text.toString();
  }

  /** For programs. */
  public String json() {
    Map<String, Object> views = new LinkedHashMap<>();
    for (String view : grid.views()) {
      views.put(view, layout(grid.view(view)));
    }
    Map<String, Object> root = layout(grid);
    root.put("views", views);
    List<Object> ranks = new ArrayList<>();
    for (int rank = grid.offset(); rank < grid.offset() + grid.size(); rank++) {
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("rank", rank);
      for (String name : grid.names()) {
        row.put(name, grid.coordinate(rank, name));
      }
      ranks.add(row);
    }
    root.put("ranks", ranks);
    Map<String, Object> groups = new LinkedHashMap<>();
    for (Request r : requests) {
      groups.put(grid.key(r.view, r.dims), grid.enumerateIn(r.view, r.dims));
    }
    root.put("groups", groups);
    return Json.write(root);
  }

  /** A grid as it is written in JSON. */
  static Map<String, Object> layout(RankGrid grid) {
    Map<String, Object> layout = new LinkedHashMap<>();
    layout.put("layout", grid.toString());
    Map<String, Object> dims = new LinkedHashMap<>();
    for (String name : grid.names()) {
      dims.put(name, grid.size(name));
    }
    layout.put("dims", dims);
    layout.put("offset", grid.offset());
    layout.put("size", grid.size());
    return layout;
  }
}
