package org.kernbench.nn.multimodal;

import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.layers.TransformerConfig.Style;

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
          "placeholder %s; expected an id of the vocabulary, 0 to %s"
              .formatted(placeholder, language.vocabulary() - 1));
    }
  }

  /** Small enough for values in f64: widths that up to 12 ranks divide, style of GPT. */
  public static TwoModuleConfig tinyGpt() {
    return tiny("tiny-gpt", Style.GPT);
  }

  /** As small in the style of Llama, two queries to each key. */
  public static TwoModuleConfig tinyLlama() {
    return tiny("tiny-llama", Style.LLAMA);
  }

  private static TwoModuleConfig tiny(String name, Style style) {
    int queries = style == Style.LLAMA ? 24 : 12;
    return new TwoModuleConfig(
        new TransformerConfig("tiny-vit", 24, 1, 12, 12, 2, 24, 1, 8, Style.VIT),
        6,
        24,
        new TransformerConfig(name, 24, 2, queries, 12, 2, 24, 48, 512, style),
        47);
  }

  /** ViT-B/16 of images of 224 x 224 (Dosovitskiy et al. 2021) before GPT-2 small. */
  public static TwoModuleConfig vitBaseGpt2() {
    TransformerConfig gpt = TransformerConfig.gpt2Small();
    return new TwoModuleConfig(
        new TransformerConfig("vit-b/16", 768, 12, 12, 12, 64, 3072, 1, 196, Style.VIT),
        16 * 16 * 3,
        3072,
        gpt.with(gpt.layers(), 50304), // a multiple of 128, so that ranks can divide it
        50303);
  }

  /** The encoder of LLaVA 1.5, ViT-L/14 of 336 x 336, before Llama 3.1 8B. */
  public static TwoModuleConfig vitLargeLlama8b() {
    return new TwoModuleConfig(
        new TransformerConfig("vit-l/14", 1024, 24, 16, 16, 64, 4096, 1, 576, Style.VIT),
        14 * 14 * 3,
        4096,
        TransformerConfig.llama8b(),
        128255);
  }

  /** A copy with other numbers of layers. */
  public TwoModuleConfig withLayers(int encoderLayers, int languageLayers) {
    return new TwoModuleConfig(
        encoder.with(encoderLayers, encoder.vocabulary()),
        patch,
        projector,
        language.with(languageLayers, language.vocabulary()),
        placeholder);
  }

  /** Tokens of the modality in a sample that has it. */
  public int tokensPerSample() {
    return encoder.maxSequence();
  }
}
