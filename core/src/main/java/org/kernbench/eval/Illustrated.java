package org.kernbench.eval;

import java.util.List;
import java.util.Map;
import org.kernbench.eval.figures.Figure;

/**
 * A bench whose rows make figures. They are drawn from the rows alone, so they can be drawn again.
 */
public interface Illustrated extends Bench {
  /**
   * Draws the figures.
   *
   * @param rows as in {@code summary.csv}: every column as text
   */
  List<Figure> figures(List<Map<String, String>> rows);
}
