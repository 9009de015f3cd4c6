package org.kernbench.cluster;

import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;

/**
 * The command of the jar: reads the command line, looks whether Java and Spark are there, and hands
 * over to {@code ClusterSweep}.
 *
 * <p>It is compiled for the oldest Java that Spark 4 runs on and names no class of Spark, so that
 * it can say what is missing where the rest could not even be loaded.
 */
public final class SweepOnSpark {
  private static final int JAVA = 25;
  private static final String START =
      "spark-submit --master spark://HOST:7077 --class org.kernbench.cluster.SweepOnSpark"
          + " kernbench-cluster.jar FILE.yaml [--out DIR] [--resume]";

  private SweepOnSpark() {}

  /**
   * Runs the command line and ends the process with its exit code (0 ok, 1 failed, 2 usage).
   *
   * @param args {@code FILE.yaml [--out DIR] [--resume]}
   */
  public static void main(String[] args) {
    System.exit(execute(args, Runtime.version().feature(), System.err));
  }

  static int execute(String[] args, int java, PrintStream err) {
    if (java < JAVA) {
      return refuse(
          err,
          "this is Java " + java + ", kernbench needs a JDK " + JAVA + " or later",
          "For the driver set JAVA_HOME=/path/to/jdk-"
              + JAVA
              + " before spark-submit; for executors",
          "give --conf spark.executorEnv.JAVA_HOME=/path/to/jdk-" + JAVA);
    }
    if (!hasSpark()) {
      return refuse(
          err,
          "no Spark here: this jar is started by spark-submit, of Spark 4 for Scala 2.13",
          START,
          "Without --master it uses the cores of this machine, as does, without Spark:",
          "kernbench sweep FILE.yaml --out DIR");
    }
    String file = "";
    String out = "";
    boolean resume = false;
    for (int i = 0; i < args.length; i++) {
      String arg = args[i];
      if (arg.equals("--resume")) {
        resume = true;
      } else if (arg.equals("--out") && i + 1 < args.length && !args[i + 1].isBlank()) {
        out = args[++i];
      } else if (arg.equals("--out")) {
        return refuse(err, "--out: expected a folder after it", START);
      } else if (arg.startsWith("-") || !file.isEmpty()) {
        return refuse(err, "unexpected " + arg + "; expected one FILE.yaml and options", START);
      } else {
        file = arg;
      }
    }
    if (file.isEmpty()) {
      return refuse(err, "no sweep named; expected FILE.yaml", START);
    }
    return handOver(file, out, resume);
  }

  private static boolean hasSpark() {
    try {
      Class.forName("org.apache.spark.SparkConf", false, context());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static ClassLoader context() {
    ClassLoader own = Thread.currentThread().getContextClassLoader();
    return own == null ? SweepOnSpark.class.getClassLoader() : own;
  }

  private static int handOver(String file, String out, boolean resume) {
    try {
      Class<?> sweep = Class.forName("org.kernbench.cluster.ClusterSweep", true, context());
      return (int)
          sweep
              .getMethod("execute", String.class, String.class, boolean.class)
              .invoke(null, file, out, resume);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof RuntimeException) {
        throw (RuntimeException) e.getCause();
      }
      throw new IllegalStateException(e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the jar of kernbench-cluster is not whole", e);
    }
  }

  private static int refuse(PrintStream err, String what, String... remedy) {
    err.println("kernbench: " + what);
    for (String line : remedy) {
      err.println("  " + line);
    }
    return 2;
  }
}
