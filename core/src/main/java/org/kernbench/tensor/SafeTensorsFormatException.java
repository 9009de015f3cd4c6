package org.kernbench.tensor;

import java.io.IOException;

/** A file is not a {@code .safetensors} file, or has what this program does not know. */
public final class SafeTensorsFormatException extends IOException {
  private static final long serialVersionUID = 1L;

  SafeTensorsFormatException(String message) {
    super(message);
  }
}
