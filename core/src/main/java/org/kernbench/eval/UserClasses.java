package org.kernbench.eval;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.Writer;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.FilesRead;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;
import org.kernbench.eval.output.Digest;

/**
 * Classes that a user adds to a run: jars and directories of classes, and {@code .java} files,
 * which are compiled in memory. Only what the user named is loaded; no file that is read can name
 * another one to load. Of kernbench they see the rooms for users ({@code docs/rooms.md}).
 *
 * <p>Benches of a {@code .java} file are found by looking at its classes; benches of a jar or a
 * directory by their entry in {@code META-INF/services/org.kernbench.eval.Bench}. Collective
 * algorithms are found through {@link #loader} by the name that {@code ccl.yaml} gives.
 */
public final class UserClasses {
  private static final java.util.regex.Pattern PACKAGE =
      java.util.regex.Pattern.compile("(?m)^\\s*package\\s+([\\w.]+)\\s*;");

  /** Name of the class loader, by which frames of a stack are told to be of a user's code. */
  static final String LOADER = "user classes";

  private final List<Path> entries;
  private final MemoryLoader loader;
  private final Map<Path, List<Bench>> fromSources = new LinkedHashMap<>();
  private final List<Bench> fromServices = new ArrayList<>();

  private UserClasses(List<Path> entries, MemoryLoader loader) {
    this.entries = List.copyOf(entries);
    this.loader = loader;
  }

  /**
   * Compiles and loads.
   *
   * @param entries jars, directories of classes, {@code .java} files
   * @throws UsageException if one of them does not exist, does not compile, or holds a bench that
   *     cannot be made; it lists every error of the compiler with its place
   */
  public static UserClasses load(List<Path> entries) {
    List<Path> sources = new ArrayList<>();
    List<Path> libraries = new ArrayList<>();
    for (Path entry : entries) {
      check(entry);
      (isSource(entry) ? sources : libraries).add(entry);
    }
    RoomsForUsers rooms = RoomsForUsers.ofThisProgram();
    Map<String, Compiled> compiled =
        sources.isEmpty() ? Map.of() : new Compilation(rooms, libraries).compile(sources);
    MemoryLoader loader = new MemoryLoader(rooms, urls(libraries), compiled);
    UserClasses classes = new UserClasses(entries, loader);
    for (Path source : sources) {
      classes.fromSources.put(source, benchesOf(source, compiled, loader));
    }
    if (!libraries.isEmpty()) {
      classes.fromServices.addAll(services(loader));
    }
    return classes;
  }

  /** Whether a path names Java source code. */
  public static boolean isSource(Path path) {
    return path.toString().endsWith(".java");
  }

  /** Finds the classes, and everything that kernbench itself can. */
  public ClassLoader loader() {
    return loader;
  }

  /** All benches: of the source files first, in the order in which they were given. */
  public List<Bench> benches() {
    return Stream.concat(fromSources.values().stream().flatMap(List::stream), fromServices.stream())
        .toList();
  }

  /**
   * The bench of a source file that was loaded.
   *
   * @throws UsageException if there is none, or several and none of them is named like the file
   */
  public Bench benchOf(Path source) {
    List<Bench> all = fromSources.getOrDefault(source, List.of());
    if (all.size() == 1) {
      return all.getFirst();
    }
    if (all.isEmpty()) {
      throw new UsageException(
          """
          %s: holds no bench; expected a class that implements %s and has a constructor \
          without arguments (kernbench new bench NAME writes one)\
          """
              .formatted(source, Bench.class.getName()));
    }
    String name = String.valueOf(source.getFileName()).replaceAll("\\.java$", "");
    for (Bench bench : all) {
      if (bench.getClass().getSimpleName().equals(name)) {
        return bench;
      }
    }
    throw new UsageException(
        "%s: holds %s benches, %s; name one with --bench NAME --class-path %s"
            .formatted(
                source,
                all.size(),
                String.join(", ", all.stream().map(Bench::name).toList()),
                source));
  }

