package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code kernbench import}: files that other commands take, and one message for what is wrong. */
final class ImportCommandTest {
  @TempDir private Path folder;

  private Session imported(String... more) throws IOException {
    Path network = folder.resolve("n.yml");
    Files.writeString(
        network, "topology: [Switch]\nnpus_count: [4]\nbandwidth: [25]\nlatency: [100]\n");
    Path system = folder.resolve("s.json");
    if (!Files.exists(system)) {
      Files.writeString(
          system, "{\"endpoint-delay\": 2, \"all-reduce-implementation\": [\"halvingDoubling\"]}");
    }
    String[] args = new String[6 + more.length];
    String[] first = {
      "import", "astra", "--network", network.toString(), "--system", system.toString()
    };
    System.arraycopy(first, 0, args, 0, 6);
    System.arraycopy(more, 0, args, 6, more.length);
    return Session.of(args);
  }

  @Test
  void astra_whatIsWritten_runs() throws IOException {
    Path out = folder.resolve("out");
    Session done = imported("--out", out.toString(), "--whole-ns", "--congestion-aware");
    assertThat(done.exitCode()).isZero();
    assertThat(done.out()).contains("endpoint-delay", "taken", "wrote ");
    Session run =
        Session.of(
            "run",
            "ccl-allreduce",
            "--topology",
            out.resolve("machine.yaml").toString(),
            "--ccl",
            out.resolve("ccl.yaml").toString(),
            "--param",
            "n_elem=4096");
    assertThat(run.exitCode()).as(run.err()).isZero();
    // 8 KiB: halves of 4 and 2 KiB, each twice over two links of floor(100 + bytes / 26.84) ns; and
    // 5 delays of 2 ns
    assertThat(run.out()).contains("values      correct", "time        1,722.0");
  }

  @Test
  void astra_withoutAFolder_showsBothFiles() throws IOException {
    assertThat(imported().out())
        .contains("# machine.yaml", "kind: switch, size: 4", "# ccl.yaml", "halving_doubling");
  }

  @Test
  void astra_badFile_endsWith2_andOneMessage() throws IOException {
    Files.writeString(folder.resolve("s.json"), "{\"endpoint-delay\": \"soon\"}");
    Session done = imported();
    assertThat(done.exitCode()).isEqualTo(2);
    assertThat(done.out()).isEmpty();
    assertThat(done.err().lines()).hasSize(1);
    assertThat(done.err()).contains("s.json:1:20: endpoint-delay: got \"soon\"");
  }

  @Test
  void import_ofNothing_saysWhatThereIs() {
    assertThat(Session.of("import").err()).contains("missing command; expected import astra");
  }
}
