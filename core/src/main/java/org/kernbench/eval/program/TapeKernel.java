package org.kernbench.eval.program;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.kernbench.device.log.SourceLine;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.JsonObject;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.RangeException;
import org.kernbench.tl.Received;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.torch.Tensor;

/**
 * A kernel that another language has recorded: the calls of {@link Tl} that it made, performed here
 * one by one.
 *
 * <p>The author is asked at the first program instance, told everything that an instance can know
 * of itself (its facts), and answers with a tape and with the facts that the recording has looked
 * at. Other instances for which these are the same take the tape as it is. So a kernel that is the
 * same everywhere is recorded once for each shape of its shards. A kernel that looks at data is
 * recorded for each instance, and stands still at each look until the number is there.
 */
final class TapeKernel implements Kernel {
  private final long id;
  private final List<Tensor> tensors;
  private final Asker author;
  private final List<Recorded> known = new ArrayList<>();

  TapeKernel(long id, List<Tensor> tensors, Asker author) {
    this.id = id;
    this.tensors = tensors;
    this.author = author;
  }

  /** A tape, and for which instances it was made. */
  private record Recorded(Map<String, Object> facts, CallTape tape) {}

  @Override
  public void run(Tl tl) {
    Player player = new Player(tl, tensors);
    try {
      SourceLine.during(player::line, () -> perform(tl, player));
    } catch (RangeException e) {
      throw withoutOwnLines(new RangeException(at(player, e)));
    } catch (ShapeException e) {
      throw withoutOwnLines(new ShapeException(at(player, e)));
    }
  }

  private static String at(Player player, RuntimeException e) {
    return e.getMessage() + " (" + player.line() + ")";
  }

  /** The Java lines of an error are those of the performer, which tell the author nothing. */
  private static <E extends RuntimeException> E withoutOwnLines(E error) {
    error.setStackTrace(new StackTraceElement[0]);
    return error;
  }

  private void perform(Tl tl, Player player) {
    Map<String, Object> facts = facts(tl);
    for (Recorded each : known) {
      if (each.facts.entrySet().stream()
          .allMatch(fact -> fact.getValue().equals(facts.get(fact.getKey())))) {
        each.tape.playOn(player);
        return;
      }
    }
    Map<String, Object> question = new LinkedHashMap<>();
    question.put("what", "kernel");
    question.put("launch", id);
    question.put("facts", facts);
    JsonObject answer = tape(player, question);
    CallTape tape = CallTape.of(answer);
    tape.playOn(player);
    if (!answer.has("look")) {
      remember(answer, facts, tape);
      return;
    }
    for (; answer.has("look"); tape.playOn(player)) {
      answer = tape(player, look(tl, player, answer));
      tape = CallTape.of(answer);
    }
  }

  private void remember(JsonObject answer, Map<String, Object> facts, CallTape tape) {
    Map<String, Object> asked = new LinkedHashMap<>();
    for (String fact : answer.texts("consulted")) {
      asked.put(fact, Optional.ofNullable(facts.get(fact)).orElse(Json.NULL));
    }
    known.add(new Recorded(asked, tape));
  }

  /** Waits for what the kernel looks at, and the question that brings it to its author. */
  private static Map<String, Object> look(Tl tl, Player player, JsonObject answer) {
    return goOn(answer, seen(tl, player, answer.object("look")));
  }

  private static Object seen(Tl tl, Player player, JsonObject look) {
    return switch (look.text("at")) {
      case "item" -> {
        double number = tl.item(player.value(look.whole("value")));
        yield Double.isFinite(number) ? number : (Object) Double.toString(number);
      }
      case "clock" -> tl.clock();
      case "any" -> {
        Received received =
            tl.recvAny(
                CallTape.shape(look.wholes("shape")),
                CallTape.dtype(look.text("dtype")),
                look.texts("directions").toArray(String[]::new));
        player.set(look.whole("out"), received.value());
        yield received.direction();
      }
      default -> throw CallTape.unknown("look", look.text("at"));
    };
  }

  /** The next piece; its author may ask meanwhile for shards at other PEs, which are no facts. */
  private JsonObject tape(Player player, Map<String, Object> question) {
    JsonObject answer = answer(question);
    while (answer.has("shard")) {
      JsonObject asked = answer.object("shard");
      Optional<Shard> shard = player.tensor(asked).shardOn(Player.pe(asked.wholes("pe")));
      answer = answer(goOn(answer, dims(shard)));
    }
    return answer;
  }

  private static Map<String, Object> goOn(JsonObject answer, Object seen) {
    Map<String, Object> question = new LinkedHashMap<>();
    question.put("what", "look");
    question.put("run", (long) answer.whole("run"));
    question.put("seen", seen);
    return question;
  }

  private JsonObject answer(Map<String, Object> question) {
    JsonObject answer = author.ask(question);
    answer
        .textIfAny("failed")
        .ifPresent(failed -> {
          throw new ProgramException(failed);
        });
    return answer;
  }

  /** All that an instance can know of itself without looking at data or time. */
  private Map<String, Object> facts(Tl tl) {
    Map<String, Object> facts = new LinkedHashMap<>();
    for (int axis = 0; axis < 3; axis++) {
      facts.put("program_id" + axis, tl.programId(axis));
      facts.put("num_programs" + axis, tl.numPrograms(axis));
    }
    Pe pe = tl.pe();
    facts.put("pe", List.of(pe.sip(), pe.cube(), pe.pe()));
    for (int i = 0; i < tensors.size(); i++) {
      facts.put("shard" + i, dims(tensors.get(i).shardOn(pe)));
    }
    return facts;
  }

  private static Object dims(Optional<Shard> shard) {
    return shard.map(s -> (Object) dims(s)).orElse(Json.NULL);
  }

  private static List<Integer> dims(Shard shard) {
    List<Integer> dims = new ArrayList<>();
    for (int axis = 0; axis < shard.shape().rank(); axis++) {
      dims.add(shard.shape().dim(axis));
    }
    return dims;
  }
}