  /**
   * The classes that a source file declares at its top, that named like the file first.
   *
   * @throws UsageException if one cannot be loaded
   */
  public List<Class<?>> programsOf(Path source) {
    List<Class<?>> types = new ArrayList<>();
    loader.compiled.forEach((name, code) -> {
      if (code.source.equals(source) && !name.contains("$")) {
        types.add(load(source, name, loader));
      }
    });
    String first = String.valueOf(source.getFileName()).replaceAll("\\.java$", "");
    types.sort(Comparator.comparing(type -> !type.getSimpleName().equals(first)));
    return types;
  }

  private static Class<?> load(Path source, String name, ClassLoader loader) {
    try {
      return Class.forName(name, false, loader);
    } catch (ClassNotFoundException | LinkageError e) {
      throw new UsageException(source + ": class " + name + " cannot be loaded: " + reason(e));
    }
  }

  /**
   * A digest of all code that was loaded, so that results of other code are told apart: what the
   * compiler made of the source files and of the neighbours that they use, and every file of the
   * jars and directories.
   */
  public String hash() {
    if (entries.isEmpty()) {
      return "";
    }
    Digest digest = new Digest();
    loader.compiled.forEach((name, code) -> {
      digest.add(name);
      digest.add(new String(code.bytes.toByteArray(), StandardCharsets.ISO_8859_1));
    });
    try {
      for (Path entry : entries) {
        if (!isSource(entry)) {
          addLibrary(entry, digest);
        }
      }
    } catch (IOException e) {
      throw new UsageException("class path: cannot read " + e.getMessage());
    }
    return digest.text();
  }

  private static void addLibrary(Path entry, Digest digest) throws IOException {
    List<Path> files;
    try (Stream<Path> walk = Files.walk(entry)) {
      files = walk.filter(Files::isRegularFile).sorted().toList();
    }
    for (Path file : files) {
      digest.add(entry.relativize(file).toString());
      digest.add(FilesRead.contentOf(file));
    }
  }

  private static void check(Path entry) {
    if (isSource(entry)) {
      if (!Files.isRegularFile(entry)) {
        throw new UsageException(
            """
            %s: no such file; expected Java source code (kernbench new bench NAME writes \
            some)\
            """
                .formatted(entry));
      }
    } else if (!Files.isDirectory(entry)
        && !(Files.isRegularFile(entry) && entry.toString().endsWith(".jar"))) {
      throw new UsageException(
          """
          --class-path %s: %s; expected a jar, a directory of classes or a .java file\
          """
              .formatted(entry, Files.exists(entry) ? "is none of the three" : "no such file"));
    }
  }

  private static List<URL> urls(List<Path> libraries) {
    List<URL> urls = new ArrayList<>();
    for (Path library : libraries) {
      try {
        urls.add(library.toUri().toURL());
      } catch (MalformedURLException e) {
        throw new IllegalStateException(e);
      }
    }
    return urls;
  }

  private static List<Bench> services(ClassLoader loader) {
    List<Bench> benches = new ArrayList<>();
    try {
      ServiceLoader.load(Bench.class, loader).forEach(benches::add);
    } catch (ServiceConfigurationError e) {
      throw new UsageException("--class-path: " + e.getMessage() + behind(e));
    }
    return benches;
  }

  private static List<Bench> benchesOf(
      Path source, Map<String, Compiled> compiled, ClassLoader loader) {
    List<Bench> benches = new ArrayList<>();
    compiled.forEach((name, code) -> {
      if (code.source.equals(source)) {
        make(source, name, loader).ifPresent(benches::add);
      }
    });
    return benches;
  }

  private static Optional<Bench> make(Path source, String name, ClassLoader loader) {
    try {
      Class<?> type = Class.forName(name, false, loader);
      if (!Bench.class.isAssignableFrom(type)
          || type.isInterface()
          || Modifier.isAbstract(type.getModifiers())
          || type.isAnonymousClass()
          || type.isLocalClass()) {
        return Optional.empty();
      }
      var constructor = type.getDeclaredConstructor();
      constructor.setAccessible(true);
      return Optional.of((Bench) constructor.newInstance());
    } catch (NoSuchMethodException e) {
      return Optional.empty(); // made by the code of the file itself, with arguments
    } catch (InvocationTargetException e) {
      throw new UsageException(
          source + ": class " + name + " failed to start: " + reason(e.getTargetException()));
    } catch (ReflectiveOperationException | LinkageError | StackOverflowError e) {
      throw new UsageException(source + ": class " + name + " cannot be loaded: " + reason(e));
    }
  }

