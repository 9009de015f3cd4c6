package org.kernbench.cli;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import org.kernbench.chakra.TraceMistake;
import org.kernbench.chakra.TraceSamples;
import org.kernbench.config.Suggest;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Folding;
import org.kernbench.eval.Reuse;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machines;
import org.kernbench.machine.report.MachineDiagram;
import org.kernbench.nn.autograd.Fault;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads options that take one of some words, which are also what a shell offers. */
final class Words {
  private Words() {}

  /** The constant of a name, whatever its case; {@code -} and {@code _} are alike. */
  static <E extends Enum<E>> E read(String text, E[] constants) {
    String wanted = text.toUpperCase(Locale.ROOT).replace('-', '_');
    for (E constant : constants) {
      if (constant.name().equals(wanted)) {
        return constant;
      }
    }
    throw unknown(text, names(constants));
  }

  private static TypeConversionException unknown(String text, List<String> names) {
    return new TypeConversionException(
        "got \"%s\"; expected one of %s%s"
            .formatted(text, String.join(", ", names), Suggest.hint(text, names)));
  }

  /** {@link #read} of an option's value, which the error names. */
  static <E extends Enum<E>> E choice(String option, String text, E[] constants) {
    try {
      return read(text, constants);
    } catch (TypeConversionException e) {
      throw new UsageException(option + ": " + e.getMessage());
    }
  }

  /** Refuses a number of rows that is none. */
  static void checkRows(int rows) {
    if (rows < 0) {
      throw new UsageException("--rows: got " + rows + "; expected 0, for all, or more");
    }
  }

  /**
   * A reader of whole numbers, in words for people.
   *
   * @param parse what reads one, with a {@link NumberFormatException} if it is none
   */
  static <T> ITypeConverter<T> wholeNumber(Function<String, T> parse) {
    return text -> {
      try {
        return parse.apply(text);
      } catch (NumberFormatException e) {
        throw new TypeConversionException("got \"" + text + "\"; expected a whole number");
      }
    };
  }

  private static List<String> names(Enum<?>[] constants) {
    return Arrays.stream(constants).map(c -> c.name().toLowerCase(Locale.ROOT)).toList();
  }

  /** Reads a mistake of sample traces. */
  static final class MistakeWord implements ITypeConverter<TraceMistake>, Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return names(TraceMistake.values()).iterator();
    }

    @Override
    public TraceMistake convert(String text) {
      return read(text, TraceMistake.values());
    }
  }

  /** Reads a kind of sample traces. */
  static final class SampleWord implements ITypeConverter<TraceSamples.Kind>, Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return names(TraceSamples.Kind.values()).iterator();
    }

    @Override
    public TraceSamples.Kind convert(String text) {
      return read(text, TraceSamples.Kind.values());
    }
  }

  /** Reads a format of output that is no table. */
  static final class OutputWord implements ITypeConverter<TextOrJson.Output>, Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return names(TextOrJson.Output.values()).iterator();
    }

    @Override
    public TextOrJson.Output convert(String text) {
      return read(text, TextOrJson.Output.values());
    }
  }

  /** The benches that come along, for a shell to offer. */
  static final class Benches implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return BenchRegistry.standard().all().stream().map(Bench::name).iterator();
    }
  }

  /** The machine presets, for a shell to offer. */
  static final class Presets implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return Machines.presets().keySet().iterator();
    }
  }

  /** Reads a mode. */
  static final class ModeWord implements ITypeConverter<Mode>, Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return names(Mode.values()).iterator();
    }

    @Override
    public Mode convert(String text) {
      return read(text, Mode.values());
    }
  }

  /** Reads a mistake that can be put into training. */
  static final class FaultWord implements ITypeConverter<Fault>, Iterable<String> {
    private static List<Fault> all() {
      return Arrays.stream(Fault.values()).filter(f -> f != Fault.NONE).toList();
    }

    @Override
    public Iterator<String> iterator() {
      return all().stream().map(Fault::id).iterator();
    }

    @Override
    public Fault convert(String text) {
      return all().stream()
          .filter(f -> f.id().equals(text.toLowerCase(Locale.ROOT)))
          .findFirst()
          .orElseThrow(() -> unknown(text, all().stream().map(Fault::id).toList()));
    }
  }

  /** Reads an output format. */
  static final class FormatWord implements ITypeConverter<Format>, Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return names(Format.values()).iterator();
    }

    @Override
    public Format convert(String text) {
      return read(text, Format.values());
    }
  }

  /** Reads whether to fold. */
  static final class FoldingWord implements ITypeConverter<Folding>, Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return names(Folding.values()).iterator();
    }

    @Override
    public Folding convert(String text) {
      return read(text, Folding.values());
    }
  }

  /** Reads whether to use again what came of launches. */
  static final class ReuseWord implements ITypeConverter<Reuse>, Iterable<String> {
    /** Comparing is an option of its own. */
    private static final Reuse[] WORDS = {Reuse.AUTO, Reuse.OFF};

    @Override
    public Iterator<String> iterator() {
      return names(WORDS).iterator();
    }

    @Override
    public Reuse convert(String text) {
      return read(text, WORDS);
    }
  }

  /** Reads a view of a machine. */
  static final class ViewWord implements ITypeConverter<MachineDiagram.View>, Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return names(MachineDiagram.View.values()).iterator();
    }

    @Override
    public MachineDiagram.View convert(String text) {
      return read(text, MachineDiagram.View.values());
    }
  }

  /** Reads what {@code kernbench new} writes. */
  static final class KindWord implements ITypeConverter<NewCommand.Kind>, Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return names(NewCommand.Kind.values()).iterator();
    }

    @Override
    public NewCommand.Kind convert(String text) {
      return read(text, NewCommand.Kind.values());
    }
  }
}
