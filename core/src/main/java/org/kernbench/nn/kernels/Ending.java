package org.kernbench.nn.kernels;

import java.util.List;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * What is made of the elements at the same places of products that are made at once, tile by tile
 * in their launch (ADR 0282). The formula sees what would have been loaded from the products: tiles
 * of them, rounded.
 *
 * @param results of the products' shape and type
 * @param formula gives as many values as there are results
 */
public record Ending(List<Tensor> results, Formula formula) {
  /** A formula on elements at the same places, one value of each product. */
  @FunctionalInterface
  public interface Formula {
    List<Value> apply(List<Value> products);
  }
}