  /** The refusal of a room that is not for users, if that is why a class was not found. */
  private static String behind(Throwable error) {
    return UserFault.chain(error).getLast() instanceof RoomsForUsers.Refused refused
        ? ": " + UserFault.told(refused)
        : "";
  }

  private static String reason(Throwable error) {
    return UserFault.told(UserFault.chain(error).getLast());
  }

  /** The bytes of a class and where they came from. */
  private static final class Compiled extends SimpleJavaFileObject {
    final Path source;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    Compiled(String className, Path source) {
      super(URI.create("memory:///" + className.replace('.', '/') + ".class"), Kind.CLASS);
      this.source = source;
    }

    @Override
    public OutputStream openOutputStream() {
      return bytes;
    }
  }

  /** Loads compiled classes from memory; jars and directories after them. */
  private static final class MemoryLoader extends URLClassLoader {
    private final RoomsForUsers rooms;
    private final Map<String, Compiled> compiled;

    MemoryLoader(RoomsForUsers rooms, List<URL> libraries, Map<String, Compiled> compiled) {
      super(LOADER, libraries.toArray(URL[]::new), rooms.door());
      this.rooms = rooms;
      this.compiled = compiled;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      Compiled code = compiled.get(name);
      if (code == null) {
        if (rooms.hidesClass(name)) {
          throw new RoomsForUsers.Refused(rooms.refusal(name));
        }
        return super.findClass(name);
      }
      byte[] bytes = code.bytes.toByteArray();
      return defineClass(name, bytes, 0, bytes.length);
    }
  }

  /** One run of the compiler of this Java. */
  private record Compilation(RoomsForUsers rooms, List<Path> libraries) {
    Map<String, Compiled> compile(List<Path> sources) {
      JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
      if (compiler == null) {
        throw new UsageException(
            "%s: this Java has no compiler; run kernbench with a JDK 25 (KERNBENCH_JAVA_HOME)"
                .formatted(sources.getFirst()));
      }
      DiagnosticCollector<JavaFileObject> problems = new DiagnosticCollector<>();
      Map<String, Compiled> classes = new TreeMap<>();
      try (StandardJavaFileManager files =
          compiler.getStandardFileManager(problems, Locale.ROOT, StandardCharsets.UTF_8)) {
        Output output = new Output(files, rooms, sources, classes);
        boolean ok =
            compiler
                .getTask(
                    Writer.nullWriter(),
                    output,
                    problems,
                    options(sources),
                    null,
                    files.getJavaFileObjectsFromPaths(sources))
                .call();
        if (!ok) {
          throw new UsageException(explain(problems.getDiagnostics()));
        }
      } catch (IOException e) {
        throw new UsageException(sources.getFirst() + ": cannot be compiled: " + e.getMessage());
      }
      return classes;
    }

    private List<String> options(List<Path> sources) {
      List<String> classPath = new ArrayList<>();
      classPath.add(System.getProperty("java.class.path", ""));
      ownPlace().ifPresent(classPath::add);
      libraries.forEach(each -> classPath.add(each.toString()));
      List<String> roots = sources.stream().map(Compilation::root).distinct().toList();
      return List.of(
          "-g",
          "-proc:none",
          "-Xlint:none",
          "-cp",
          String.join(File.pathSeparator, classPath),
          "-sourcepath",
          String.join(File.pathSeparator, roots));
    }

    /** Where kernbench itself is: a program that holds it, as on a cluster, may have loaded it. */
    private static Optional<String> ownPlace() {
      CodeSource place = UserClasses.class.getProtectionDomain().getCodeSource();
      return place == null || !"file".equals(place.getLocation().getProtocol())
          ? Optional.empty()
          : Optional.of(Path.of(URI.create(place.getLocation().toString())).toString());
    }

