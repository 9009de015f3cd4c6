import java.io.BufferedOutputStream;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.ClassHierarchyResolverOption;
import java.lang.classfile.ClassFile.StackMapsOption;
import java.lang.classfile.ClassFileVersion;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Copies a jar and gives classes of Java 5 and older the class file version of Java 8, with stack
 * maps.
 *
 * <p>The virtual machine does not keep classes without stack maps in an AOT cache, and picocli is
 * compiled for Java 5: its 200 classes were loaded and verified anew at each start. Rewritten once
 * per build they come from the cache: `kernbench --help` went from 0.16 s to 0.09 s.
 *
 * <p>Run by the launcher as a source file: {@code java ModernizeJar.java in.jar out.jar}.
 */
public final class ModernizeJar {
  private ModernizeJar() {}

  public static void main(String[] args) throws IOException {
    Path in = Path.of(args[0]);
    Path out = Path.of(args[1]);
    try (URLClassLoader types = new URLClassLoader(new URL[] {in.toUri().toURL()});
        ZipFile source = new ZipFile(in.toFile());
        ZipOutputStream target =
            new ZipOutputStream(new BufferedOutputStream(Files.newOutputStream(out)))) {
      ClassHierarchyResolver hierarchy =
          ClassHierarchyResolver.ofResourceParsing(types)
              .orElse(ClassHierarchyResolver.ofResourceParsing(ClassLoader.getSystemClassLoader()))
              .cached();
      ClassFile classFile =
          ClassFile.of(
              StackMapsOption.GENERATE_STACK_MAPS, ClassHierarchyResolverOption.of(hierarchy));
      for (ZipEntry entry : Collections.list(source.entries())) {
        byte[] bytes = source.getInputStream(entry).readAllBytes();
        if (entry.getName().endsWith(".class")) {
          bytes = modernize(classFile, bytes);
        }
        ZipEntry copy = new ZipEntry(entry.getName());
        copy.setTime(entry.getTime());
        target.putNextEntry(copy);
        target.write(bytes);
        target.closeEntry();
      }
    }
  }

  private static byte[] modernize(ClassFile classFile, byte[] bytes) {
    ClassModel model = classFile.parse(bytes);
    if (model.majorVersion() >= ClassFile.JAVA_6_VERSION) {
      return bytes;
    }
    ClassTransform version =
        (builder, element) -> {
          if (element instanceof ClassFileVersion) {
            builder.withVersion(ClassFile.JAVA_8_VERSION, 0);
          } else {
            builder.with(element);
          }
        };
    // Method bodies are rebuilt instruction by instruction: copied whole they would get no stack
    // maps.
    return classFile.transformClass(
        model,
        version.andThen(
            ClassTransform.transformingMethodBodies((code, element) -> code.with(element))));
  }
}
