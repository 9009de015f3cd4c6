package mutation;

import java.io.IOException;
import java.lang.classfile.Attributes;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.instruction.LineNumber;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Writes classes that mark every line before it runs. Coverage tools mark a branch after it was
 * taken, so a line that throws does not count as reached there; but a test of an error message
 * reaches just such lines.
 */
final class Instrumenter {
  private static final ClassDesc HITS = ClassDesc.of("mutation.LineHits");

  private final Map<String, Integer> lines = new LinkedHashMap<>();
  private final ClassFile classFile;

  Instrumenter(ClassLoader loader) {
    var resolver =
        ClassHierarchyResolver.ofResourceParsing(loader)
            .orElse(ClassHierarchyResolver.defaultResolver());
    classFile = ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(resolver));
  }

  /**
   * Copies a folder of classes; returns its lines as {@code ccl/bounds/Bounds.java:461}, by number.
   */
  List<String> instrument(Path from, Path to) throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.walk(from)) {
      files = all.filter(Files::isRegularFile).sorted().toList();
    }
    for (Path file : files) {
      Path target = to.resolve(from.relativize(file));
      Files.createDirectories(target.getParent());
      byte[] bytes = Files.readAllBytes(file);
      Files.write(target, file.toString().endsWith(".class") ? marked(bytes) : bytes);
    }
    return new ArrayList<>(lines.keySet());
  }

  private byte[] marked(byte[] bytes) {
    ClassModel model = classFile.parse(bytes);
    var source = model.findAttribute(Attributes.sourceFile());
    if (source.isEmpty()) {
      return bytes;
    }
    String type = model.thisClass().asInternalName();
    String file =
        type.substring(0, type.lastIndexOf('/') + 1) + source.get().sourceFile().stringValue();
    String within = file.replaceFirst("^org/kernbench/", "");
    return classFile.transformClass(
        model,
        ClassTransform.transformingMethodBodies((code, element) -> {
          code.with(element);
          if (element instanceof LineNumber line) {
            int id = lines.computeIfAbsent(within + ":" + line.line(), key -> lines.size());
            code.getstatic(HITS, "HIT", ConstantDescs.CD_boolean.arrayType())
                .loadConstant(id)
                .iconst_1()
                .bastore();
          }
        }));
  }
}
