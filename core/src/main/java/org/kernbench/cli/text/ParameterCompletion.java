package org.kernbench.cli.text;

import java.util.List;
import java.util.function.Function;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Param;
import org.kernbench.eval.benches.BenchRegistry;

/**
 * The part of the completion that knows what stands after {@code --param} and {@code --vary}: names
 * of the parameters of the bench on the line, and their values. It is a table in the script, so the
 * shell answers at once and starts nothing.
 */
public final class ParameterCompletion {
  /** What this parameter takes is the library's to say. */
  private static final String ALGORITHM = "algorithm";

  private final List<Bench> benches;

  /** Of these benches. */
  public ParameterCompletion(BenchRegistry benches) {
    this.benches = benches.all();
  }

  /** Lines for bash and zsh that come after those of the commands. */
  public String script() {
    return CODE.replace("{benches}", benches.stream().map(Bench::name).collect(spaced()))
        .replace("{names}", table(ParameterCompletion::names))
        .replace("{values}", table(ParameterCompletion::values));
  }

  private String table(Function<Bench, Stream<String>> lines) {
    return benches.stream().flatMap(lines).collect(Collectors.joining("\n"));
  }

  private static Stream<String> names(Bench bench) {
    String names = bench.params().stream().map(Param::name).collect(spaced());
    return Stream.of("    %s) echo '%s' ;;".formatted(bench.name(), names));
  }

  private static Stream<String> values(Bench bench) {
    return bench.params().stream()
        .filter(p -> !offered(p).isEmpty())
        .map(p -> "    %s/%s) echo '%s' ;;".formatted(bench.name(), p.name(), offered(p)));
  }

  /** The choices, or else the default; nothing that a shell would take for two words. */
  private static String offered(Param<?> p) {
    Stream<String> all =
        p.name().equals(ALGORITHM)
            ? CollectiveLibrary.descriptions().keySet().stream()
            : p.allowed().choices().stream();
    String offered = all.collect(spaced());
    return offered.isEmpty() && p.defaultText().matches("[\\w.+-]+") ? p.defaultText() : offered;
  }

  private static Collector<CharSequence, ?, String> spaced() {
    return Collectors.joining(" ");
  }

  private static final String CODE =
      """

      # ---- names and values of parameters, after --param and --vary ----

      _kernbench_names() {
        case $1 in
      {names}
        esac
      }

      _kernbench_values() {
        case $1/$2 in
      {values}
        esac
      }

      # What may follow --param: $1 is the line before it, $2 what has been typed of it. In bash a word ends at "=", so
      # there only what stands after it is offered. Without a bench on the line, what any bench takes.
      _kernbench_parameter() {
        local each bench='' name given='' list='' head=''
        for each in $(echo {benches}); do
          case " $1 " in *" $each "* | *"=$each "*) bench=$each ;; esac
        done
        name=${2%%=*}
        COMPREPLY=()
        case $2 in
          *=*)
            given=${2#*=}
            case $given in *,*) list=${given%,*}, given=${given##*,} ;; esac
            case ${COMP_WORDBREAKS-} in *=*) ;; *) head=$name= ;; esac
            for each in $(for bench in $(echo ${bench:-{benches}}); do _kernbench_values $bench $name; done | tr ' ' '\\n' | sort -u); do
              case $each in "$given"*) COMPREPLY+=("$head$list$each") ;; esac
            done ;;
          *)
            for each in $(for bench in $(echo ${bench:-{benches}}); do _kernbench_names $bench; done | tr ' ' '\\n' | sort -u); do
              case $each in "$name"*) COMPREPLY+=("$each=") ;; esac
            done
            [ -z "${BASH_VERSION-}" ] || compopt -o nospace 2>/dev/null ;;
        esac
      }

      _kernbench() {
        local line=${COMP_LINE:0:$COMP_POINT} word='' before
        case $line in *' ') ;; *) word=${line##* } ;; esac
        before=${line%"$word"}
        while case $before in *' ') true ;; *) false ;; esac; do before=${before% }; done
        case ${before##* }/$word in
          --param/* | --vary/*) _kernbench_parameter "$before" "$word" ;;
          */--param=* | */--vary=*) _kernbench_parameter "$before" "${word#*=}" ;;
          *) _complete_kernbench "$@" ;;
        esac
        # zsh is told to add no space, and gets one with all but "name=".
        [ -z "${ZSH_VERSION-}" ] || { COMPREPLY=("${COMPREPLY[@]/%/ }"); COMPREPLY=("${COMPREPLY[@]/%= /=}"); }
      }

      if [ -n "${ZSH_VERSION-}" ]; then
        complete -o nospace -F _kernbench kernbench
      else
        complete -F _kernbench -o default kernbench
      fi
      """;
}
