package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.kernbench.nn.autograd.Fault;

/** The table of {@code --inject} in {@code docs/layout-guide.md} has every fault and no other. */
final class FaultsInGuideTest {
  private static final Path GUIDE =
      Path.of(System.getProperty("basedir", "."), "../docs/layout-guide.md");

  @Test
  void table_hasEveryFaultAndNoOther() throws IOException {
    Set<String> faults = new TreeSet<>();
    for (Fault fault : Fault.values()) {
      if (fault != Fault.NONE) {
        faults.add(fault.name().toLowerCase(Locale.ROOT).replace('_', '-'));
      }
    }
    String page = Files.readString(GUIDE);
    Set<String> told = new TreeSet<>();
    String table = page.substring(page.indexOf("| `--inject` |"));
    for (String row : table.lines().skip(2).takeWhile(l -> l.startsWith("|")).toList()) {
      Matcher name = Pattern.compile("`([a-z-]+)`").matcher(row.split("\\|")[1]);
      while (name.find()) {
        told.add(name.group(1));
      }
    }
    assertThat(told).isEqualTo(faults);
  }
}
