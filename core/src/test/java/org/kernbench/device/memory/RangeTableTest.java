package org.kernbench.device.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.VirtualAddress;

final class RangeTableTest {
  private static final int BYTES = 64;
  private static final Machine MACHINE = Machines.load("tiny", List.of());

  private static PageMap.Range range(PageMap map, int number) {
    Pe pe = new Pe(0, 0, 0);
    return map.map(
        new AddressMapping(
            "range " + number,
            new VirtualAddress(VirtualAddress.BASE + (long) number * 2 * BYTES),
            BYTES,
            List.of(new AddressMapping.Copy(pe, MACHINE.addresses().hbm(pe, 0)))));
  }

  /** In order, as tensors are made; or anywhere, as they come after others are gone. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void table_addedAndRemoved_findsWhatATreeFinds(boolean inOrder) {
    SplittableRandom random = new SplittableRandom(5);
    PageMap maps = new PageMap(MACHINE);
    RangeTable table = new RangeTable();
    TreeMap<Long, PageMap.Range> tree = new TreeMap<>();
    int numbers = 5000;
    for (int i = 0; i < 4 * numbers; i++) {
      int number = inOrder && i < numbers ? i : random.nextInt(numbers);
      long start = VirtualAddress.BASE + (long) number * 2 * BYTES;
      PageMap.Range there = tree.get(start);
      boolean empties = i > 3 * numbers;
      if (there != null && (empties || random.nextInt(3) == 0)) {
        table.remove(there);
        tree.remove(start);
        maps.unmap(new VirtualAddress(start));
      } else if (there == null && !empties) {
        PageMap.Range added = range(maps, number);
        table.add(added);
        tree.put(start, added);
      }
      long asked = VirtualAddress.BASE + random.nextInt(-10, numbers * 2 * BYTES);
      var before = tree.floorEntry(asked);
      var after = tree.higherEntry(asked);
      assertThat(table.atOrBefore(asked)).isSameAs(before == null ? null : before.getValue());
      assertThat(table.after(asked)).isSameAs(after == null ? null : after.getValue());
    }
    List.copyOf(tree.values()).forEach(table::remove);
    assertThat(table.after(0)).isNull();
  }

  /** Whoever forgets translations asks where they may be. */
  @Test
  void range_translatedAnywhere_saysWhere() {
    SplittableRandom random = new SplittableRandom(3);
    for (int trial = 0; trial < 200; trial++) {
      PageMap.Range range = range(new PageMap(MACHINE), 0);
      TreeSet<Integer> places = new TreeSet<>();
      assertThat(range.translatedAt()).isEmpty();
      int around = random.nextInt(1000);
      for (int i = random.nextInt(40); i >= 0; i--) {
        int pe = random.nextInt(5) == 0 ? random.nextInt(1000) : around + random.nextInt(128);
        places.add(pe);
        range.translatedAt(pe);
        assertThat(range.translatedAt().boxed()).containsExactlyElementsOf(places);
      }
    }
  }
}
