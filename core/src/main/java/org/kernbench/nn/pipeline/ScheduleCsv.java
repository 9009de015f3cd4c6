package org.kernbench.nn.pipeline;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.nn.parallel.LayoutException;

/**
 * Schedules as files, in the form that {@code torch.distributed.pipelining} reads and writes: a
 * line for each rank, its actions separated by commas, empty cells where it waits.
 */
public final class ScheduleCsv {
  private ScheduleCsv() {}

  /**
   * Reads a schedule of one chain.
   *
   * @param file for messages
   * @throws LayoutException naming line and cell of what is no action, or what {@link
   *     PipelineSchedule#of} finds
   */
  public static PipelineSchedule parse(String file, String text) {
    List<List<Action>> ranks = new ArrayList<>();
    String[] lines = text.split("\r?\n", -1);
    for (int i = 0; i < lines.length; i++) {
      if (i == lines.length - 1 && lines[i].isBlank()) {
        break;
      }
      List<Action> own = new ArrayList<>();
      String[] cells = lines[i].split(",", -1);
      for (int c = 0; c < cells.length; c++) {
        String cell = cells[c].strip().replaceAll("^\"|\"$", "");
        if (!cell.isEmpty()) {
          own.add(action(file + ":" + (i + 1) + ": cell " + (c + 1), cell));
        }
      }
      ranks.add(own);
    }
    return PipelineSchedule.of(file, ranks);
  }

  private static Action action(String where, String cell) {
    return Action.parse(cell)
        .orElseThrow(() ->
            LayoutException.argument(
                """
                %s: got "%s"; expected a stage, one of F, B, I, W, SEND_F, RECV_F, SEND_B, \
                RECV_B, and a microbatch, e.g. 0F1\
                """
                    .formatted(where, cell)));
  }

  /** Writes a schedule, without its messages: {@link #parse} puts them where they were. */
  public static String write(PipelineSchedule schedule) {
    StringBuilder text = new StringBuilder();
    for (int r = 0; r < schedule.ranks(); r++) {
      text.append(String.join(",", schedule.computed(r).stream().map(Action::toString).toList()))
          .append('\n');
    }
    return text.toString();
  }
}
