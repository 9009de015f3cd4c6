package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.benches.BenchRegistry;

/** On a terminal, {@code --quiet} lets nobody watch what is simulated; else somebody does. */
final class QuietTest {
  /** Runs another bench and remembers whether somebody watches. */
  private static final class Watched implements Bench {
    private static final Bench OTHER = BenchRegistry.standard().find("hello-send");

    private final List<Boolean> watched = new ArrayList<>();

    @Override
    public String name() {
      return "watched";
    }

    @Override
    public String description() {
      return "remembers";
    }

    @Override
    public List<Param<?>> params() {
      return OTHER.params();
    }

    @Override
    public Outcome run(BenchContext context) {
      watched.add(context.progress().watch().isPresent());
      return OTHER.run(context);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"run", "explain"})
  void quiet_onATerminal_letsNobodyWatch(String command) {
    Watched bench = new Watched();
    StringWriter err = new StringWriter();
    Terminal terminal = Terminal.on(new ByteArrayOutputStream(), new PrintWriter(err), false, true);
    BenchRegistry benches = BenchRegistry.of(List.of(bench));
    String[] words = {command, "watched", "--topology", "tiny"};
    String[] quiet = Stream.concat(Stream.of(words), Stream.of("-q")).toArray(String[]::new);

    assertThat(Main.execute(terminal, benches, quiet)).isZero();
    assertThat(err.toString()).isEmpty();
    assertThat(Main.execute(terminal, benches, words)).isZero();
    assertThat(bench.watched).startsWith(false).endsWith(true).hasSize(2);
  }
}
