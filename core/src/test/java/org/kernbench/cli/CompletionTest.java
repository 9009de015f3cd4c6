package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Param;
import org.kernbench.eval.benches.BenchRegistry;

/** What shells offer with the script of {@code kernbench completion}. */
final class CompletionTest {
  @TempDir private Path directory;
  private Path script;

  @BeforeEach
  void write() throws Exception {
    script = directory.resolve("kernbench.completion");
    Files.writeString(script, Session.of("completion").out());
  }

  private static List<String> lines(String... command) throws Exception {
    Process process = new ProcessBuilder(command).start();
    process.getOutputStream().close();
    String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(err).isZero();
    return out.lines().filter(line -> !line.isEmpty()).toList();
  }

  /** Words as bash has them when it completes: {@code =} is one by itself. */
  private static List<String> words(String line) {
    List<String> words = new ArrayList<>(List.of(line.replace("=", " = ").strip().split(" +")));
    if (line.endsWith(" ") || line.endsWith("=")) {
      words.add("");
    }
    return words;
  }

  private List<String> bash(String line) throws Exception {
    List<String> words = words(line);
    String program =
        "source %s; COMP_WORDS=('%s'); COMP_CWORD=%d; COMP_LINE='%s'; COMP_POINT=%d; _kernbench kernbench; printf '%%s\\n' \"${COMPREPLY[@]}\""
            .formatted(script, String.join("' '", words), words.size() - 1, line, line.length());
    return lines("bash", "-c", program);
  }

  /**
   * In zsh words end at spaces only, arrays begin at 0 while it completes for scripts of bash, and
   * what does not match is left out by zsh itself.
   */
  private List<String> zsh(String line) throws Exception {
    String program =
        "autoload -U +X compinit && compinit -u -D; source %s; COMP_WORDS=(%s); (( COMP_CWORD = $#COMP_WORDS - 1 )); COMP_LINE='%s'; COMP_POINT=%d; emulate sh; _kernbench kernbench; print -rl -- \"${COMPREPLY[@]}\""
            .formatted(script, line, line, line.length());
    return lines("zsh", "-fc", program);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "kernbench ru | run",
        "kernbench run --topo | --topology",
        "kernbench run --bench mil | milestone-1h-ccl milestone-1h-gemm",
        "kernbench run --mode t | time",
        "kernbench sweep --topology ti | tiny",
        "\"kernbench new \" | bench collective machine",
        "kernbench run ccl-allreduce --param n_ | n_elem=",
        "kernbench run ccl-allreduce --param n_elem= | 8192",
        "kernbench run ccl-allreduce --param dtype=b | bf16",
        "kernbench run ccl-allreduce --param=dtype=b | bf16",
        "kernbench run ccl-allreduce --mode time --param rank_level=s | sip",
        "kernbench run --bench ccl-allreduce --param algorithm=ring | ring ring_bidirectional ring_rotation",
        "kernbench run --bench=softmax --param dty | dtype=",
        "kernbench explain train-step --param schedule=1 | 1f1b",
        "kernbench sweep --bench ccl-allreduce --vary algorithm=ring,root_center_p | ring,root_center_pipelined",
        "kernbench run --param context= --param capa | capacity=",
      })
  void line_inBash_isCompleted(String line, String offered) throws Exception {
    assertThat(bash(line)).containsExactlyInAnyOrder(offered.split(" "));
  }

  @Test
  void shell_thatHasNoScript_isToldWhichHave() {
    String script = Session.of("completion").out();
    assertThat(Session.of("completion", "bash").out()).isEqualTo(script);
    assertThat(Session.of("completion", "zsh").out()).isEqualTo(script);
    Session fish = Session.of("completion", "fish");
    assertThat(fish.exitCode()).isEqualTo(2);
    assertThat(fish.err()).contains("got \"fish\"; expected bash or zsh");
  }

  /** The parameters of the bench that is named, and of no other. */
  @Test
  void names_ofABench_areThoseItTakes() throws Exception {
    for (String name : List.of("ccl-allreduce", "softmax", "train-step", "hello-send")) {
      Bench bench = BenchRegistry.standard().find(name);

      assertThat(bash("kernbench run " + name + " --param "))
          .containsExactlyInAnyOrderElementsOf(
              bench.params().stream().map(Param::name).map(n -> n + "=").toList());
    }
  }

  @Test
  void values_ofAChoice_areAllThatItTakes() throws Exception {
    for (Param<?> p : BenchRegistry.standard().find("train-step").params()) {
      if (!p.allowed().choices().isEmpty()) {
        assertThat(bash("kernbench run train-step --param " + p.name() + "="))
            .as(p.name())
            .containsExactlyInAnyOrderElementsOf(p.allowed().choices());
      }
    }
  }

  @Test
  void line_inZsh_isCompletedAsAWhole() throws Exception {
    boolean there =
        Stream.of(System.getenv().getOrDefault("PATH", "").split(":"))
            .anyMatch(dir -> Files.isExecutable(Path.of(dir, "zsh")));
    if (!there) {
      System.out.println("CompletionTest: zsh is not here, its half is left out");
    }
    Assumptions.assumeTrue(there);

    assertThat(zsh("kernbench run ccl-allreduce --param n_")).containsExactly("n_elem=");
    assertThat(zsh("kernbench run ccl-allreduce --param dtype=b")).containsExactly("dtype=bf16 ");
    assertThat(zsh("kernbench sweep --bench ccl-allreduce --vary rank_level=pe,s"))
        .containsExactly("rank_level=pe,sip ");
    assertThat(zsh("kernbench run --topo")).contains("--topology ", "--set ");
  }
}
