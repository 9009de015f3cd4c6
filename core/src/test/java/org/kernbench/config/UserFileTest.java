package org.kernbench.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that a user names: their limits, what is no file, and the note of each. */
final class UserFileTest {
  @TempDir private Path directory;

  private Path file(String name, String text) throws IOException {
    return Files.writeString(directory.resolve(name), text);
  }

  private static void refused(boolean missing, String message, ThrowingCallable call) {
    UnreadableException e = catchThrowableOfType(UnreadableException.class, call);
    assertThat(e).as("must be refused").isNotNull();
    assertThat(e).hasMessage(message);
    assertThat(e.isMissing()).isEqualTo(missing);
  }

  @Test
  void bytes_ofAsManyAsAllowed_areAllThere_andOneMoreIsRefused() throws IOException {
    Path file = file("ten", "0123456789");
    assertThat(UserFile.bytes(file, 10, "a list"))
        .isEqualTo("0123456789".getBytes(StandardCharsets.UTF_8));
    assertThat(UserFile.bytes(file, Long.MAX_VALUE, "a list")).hasSize(10);
    refused(
        false,
        "is larger than 9 bytes; expected a list below that",
        () -> UserFile.bytes(file, 9, "a list"));
    Path large = directory.resolve("large");
    Files.write(large, new byte[(1 << 20) + 1]);
    refused(
        false,
        "is larger than 1048575 bytes; expected a list below that",
        () -> UserFile.bytes(large, (1 << 20) - 1, "a list"));
    refused(
        false,
        "is larger than 1 MiB; expected a list below that",
        () -> UserFile.bytes(large, 1 << 20, "a list"));
    assertThat(UserFile.bytes(file("empty", ""), 0, "a list")).isEmpty();
  }

  @Test
  void text_thatIsNone_isRefusedWithWhatWasExpected() throws IOException {
    assertThat(UserFile.text(file("a", "größer"), "a YAML file")).isEqualTo("größer");
    assertThat(UserFile.text(file("b", "abc"), 3, "a YAML file")).isEqualTo("abc");
    Path wrong = Files.write(directory.resolve("c"), new byte[] {'a', (byte) 0xff});
    refused(
        false,
        "is not UTF-8 text; expected a YAML file",
        () -> UserFile.text(wrong, "a YAML file"));
    refused(
        true,
        "no such file; expected a YAML file",
        () -> UserFile.text(directory.resolve("none"), "a YAML file"));
    refused(
        false,
        "is a directory; expected a YAML file",
        () -> UserFile.text(directory, "a YAML file"));
    refused(true, "is no name that a file can have; expected a path", () -> UserFile.path("a\0b"));
    assertThat(UserFile.path("a/b")).isEqualTo(Path.of("a", "b"));
  }

  @Test
  void text_longestThatAPersonMayHaveWritten_is16MiB() throws IOException {
    Path file = directory.resolve("long");
    byte[] bytes = new byte[UserFile.LONGEST_TEXT + 1];
    Files.write(file, bytes);
    refused(
        false,
        "is larger than 16 MiB; expected a text below that",
        () -> UserFile.text(file, "a text"));
  }

  @Test
  void device_isRefused() {
    Path device = Path.of("/dev/null");
    if (Files.exists(device)) {
      refused(
          false,
          "is a device or a pipe; expected a list",
          () -> UserFile.bytes(device, 1, "a list"));
    }
  }

  private static String read(Path file) {
    try {
      return UserFile.text(file, "a text");
    } catch (UnreadableException e) {
      return "unreadable";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Hashes are the first 32 digits of SHA-256, here of published test vectors. */
  @Test
  void during_calls_noteWhatEachRead() throws IOException {
    Path abc = file("abc", "abc");
    Path empty = file("empty", "");
    Path none = directory.resolve("none");
    FilesRead.Result<String> result =
        FilesRead.during(() -> {
          FilesRead.Result<String> inner = FilesRead.during(() -> read(abc));
          assertThat(inner.files()).containsOnlyKeys(abc.toAbsolutePath().toString());
          return inner.value() + read(empty) + read(directory.resolve("x/../none"));
        });
    assertThat(result.value()).isEqualTo("abcunreadable");
    assertThat(result.files())
        .hasSize(3)
        .containsEntry(abc.toAbsolutePath().toString(), "ba7816bf8f01cfea414140de5dae2223")
        .containsEntry(empty.toAbsolutePath().toString(), "e3b0c44298fc1c149afbf4c8996fb924")
        .containsEntry(none.toAbsolutePath().toString(), FilesRead.NOTHING);
    assertThatThrownBy(() -> result.files().clear())
        .isInstanceOf(UnsupportedOperationException.class);
    assertThat(FilesRead.contentOf(abc)).isEqualTo("ba7816bf8f01cfea414140de5dae2223");
    assertThat(FilesRead.contentOf(none)).isEqualTo("none");
    FilesRead.Result<String> later = FilesRead.during(result::again);
    assertThat(later.files()).isEqualTo(result.files());
    assertThat(result.again()).as("outside of any call").isEqualTo("abcunreadable");
  }

  @Test
  void during_callThatFails_isNotedAroundIt() throws IOException {
    Path abc = file("abc", "abc");
    FilesRead.Result<Boolean> outer =
        FilesRead.during(() -> {
          IllegalStateException e =
              catchThrowableOfType(
                  IllegalStateException.class,
                  () ->
                      FilesRead.during(() -> {
                        read(abc);
                        throw new IllegalStateException("after reading");
                      }));
          return e != null;
        });
    assertThat(outer.value()).isTrue();
    assertThat(outer.files()).containsOnlyKeys(abc.toAbsolutePath().toString());
  }
}
