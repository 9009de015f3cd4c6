package org.kernbench.nn.pipeline;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a rank does for one microbatch on one stage. Written as {@code torch.distributed.pipelining}
 * does: stage, kind, microbatch, for example {@code 2F0} or {@code 1RECV_B3}.
 *
 * @param stage counted over all chains of the schedule, from 0
 * @param kind what is done
 * @param microbatch from 0
 */
public record Action(int stage, Kind kind, int microbatch) {
  private static final Pattern FORM =
      Pattern.compile("([0-9]{1,6})(F|B|I|W|SEND_F|RECV_F|SEND_B|RECV_B)([0-9]{1,6})");

  /** What can be done. */
  public enum Kind {
    /** Forwards. */
    FORWARD("F"),
    /** All of the backward pass: gradients of the input and of the weights. */
    BACKWARD("B"),
    /** The gradient of the stage's input; those of matrices of weights are left for later. */
    INPUT_GRADIENT("I"),
    /** The gradients of weights that were left. */
    WEIGHT_GRADIENT("W"),
    /** The stage's output leaves for the next stage. */
    SEND_ACTIVATION("SEND_F"),
    /** The stage's input comes from the stage before. */
    RECEIVE_ACTIVATION("RECV_F"),
    /** The gradient of the stage's input leaves for the stage before. */
    SEND_GRADIENT("SEND_B"),
    /** The gradient of the stage's output comes from the next stage. */
    RECEIVE_GRADIENT("RECV_B");

    private final String word;

    Kind(String word) {
      this.word = word;
    }

    /** As files have it. */
    public String word() {
      return word;
    }

    /** Whether it moves something between ranks instead of computing. */
    public boolean isMessage() {
      return switch (this) {
        case FORWARD, BACKWARD, INPUT_GRADIENT, WEIGHT_GRADIENT -> false;
        case SEND_ACTIVATION, RECEIVE_ACTIVATION, SEND_GRADIENT, RECEIVE_GRADIENT -> true;
      };
    }

    /** Whether it finds the gradient of the stage's input. */
    public boolean givesInputGradient() {
      return this == BACKWARD || this == INPUT_GRADIENT;
    }

    /** Whether it completes the gradients of the stage's weights. */
    public boolean givesWeightGradient() {
      return this == BACKWARD || this == WEIGHT_GRADIENT;
    }

    static Optional<Kind> of(String word) {
      for (Kind kind : values()) {
        if (kind.word.equals(word)) {
          return Optional.of(kind);
        }
      }
      return Optional.empty();
    }
  }

  /** Checks the numbers. */
  public Action {
    if (stage < 0 || microbatch < 0) {
      throw new IllegalArgumentException(
          "stage %s, microbatch %s; expected 0 or more".formatted(stage, microbatch));
    }
  }

  /** Reads one; empty if the text is none. */
  public static Optional<Action> parse(String text) {
    Matcher m = FORM.matcher(text);
    return m.matches()
        ? Kind.of(m.group(2))
            .map(k -> new Action(Integer.parseInt(m.group(1)), k, Integer.parseInt(m.group(3))))
        : Optional.empty();
  }

  @Override
  public String toString() {
    return stage + kind.word + microbatch;
  }
}
