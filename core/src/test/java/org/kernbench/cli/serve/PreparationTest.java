package org.kernbench.cli.serve;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.eval.output.JsonObject;

/** What the virtual machine of the cache runs. That a cache comes of it: test_preparation.py. */
final class PreparationTest {
  @Test
  void rehearsal_isAnsweredWithoutAnError() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new Server(Preparation.rehearsal(), out, 5_000, () -> {}).serve();
    List<String> said = new ArrayList<>();
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(out.toByteArray()));
    while (in.available() > 0) {
      said.add(JsonObject.read(in.readNBytes(in.readInt())).text("is"));
    }
    assertThat(said.removeFirst()).isEqualTo("ready");
    assertThat(said.removeLast()).as("what ends the server").isEqualTo("error");
    assertThat(said).hasSize(10).containsOnly("done", "ask").containsOnlyOnce("ask");
  }
}
