package org.kernbench.config;

import java.util.Optional;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.parser.Parser;

/**
 * Lets through a YAML of bounded depth and number of values. What composes the nodes calls itself
 * for each level, so a short file of many brackets would take all of the stack.
 */
final class GuardedParser implements Parser {
  private final Parser parser;
  private final int mostLevels;
  private final int mostValues;
  private int levels;
  private int values;

  GuardedParser(Parser parser, int mostLevels, int mostValues) {
    this.parser = parser;
    this.mostLevels = mostLevels;
    this.mostValues = mostValues;
  }

  /** There is too much of something. */
  static final class TooMuchException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient Optional<Mark> at;

    TooMuchException(Optional<Mark> at) {
      super("too much", null, false, false);
      this.at = at;
    }

    Optional<Mark> at() {
      return at;
    }
  }

  @Override
  public boolean checkEvent(Event.ID choice) {
    return parser.checkEvent(choice);
  }

  @Override
  public Event peekEvent() {
    return parser.peekEvent();
  }

  @Override
  public boolean hasNext() {
    return parser.hasNext();
  }

  @Override
  public Event next() {
    Event event = parser.next();
    switch (event.getEventId()) {
      case MappingStart, SequenceStart -> {
        levels++;
        values++;
      }
      case MappingEnd, SequenceEnd -> levels--;
      case Scalar, Alias -> values++;
      case Comment, DocumentStart, DocumentEnd, StreamStart, StreamEnd -> {}
    }
    if (levels > mostLevels || values > mostValues) {
      throw new TooMuchException(event.getStartMark());
    }
    return event;
  }
}
