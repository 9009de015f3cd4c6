package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.kernbench.machine.Machine;

/**
 * The program has the files of the tree and no others: one that was renamed or deleted may not go
 * on in what was built before, where a table of measured runs once found the mapping of a week ago.
 */
class PackagedFilesTest {
  private static final Path CORE = House.ROOT.resolve("core");

  @Test
  void programHasTheFilesOfTheTree() throws Exception {
    Path classes =
        Path.of(Machine.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    Set<String> packaged = files(classes);
    packaged.removeIf(name -> name.endsWith(".class") || name.startsWith("META-INF/"));

    Set<String> expected = files(CORE.resolve("src/main/resources"));
    expected.removeIf(name -> name.startsWith("META-INF/"));
    files(House.ROOT.resolve("machines")).forEach(name -> expected.add("machines/" + name));
    expected.add("ccl.yaml");
    assertThat(packaged).isEqualTo(expected);
  }

  private static Set<String> files(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(Files::isRegularFile)
          .map(file -> folder.relativize(file).toString().replace('\\', '/'))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }
}
