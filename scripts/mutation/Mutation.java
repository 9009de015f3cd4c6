package mutation;

/**
 * One small change to one source file.
 *
 * @param file within {@code org/kernbench}, e.g. {@code ccl/bounds/Bounds.java}
 * @param line first line of what changes, from 1
 * @param firstLine first line of the statement around it
 * @param lastLine its last line: tests that reach any of them are run
 * @param runsOnce whether it is part of what a class does when it is loaded
 * @param start where the old text begins in the file
 */
record Mutation(
    String file,
    int line,
    int firstLine,
    int lastLine,
    String operator,
    boolean runsOnce,
    int start,
    String before,
    String after) {

  String room() {
    return file.substring(0, file.indexOf('/'));
  }

  String place() {
    return file + ":" + line;
  }

  String applied(String source) {
    return source.substring(0, start) + after + source.substring(start + before.length());
  }

  /** What changed, on one line. */
  String change() {
    return after.equals(";") || after.equals("{}")
        ? "without " + shown(before)
        : shown(before) + "  ->  " + shown(after);
  }

  private static String shown(String code) {
    String line = code.replaceAll("\\s+", " ");
    return line.length() <= 70 ? line : line.substring(0, 67) + "...";
  }
}
