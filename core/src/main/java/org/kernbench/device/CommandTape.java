package org.kernbench.device;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a program has said and its CPU has not taken yet: up to a given number of entries, {@value
 * #SIZE} unless a test says otherwise; or a whole step, however long, of a program in {@link
 * Steps}.
 *
 * <p>A program that looks at no data says the same whatever the time, so it need not be switched to
 * for every few commands that the window of the CPU lets through: it fills the tape, and what
 * depends on the state of the PE (the window, who reads a value, the order of operations) is
 * decided when a command is taken from it. A switch costs several hundred nanoseconds, most of them
 * waiting for the stack and the objects of a thread that has not run for long; a command on the
 * tape takes one cache line.
 */
final class CommandTape {
  /** What is on the tape. */
  enum Entry {
    LOAD,
    STORE,
    COMPUTE,
    ACCUMULATE,
    SCHEDULE,
    SEND,
    RECEIVE,
    FENCE,
    FENCE_READERS,
    FENCE_ALL,
    RELEASE
  }

  static final int SIZE = 64;
  private static final Entry[] ENTRIES = Entry.values();

  // a row of words: entry, bytes, line, three offsets, a number; and of references: three
  // operands, the result, and what is done
  private static final int WORDS = 8;
  private static final int REFERENCES = 6;

  private int[] words = new int[8 * WORDS];
  private @Nullable Object[] references = new Object[8 * REFERENCES];
  private final int size;
  private int written;
  private int read;

  CommandTape(int size) {
    this.size = size;
  }

  boolean isEmpty() {
    return read == written;
  }

  /** Whether a program that can wait must let all be taken before it says more. */
  boolean isFull() {
    return written >= size;
  }

  void clear() {
    Arrays.fill(references, null);
    written = 0;
    read = 0;
  }

  // ---- the program ----

  /** Adds an entry; what is not given is 0, {@link TimedRegister#NONE} or null. */
  void put(Entry entry, int bytes, int line, TimedRegister out) {
    if (written * WORDS == words.length) {
      words = Arrays.copyOf(words, words.length * 2);
      references = Arrays.copyOf(references, references.length * 2);
    }
    int w = written * WORDS;
    words[w] = entry.ordinal();
    words[w + 1] = bytes;
    words[w + 2] = line;
    words[w + 3] = 0;
    words[w + 4] = 0;
    words[w + 5] = 0;
    words[w + 6] = 0;
    int r = written * REFERENCES;
    references[r] = TimedRegister.NONE;
    references[r + 1] = TimedRegister.NONE;
    references[r + 2] = TimedRegister.NONE;
    references[r + 3] = out;
    written++;
  }

  /** Operand {@code k} of the last entry, from 0. */
  void operand(int k, TimedRegister register, int offset) {
    references[(written - 1) * REFERENCES + k] = register;
    words[(written - 1) * WORDS + 3 + k] = offset;
  }

  /** A number that goes with the last entry. */
  void number(int number) {
    words[(written - 1) * WORDS + 6] = number;
  }

  /** What the last entry does. */
  void what(Object what) {
    references[(written - 1) * REFERENCES + 4] = what;
  }

  /** What else it needs. */
  void also(@Nullable Object also) {
    references[(written - 1) * REFERENCES + 5] = also;
  }

  // ---- the CPU ----

  /** The entry to be taken. */
  Entry entry() {
    return ENTRIES[words[read * WORDS]];
  }

  int bytes() {
    return words[read * WORDS + 1];
  }

  int line() {
    return words[read * WORDS + 2];
  }

  int offset(int k) {
    return words[read * WORDS + 3 + k];
  }

  int number() {
    return words[read * WORDS + 6];
  }

  /** Notes a number with the entry to be taken. */
  void decide(int number) {
    words[read * WORDS + 6] = number;
  }

  TimedRegister operand(int k) {
    return reference(k, TimedRegister.class);
  }

  TimedRegister out() {
    return reference(3, TimedRegister.class);
  }

  <T> T what(Class<T> type) {
    return reference(4, type);
  }

  @Nullable Object also() {
    return references[read * REFERENCES + 5];
  }

  private <T> T reference(int k, Class<T> type) {
    return Objects.requireNonNull(type.cast(references[read * REFERENCES + k]));
  }

  /** The entry has been taken. */
  void taken() {
    Arrays.fill(references, read * REFERENCES, (read + 1) * REFERENCES, null);
    read++;
    if (read == written) {
      read = 0;
      written = 0;
    }
  }
}
