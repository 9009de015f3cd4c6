package org.kernbench.torch.placement;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LiveBlocksTest {
  /** Few different positions meet often; positions in steps of a page have their low bits equal. */
  @ParameterizedTest
  @ValueSource(longs = {1, 64, 4096, 1L << 40})
  void blocks_addedAndRemoved_areThoseOfATree(long step) {
    SplittableRandom random = new SplittableRandom(11);
    LiveBlocks blocks = new LiveBlocks();
    Map<Long, Long> tree = new TreeMap<>();
    for (int i = 0; i < 20_000; i++) {
      long position = random.nextInt(i < 10_000 ? 3000 : 40) * step;
      if (tree.containsKey(position) || random.nextInt(4) == 0) {
        Long bytes = tree.remove(position);
        assertThat(blocks.remove(position)).isEqualTo(bytes == null ? -1 : bytes);
      } else {
        tree.put(position, (long) i);
        blocks.add(position, i, "block " + i);
      }
    }
    List<String> inOrder = new ArrayList<>();
    blocks.inOrder((owner, bytes) -> inOrder.add(owner + ": " + bytes));
    assertThat(inOrder)
        .isEqualTo(tree.values().stream().map(i -> "block " + i + ": " + i).toList());
  }
}