    /** Where the packages of a source file begin: its neighbours are compiled with it. */
    private static String root(Path source) {
      @Nullable Path root = source.toAbsolutePath().getParent();
      try {
        Matcher m = PACKAGE.matcher(UserFile.text(source, "Java source code"));
        if (m.find()) {
          for (int up = m.group(1).split("\\.").length; up > 0 && root != null; up--) {
            root = root.getParent();
          }
        }
      } catch (IOException e) {
        return "."; // the compiler says what is wrong with it
      }
      return root == null ? "." : root.toString();
    }

    private String explain(List<Diagnostic<? extends JavaFileObject>> problems) {
      List<String> lines = new ArrayList<>();
      for (Diagnostic<? extends JavaFileObject> d : problems) {
        if (d.getKind() == Diagnostic.Kind.ERROR) {
          lines.add(explain(d));
        }
      }
      return String.join("\n", lines);
    }

    private String explain(Diagnostic<? extends JavaFileObject> d) {
      String message = d.getMessage(Locale.ROOT).replace("\r\n", "\n");
      @Nullable JavaFileObject file = d.getSource();
      if (file == null || d.getLineNumber() < 1) {
        return "the Java compiler: " + message;
      }
      String place =
          shown(file) + ":" + d.getLineNumber() + ":" + d.getColumnNumber() + ": " + message;
      String refusal = rooms.behind(message);
      return place + (refusal.isEmpty() ? "" : ": " + refusal) + quoted(file, d);
    }

    private static String shown(JavaFileObject file) {
      Path path = Path.of(file.toUri());
      Path here = Path.of("").toAbsolutePath();
      return (path.startsWith(here) ? here.relativize(path) : path).toString();
    }

    /** The line of source with a mark below the column. */
    private static String quoted(JavaFileObject file, Diagnostic<?> d) {
      try {
        String line =
            file.getCharContent(true)
                .toString()
                .lines()
                .skip(d.getLineNumber() - 1)
                .findFirst()
                .orElse("");
        int column = (int) Math.min(d.getColumnNumber() - 1, line.length());
        int indent = line.length() - line.stripLeading().length();
        return "\n    " + line.strip() + "\n    " + " ".repeat(Math.max(0, column - indent)) + "^";
      } catch (IOException e) {
        return "";
      }
    }
  }

  /** Shows the compiler the rooms for users, and keeps what it writes. */
  private static final class Output extends ForwardingJavaFileManager<StandardJavaFileManager> {
    private final RoomsForUsers rooms;
    private final List<Path> sources;
    private final Map<String, Compiled> classes;

    Output(
        StandardJavaFileManager files,
        RoomsForUsers rooms,
        List<Path> sources,
        Map<String, Compiled> classes) {
      super(files);
      this.rooms = rooms;
      this.sources = sources;
      this.classes = classes;
    }

    /** What a package holds; nothing where the compiler may not look for a user. */
    @Override
    public Iterable<JavaFileObject> list(
        JavaFileManager.Location location,
        String packageName,
        Set<JavaFileObject.Kind> kinds,
        boolean recurse)
        throws IOException {
      return location == StandardLocation.CLASS_PATH && rooms.hides(packageName)
          ? List.of()
          : super.list(location, packageName, kinds, recurse);
    }

    @Override
    public JavaFileObject getJavaFileForOutput(
        JavaFileManager.Location location,
        String className,
        JavaFileObject.Kind kind,
        @Nullable FileObject sibling) {
      Compiled compiled = new Compiled(className, source(sibling));
      classes.put(className, compiled);
      return compiled;
    }

    /** The file as it was named, or an empty path for a neighbour that was compiled with it. */
    private Path source(@Nullable FileObject sibling) {
      if (sibling != null) {
        Path compiled = Path.of(sibling.toUri());
        for (Path source : sources) {
          if (source.toAbsolutePath().equals(compiled)) {
            return source;
          }
        }
      }
      return Path.of("");
    }
  }
}
