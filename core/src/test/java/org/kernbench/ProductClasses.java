package org.kernbench;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import java.util.Collection;
import java.util.List;

/** The product's classes as ArchUnit sees them, read once for all tests of a process. */
final class ProductClasses {
  private ProductClasses() {}

  static JavaClasses all() {
    return Once.ALL;
  }

  /** Some classes, to try a rule on. */
  static Collection<JavaClass> of(Class<?>... classes) {
    return List.copyOf(new ClassFileImporter().importClasses(classes));
  }

  private static final class Once {
    static final JavaClasses ALL =
        new ClassFileImporter(List.of(new DoNotIncludeTests())).importPackages("org.kernbench");
  }
}
