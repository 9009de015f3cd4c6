package org.kernbench.cli;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.kernbench.config.UsageException;
import org.kernbench.eval.UserClasses;
import org.kernbench.eval.UserFault;

/**
 * What {@code scripts/run-java} starts: compiles a program in memory and runs its {@code main}, as
 * {@code java FILE} does, but with the rooms for users and no others.
 */
final class JavaProgram {
  private JavaProgram() {}

  /**
   * Runs a program; ends the process with 2 if it does not compile or has no main method, with 1 if
   * it fails.
   *
   * @param args the file, and what is for its main method
   */
  public static void main(String[] args) {
    Terminal terminal = Terminal.ofProcess();
    int exitCode = run(terminal, args);
    terminal.err().flush();
    if (exitCode != 0) {
      System.exit(exitCode); // at 0 its own threads may still have something to do
    }
  }

  static int run(Terminal terminal, String... args) {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    try {
      Path source = Path.of(args[0]);
      UserClasses classes = UserClasses.load(List.of(source));
      Thread.currentThread().setContextClassLoader(classes.loader());
      call(mainOf(source, classes.programsOf(source)), Arrays.copyOfRange(args, 1, args.length));
      return 0;
    } catch (UsageException e) {
      terminal.say(UserFault.told(e));
      return Main.USAGE;
    } catch (InvocationTargetException e) {
      Throwable thrown = e.getTargetException();
      terminal.say(UserFault.message(thrown).orElseGet(() -> UserFault.told(thrown)));
      return 1;
    } catch (ReflectiveOperationException | LinkageError e) {
      terminal.say(
          args[0] + ": cannot be started: " + UserFault.told(UserFault.chain(e).getLast()));
      return 1;
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  /** The first main method, with arguments rather than without. */
  private static Method mainOf(Path source, List<Class<?>> types) {
    for (Class<?> type : types) {
      for (Class<?>[] parameters : List.of(new Class<?>[] {String[].class}, new Class<?>[0])) {
        try {
          return type.getDeclaredMethod("main", parameters);
        } catch (NoSuchMethodException e) {
          continue; // the other form, or the next class
        }
      }
    }
    throw new UsageException(
        source + ": has no main method; expected e.g. public static void main(String[] args)");
  }

  private static void call(Method main, String... args) throws ReflectiveOperationException {
    main.setAccessible(true);
    Object self = null;
    if (!Modifier.isStatic(main.getModifiers())) {
      var constructor = main.getDeclaringClass().getDeclaredConstructor();
      constructor.setAccessible(true);
      self = constructor.newInstance();
    }
    main.invoke(self, main.getParameterCount() == 0 ? new Object[0] : new Object[] {args});
  }
}
