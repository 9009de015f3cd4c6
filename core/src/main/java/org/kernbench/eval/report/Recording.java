package org.kernbench.eval.report;

import java.io.DataInput;
import java.io.DataInputStream;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.StreamCorruptedException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.CheckedOutputStream;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.ConfigException;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.SimulatedScope;
import org.kernbench.eval.UserFault;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.output.WholeFile;
import org.kernbench.machine.Machine;
import org.kernbench.machine.MachineException;
import org.kernbench.machine.Machines;

/**
 * A run as it is kept in a file: its result, its operations and transfers, and what it takes to run
 * it again.
 *
 * <p>The file begins with {@code KBRUNLOG} and the version of its format; what follows is deflated
 * and ends with a checksum. The machine is kept as its resolved configuration, so a run can be
 * explained when its files are gone.
 *
 * @param bench as the user named it
 * @param options of the run; the machine is given by value
 * @param result of the run
 */
public record Recording(String bench, RunOptions options, RunResult result) {
  /** Version of the format. */
  public static final int VERSION = 8;

  private static final byte[] MAGIC = "KBRUNLOG".getBytes(StandardCharsets.US_ASCII);

  // ---- written ----

  void write(OutputStream out) throws IOException {
    out.write(MAGIC);
    DataOutputStream plain = new DataOutputStream(out);
    plain.writeInt(VERSION);
    plain.flush();
    DeflaterOutputStream deflated = new DeflaterOutputStream(out);
    CheckedOutputStream checked = new CheckedOutputStream(deflated, new CRC32());
    DataOutputStream data = new DataOutputStream(checked);
    content(data);
    data.flush();
    data.writeLong(checked.getChecksum().getValue());
    data.flush();
    deflated.finish();
  }

  private void content(DataOutput out) throws IOException {
    out.writeUTF(result.version());
    out.writeUTF(bench);
    texts(out, options.params());
    texts(out, options.cclOverrides());
    out.writeUTF(options.ccl().map(p -> p.toAbsolutePath().toString()).orElse(""));
    out.writeUTF(options.mode().name());
    out.writeUTF(options.point().orElse(""));
    Machine machine = result.machine().orElseThrow();
    out.writeUTF(machine.name());
    out.writeUTF(machine.hash());
    texts(out, Arrays.asList(machine.configText().split("\n")));
    out.writeUTF(result.bench());
    out.writeUTF(result.mode());
    values(out, result.params());
    out.writeUTF(result.status().name());
    texts(out, result.problems());
    out.writeBoolean(result.values().isPresent());
    if (result.values().isPresent()) {
      ValueCheck v = result.values().get();
      out.writeLong(v.checked());
      out.writeLong(v.wrong());
      out.writeDouble(v.maxAbsError());
      out.writeDouble(v.allowed());
      out.writeInt(v.compared().size());
      for (ValueCheck.Compared each : v.compared()) {
        out.writeUTF(each.kind());
        out.writeInt(each.tensors());
        out.writeLong(each.values());
        out.writeDouble(each.worst());
        out.writeUTF(each.worstTensor());
      }
    }
    values(out, result.metrics());
    out.writeLong(result.sim().events());
    out.writeDouble(result.sim().wallMs());
    out.writeUTF(result.sim().numerics());
    write(out, result.sim().scope());
    Breakdown path = result.path().orElseThrow();
    path.write(out);
    path.log().write(out);
  }

  private static void write(DataOutput out, SimulatedScope scope) throws IOException {
    out.writeInt(scope.packages());
    out.writeInt(scope.simulatedPackages());
    out.writeInt(scope.points());
    out.writeInt(scope.ofPoints());
    out.writeLong(scope.launches());
    out.writeLong(scope.simulatedLaunches());
    out.writeUTF(scope.note());
  }

  private static SimulatedScope scope(DataInput in) throws IOException {
    return new SimulatedScope(
        in.readInt(),
        in.readInt(),
        in.readInt(),
        in.readInt(),
        in.readLong(),
        in.readLong(),
        in.readUTF());
  }

