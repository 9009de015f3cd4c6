package org.kernbench.eval;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.torch.SpawnException;

/**
 * An exception that a user's kernel, bench, rank or algorithm let out, told as the user's: their
 * file and line first. Frames are a user's if {@link UserClasses} loaded their class.
 *
 * <p>An exception may be thrown in kernbench, below a user's frame: for arguments that make no
 * sense, or by a mistake of ours. Which of the two it is cannot be told here, so the message says
 * where it was thrown.
 */
public final class UserFault {
  private static final int MOST_CAUSES = 50;
  private static final int MOST_LINES = 6;

  private UserFault() {}

  /** The message for an exception, if a frame of a user's is behind it. */
  public static Optional<String> message(Throwable error) {
    for (Throwable each : chain(error)) {
      if (topmost(each).map(UserFault::isUser).orElse(false)) {
        return Optional.of(text(each));
      }
    }
    return chain(error).stream()
        .filter(each -> firstUserPlace(each.getStackTrace()).isPresent())
        .findFirst()
        .map(UserFault::text);
  }

  /** An exception and its causes, the first first; of those that are their own cause each once. */
  public static List<Throwable> chain(Throwable error) {
    Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    List<Throwable> chain = new ArrayList<>();
    List<@Nullable Throwable> open = new ArrayList<>();
    open.add(error);
    while (!open.isEmpty() && chain.size() < MOST_CAUSES) {
      Throwable next = open.removeFirst();
      if (next != null && seen.add(next)) {
        chain.add(next);
        open.add(cause(next));
        if (next instanceof SpawnException ranks) {
          open.addAll(ranks.failures().values());
        }
      }
    }
    return chain;
  }

  /** What an exception says; its class if that is nothing, or fails itself. */
  public static String told(Throwable error) {
    String name = error.getClass().getSimpleName();
    try {
      String message = error.getMessage();
      return message == null || message.isBlank() ? name : message;
    } catch (RuntimeException | StackOverflowError e) {
      return name;
    }
  }

  private static @Nullable Throwable cause(Throwable error) {
    try {
      return error.getCause();
    } catch (RuntimeException | StackOverflowError e) {
      return null; // a user may override it
    }
  }

  private static String text(Throwable error) {
    Set<String> lines = new LinkedHashSet<>();
    for (StackTraceElement frame : error.getStackTrace()) {
      if (isUser(frame)) {
        lines.add(place(frame));
      }
    }
    List<String> places = new ArrayList<>(lines);
    if (cause(error) instanceof RoomsForUsers.Refused refused) {
      return places.getFirst() + ": " + told(refused);
    }
    String told = told(error);
    String name = error.getClass().getName();
    StringBuilder text = new StringBuilder(places.getFirst()).append(": ").append(name);
    if (!told.equals(error.getClass().getSimpleName())) {
      text.append(": ").append(told);
    }
    if (places.size() > 1) {
      text.append("\n  called from ")
          .append(String.join(", ", places.subList(1, Math.min(places.size(), MOST_LINES))))
          .append(places.size() > MOST_LINES ? ", …" : "");
    }
    topmost(error)
        .filter(frame -> !isUser(frame))
        .ifPresent(frame ->
            text.append("\n  thrown by kernbench at ")
                .append(place(frame))
                .append("; if what your program asks for there is right, please report it"));
    return text.toString();
  }

  /** {@code File.java:12} of the innermost frame of a user's code. */
  static Optional<String> firstUserPlace(StackTraceElement[] stack) {
    for (StackTraceElement frame : stack) {
      if (isUser(frame)) {
        return Optional.of(place(frame));
      }
    }
    return Optional.empty();
  }

  /** The innermost frame outside of the JDK. */
  private static Optional<StackTraceElement> topmost(Throwable error) {
    for (StackTraceElement frame : error.getStackTrace()) {
      String module = frame.getModuleName();
      boolean jdk = module != null && (module.startsWith("java.") || module.startsWith("jdk."));
      if (!jdk) {
        return Optional.of(frame);
      }
    }
    return Optional.empty();
  }

  private static boolean isUser(StackTraceElement frame) {
    return UserClasses.LOADER.equals(frame.getClassLoaderName());
  }

  private static String place(StackTraceElement frame) {
    return String.format(Locale.ROOT, "%s:%d", frame.getFileName(), frame.getLineNumber());
  }
}
