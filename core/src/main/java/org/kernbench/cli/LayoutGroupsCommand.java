package org.kernbench.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.kernbench.config.UsageException;
import org.kernbench.eval.layouts.LayoutGroups;
import org.kernbench.nn.parallel.RankGrid;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench layout groups}: how a grid numbers its ranks. */
@Command(
    name = "groups",
    customSynopsis = "kernbench layout groups LAYOUT [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    parameterListHeading = "%n",
    description = "Shows where each rank is in a layout, and the groups along its dimensions.",
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench layout groups tp=2,cp=3,dp=2 --dims dp,cp",
      """
        kernbench layout groups tp=2,dp=2,pp=2 --view expert:expt_tp=2,ep=2,pp=2:pp --dims \
      expert:ep\
      """
    })
final class LayoutGroupsCommand implements Callable<Integer> {
  private final Terminal terminal;

  @Parameters(
      arity = "1",
      paramLabel = "LAYOUT",
      description =
          """
          Dimensions and sizes, e.g. tp=2,cp=2,dp=2: the first varies fastest with the rank; at \
          the end offset=8 if the first rank is not 0.\
          """)
  private String layout = "";

  @Option(
      names = "--dims",
      paramLabel = "DIM,...",
      description =
          """
          Groups along these together; of a view, VIEW:DIM,...; may be repeated (default: along \
          each dimension).\
          """)
  private List<String> dims = new ArrayList<>();

  @Option(
      names = "--view",
      paramLabel = "NAME:LAYOUT:SHARED",
      description =
          """
          A further factorisation of the same ranks, and which of its dimensions are the \
          layout's; may be repeated.\
          """)
  private List<String> views = new ArrayList<>();

  @Mixin private TextOrJson format = new TextOrJson();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  LayoutGroupsCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    RankGrid grid = RankGrid.parse(layout);
    for (String view : views) {
      String[] parts = view.split(":", -1);
      if (parts.length < 2 || parts.length > 3) {
        throw new UsageException(
            """
            --view: got "%s"; expected NAME:LAYOUT or NAME:LAYOUT:SHARED, e.g. \
            expert:expt_tp=2,ep=2,pp=2:pp\
            """
                .formatted(view));
      }
      RankGrid other = RankGrid.parse(parts[1]);
      boolean shares = parts.length == 3 && !parts[2].isEmpty();
      grid =
          grid.withView(
              parts[0],
              other.shape(),
              other.names(),
              shares ? List.of(parts[2].split(",", -1)) : List.of());
    }
    LayoutGroups groups =
        LayoutGroups.of(grid, dims.stream().map(d -> List.of(d.split(",", -1))).toList());
    terminal.out().print(format.isJson() ? groups.json() : groups.text());
    return 0;
  }
}