  private static List<ValueCheck.Compared> compared(DataInput in) throws IOException {
    List<ValueCheck.Compared> list = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      list.add(
          new ValueCheck.Compared(
              in.readUTF(), in.readInt(), in.readLong(), in.readDouble(), in.readUTF()));
    }
    return list;
  }

  private static void texts(DataOutput out, List<String> list) throws IOException {
    out.writeInt(list.size());
    for (String text : list) {
      out.writeUTF(text);
    }
  }

  private static void values(DataOutput out, Map<String, Object> map) throws IOException {
    out.writeInt(map.size());
    for (Map.Entry<String, Object> entry : map.entrySet()) {
      out.writeUTF(entry.getKey());
      Object value = entry.getValue();
      out.writeUTF(value.getClass().getSimpleName());
      out.writeUTF(value instanceof BigDecimal d ? d.toPlainString() : String.valueOf(value));
    }
  }

  // ---- read ----

  /**
   * Derives something from the result. A file may have the right checksum and tables that
   * contradict each other, which only shows when they are used.
   *
   * @param folder where the recording was
   * @throws UsageException if the tables cannot be used
   */
  public <T> T from(@Nullable String folder, Function<RunResult, T> use) {
    try {
      return use.apply(result);
    } catch (UsageException e) {
      throw e;
    } catch (RuntimeException | StackOverflowError e) {
      throw new UsageException(
          """
          %s: the tables of its run.log contradict each other (%s); run the bench again \
          with --out, and if the same happens then, please report it\
          """
              .formatted(folder, UserFault.told(e)));
    }
  }

  /**
   * Reads the recording in a file.
   *
   * @throws UsageException if there is none, or none that this version reads
   */
  static Recording read(Path file) {
    if (Files.exists(file) && !Files.isRegularFile(file)) {
      throw new UsageException(file + ": is no ordinary file; expected one that run --out wrote");
    }
    try (InputStream in = Files.newInputStream(file)) {
      byte[] magic = in.readNBytes(MAGIC.length);
      if (!Arrays.equals(magic, MAGIC)) {
        throw new UsageException(
            file + ": is no recording of kernbench; expected a file that run --out wrote");
      }
      int version = new DataInputStream(in).readInt();
      if (version != VERSION) {
        throw new UsageException(
            """
            %s: is a recording of format %s; this kernbench reads format %s; run the bench \
            again with --out\
            """
                .formatted(file, version, VERSION));
      }
      CheckedInputStream checked =
          new CheckedInputStream(
              new BoundedInput(new InflaterInputStream(in), mostBytes(file)), new CRC32());
      DataInputStream data = new DataInputStream(checked);
      Recording recording = content(data);
      long sum = checked.getChecksum().getValue();
      if (data.readLong() != sum || data.read() >= 0) {
        throw new StreamCorruptedException("its checksum is wrong");
      }
      return recording;
    } catch (NoSuchFileException e) {
      throw new UsageException(
          """
          %s: has no %s; expected the folder of a run that kept its operations (kernbench \
          run --out)\
          """
              .formatted(file.getParent(), file.getFileName()));
    } catch (EOFException | ZipException | StreamCorruptedException e) {
      throw damaged(file, e instanceof EOFException ? "it ends early" : reason(e));
    } catch (ConfigException | MachineException e) {
      throw damaged(file, "its machine: " + e.getMessage());
    } catch (UsageException e) {
      throw e;
    } catch (RuntimeException | StackOverflowError e) {
      throw damaged(file, UserFault.told(e));
    } catch (IOException e) {
      throw new UsageException(file + ": cannot be read (" + WholeFile.reason(e) + ")");
    }
  }

  /** A log shrinks to a tenth when it is written; what grows much more is none. */
  private static long mostBytes(Path file) throws IOException {
    return (16L << 20) + 200 * Files.size(file);
  }

  /** A stream that ends in an error after so many bytes. */
  private static final class BoundedInput extends FilterInputStream {
    private long left;

    BoundedInput(InputStream in, long most) {
      super(in);
      this.left = most;
    }

    private int counted(int read) throws IOException {
      left -= Math.max(0, read);
      if (left < 0) {
        throw new StreamCorruptedException("it grows beyond all measure when it is read");
      }
      return read;
    }

    @Override
    public int read() throws IOException {
      int read = super.read();
      counted(read < 0 ? 0 : 1);
      return read;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      return counted(super.read(bytes, offset, length));
    }
  }

  private static String reason(Exception e) {
    return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
  }

  private static UsageException damaged(Path file, String why) {
    return new UsageException(file + ": is damaged (" + why + "); run the bench again with --out");
  }

  private static Recording content(DataInput in) throws IOException {
    String version = in.readUTF();
    String bench = in.readUTF();
    List<String> params = texts(in);
    List<String> cclOverrides = texts(in);
    String ccl = in.readUTF();
    Mode mode = Mode.valueOf(in.readUTF());
    String point = in.readUTF();
    String machineName = in.readUTF();
    String machineHash = in.readUTF();
    List<String> configuration = texts(in);
    Machine machine = Machines.ofText(machineName, configuration);
    if (!machine.hash().equals(machineHash)) {
      throw new StreamCorruptedException("its machine is another than it says");
    }
    String benchName = in.readUTF();
    String modeWord = in.readUTF();
    Map<String, Object> conditions = values(in);
    RunResult.Status status = RunResult.Status.valueOf(in.readUTF());
    List<String> problems = texts(in);
    Optional<ValueCheck> check = Optional.empty();
    if (in.readBoolean()) {
      check =
          Optional.of(
              new ValueCheck(
                  in.readLong(),
                  in.readLong(),
                  in.readDouble(),
                  in.readDouble(),
                  Optional.empty(),
                  compared(in)));
    }
    Map<String, Object> metrics = values(in);
    long events = in.readLong();
    double wallMs = in.readDouble();
    String numerics = in.readUTF();
    SimulatedScope scope = scope(in);
    Breakdown path = Breakdown.read(in, machine);
    RunResult result =
        new RunResult(
            version,
            benchName,
            Optional.of(machine),
            modeWord,
            conditions,
            status,
            problems,
            check,
            metrics,
            path.shares(),
            "",
            List.of(),
            new RunResult.Sim(events, wallMs, path.log().hash(), numerics, scope),
            Map.of(),
            Optional.of(path.log()),
            Optional.of(path));
    RunOptions options =
        new RunOptions(
            Optional.of(Machines.BARE),
            configuration,
            ccl.isEmpty() ? Optional.empty() : Optional.of(Path.of(ccl)),
            cclOverrides,
            params,
            mode,
            false);
    return point.isEmpty()
        ? new Recording(bench, options, result)
        : new Recording(bench, options.withPoint(point), result.at(Optional.of(point)));
  }

  private static List<String> texts(DataInput in) throws IOException {
    int size = count(in);
    List<String> list = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      list.add(in.readUTF());
    }
    return list;
  }

  private static int count(DataInput in) throws IOException {
    int size = in.readInt();
    if (size < 0 || size > 1 << 20) {
      throw new StreamCorruptedException("a list of " + size);
    }
    return size;
  }

  private static Map<String, Object> values(DataInput in) throws IOException {
    int size = count(in);
    Map<String, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < size; i++) {
      String name = in.readUTF();
      String type = in.readUTF();
      String text = in.readUTF();
      map.put(
          name,
          switch (type) {
            case "BigDecimal" -> new BigDecimal(text);
            case "Long" -> Long.valueOf(text);
            case "Integer" -> Integer.valueOf(text);
            case "Double" -> Double.valueOf(text);
            case "Boolean" -> Boolean.valueOf(text);
            default -> text;
          });
    }
    return map;
  }
}
