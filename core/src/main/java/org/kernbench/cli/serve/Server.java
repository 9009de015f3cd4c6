package org.kernbench.cli.serve;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.cli.Commands;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.JsonObject;
import org.kernbench.eval.program.Asker;
import org.kernbench.eval.program.Program;
import org.kernbench.eval.program.ProgramException;

/**
 * Answers another program on a pipe, one request after the other, until that program closes it: how
 * Python reaches kernbench (ADR 0133).
 *
 * <p>Each message is a JSON object ({@link Frames}). The key {@code do} of a request says what to
 * do; the answer has {@code is: done}, or {@code is: error} with the text and the exit code that
 * the command line has for it. A request that fails changes nothing for the next.
 */
public final class Server {
  private static final long PATIENCE_MS = 5_000;
  private static final int BROKEN = 2;

  private final Frames frames;
  private final Commands commands = new Commands();
  private final Map<Integer, Program> programs = new HashMap<>();
  private int opened;

  Server(InputStream in, OutputStream out, long patienceMs, Runnable gone) {
    this.frames = new Frames(in, out, patienceMs, gone);
  }

  /**
   * Serves standard input and output, and ends the process when the input ends.
   *
   * @param args none
   */
  public static void main(String[] args) {
    OutputStream out = new FileOutputStream(FileDescriptor.out);
    System.setOut(System.err); // what a user's class prints is no message
    Server server =
        new Server(
            new FileInputStream(FileDescriptor.in),
            out,
            PATIENCE_MS,
            () -> Runtime.getRuntime().halt(0));
    int[] code = new int[1];
    Commands.onVirtualThread(() -> code[0] = server.serve());
    Runtime.getRuntime().halt(code[0]);
  }

  /** Answers requests; returns the exit code of a process that can hear no others. */
  int serve() {
    try {
      frames.send(Map.of("is", "ready", "kernbench", Commands.version()));
      while (true) {
        frames.send(answer());
      }
    } catch (Frames.BrokenStreamException e) {
      return sayGoodbye(String.valueOf(e.getMessage()));
    } catch (IOException e) {
      return BROKEN; // nobody reads
    }
  }

  private int sayGoodbye(String why) {
    try {
      frames.send(error(new UsageException("pipe: " + why)));
    } catch (IOException e) {
      // nobody reads: there is nobody to tell
      return BROKEN;
    }
    return BROKEN;
  }

  private Map<String, Object> answer() throws Frames.BrokenStreamException {
    try {
      return perform(frames.next());
    } catch (UncheckedIOException e) {
      throw new Frames.BrokenStreamException(String.valueOf(e.getMessage()));
    } catch (RuntimeException | Error e) {
      return error(e);
    }
  }

  private Map<String, Object> perform(JsonObject request) {
    String what = request.text("do");
    return switch (what) {
      case "command" -> command(request.texts("args"));
      case "open" -> {
        Program program = Program.open(request, new Author());
        programs.put(++opened, program);
        yield done(Map.of("program", opened));
      }
      case "act" -> done(program(request).perform(request));
      case "close" -> {
        program(request).close();
        programs.remove(request.whole("program"));
        yield done(Map.of());
      }
      case "version" -> done(Map.of("kernbench", Commands.version()));
      default ->
          throw new UsageException(
              "message: do: got \"%s\"; expected command, open, act, close or version"
                  .formatted(what));
    };
  }

  private Program program(JsonObject request) {
    int number = request.whole("program");
    Program program = programs.get(number);
    if (program == null) {
      throw new UsageException("message: program: there is no number " + number + "; open one");
    }
    return program;
  }

  /** The other side, asked in the middle of its request. */
  private final class Author implements Asker {
    @Override
    public void put(Map<String, Object> question) {
      Map<String, Object> message = new LinkedHashMap<>();
      message.put("is", "ask");
      message.putAll(question);
      try {
        frames.send(message);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public JsonObject hear() {
      try {
        return frames.next();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private Map<String, Object> command(List<String> args) {
    Commands.Said said = commands.run(args);
    return done(Map.of("code", said.code(), "out", said.out(), "err", said.err()));
  }

  private static Map<String, Object> done(Map<String, Object> more) {
    Map<String, Object> message = new LinkedHashMap<>();
    message.put("is", "done");
    message.putAll(more);
    return message;
  }

  /** What is said of an error: the text and the exit code that the command line has for it. */
  static Map<String, Object> error(Throwable error) {
    Commands.Said said =
        error instanceof ProgramException
            ? new Commands.Said(1, "", "kernbench: " + error.getMessage() + "\n")
            : Commands.error(error);
    Map<String, Object> message = new LinkedHashMap<>();
    message.put("is", "error");
    message.put("code", said.code());
    message.put("err", said.err());
    message.put("type", error.getClass().getSimpleName());
    message.put("text", error.getMessage() == null ? Json.NULL : error.getMessage());
    return message;
  }
}
