package mutation;

/** Which lines ran: the instrumented classes set these marks. */
public final class LineHits {
  /** By the number that {@link Instrumenter} gave to the line. */
  public static final boolean[] HIT = new boolean[Integer.getInteger("mutation.lines", 0)];

  private LineHits() {}
}
