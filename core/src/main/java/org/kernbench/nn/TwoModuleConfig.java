package org.kernbench.nn;

/**
 * The shape of a model of two modules: an encoder of another modality, for example of images, whose
 * outputs take the places of placeholders in the text of a language model.
 *
 * @param encoder blocks of the encoder; its vocabulary is not used, its longest sequence is the
 *     number of tokens per sample
 * @param patch values per token of the modality, before the encoder
 * @param projector inner width of the two layers between encoder and language model
 * @param language the language model
 * @param placeholder the id whose places in the text the modality's tokens take
 */
public record TwoModuleConfig(
    TransformerConfig encoder,
    int patch,
    int projector,
    TransformerConfig language,
    int placeholder) {
  /** Checks that the placeholder is an id. */
  public TwoModuleConfig {
    if (placeholder < 0 || placeholder >= language.vocabulary()) {
      throw new IllegalArgumentException(
          "placeholder "
              + placeholder
              + "; expected an id of the vocabulary, 0 to "
              + (language.vocabulary() - 1));
    }
  }

  /** Tokens of the modality in a sample that has it. */
  public int tokensPerSample() {
    return encoder.maxSequence();
  }
}
