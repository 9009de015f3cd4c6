/*
 * Between host and device: values in and out, rounding, files, and memory that nobody has written.
 *
 * Run:      scripts/run-java examples/HostData.java
 * Expected: (checked by ExamplesTest)
 *   Tensor(x, f16[3], [1.0, 2048.0, 0.0999755859375])
 *   [1.0, 2048.0, 0.0999755859375]
 *   x[0] = 2.0
 *   from the file: Tensor(x, f16[3], [2.0, 4096.0, 0.199951171875])
 *   Tensor(empty, f32[2], [5.0, ?])
 *   tensor empty: element [1] at sip0.cube0.pe0 is read before anything was written to it; make the tensor with zeros or full, or let a kernel store all of it
 *   sip0.cube0.pe0: out of HBM for tensor activations: requested 800 MiB, free 624 MiB of 1 GiB; largest: kvCache 400 MiB, x 128 B, wide 128 B, empty 64 B; close tensors that are done with, divide this one over more PEs (DpPolicy), or give the machine more HBM
 */
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

public final class HostData {
  public static void main(String[] args) throws IOException {
    Machine machine = Machines.load("tiny", List.of());
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT)) {
      // Host values are rounded to the dtype, ties to even: f16 has 11 significant bits.
      Tensor x = torch.from(new float[] {1, 2049, 0.1f}, Shape.of(3), DType.F16, "x");
      print("%s", x);

      // Copies convert, and go between placements: here to a copy on every PE.
      Tensor wide = torch.empty(Shape.of(3), DType.F64, DpPolicy.replicate(), "wide");
      print("%s", Arrays.toString(wide.copyInPlace(x).toDoubles()));

      // Reads wait for the kernels that could still change a tensor, and for no others.
      torch.launch("twice", tl -> tl.store(x, tl.load(x).mul(2)), x);
      print("x[0] = %s", x.get(0));

      // Files as NumPy writes and reads them.
      Path file = Files.createTempFile("checkpoint", ".npz");
      torch.saveAll(file, List.of(x, wide));
      Map<String, Tensor> read = torch.loadAll(file, DpPolicy.single());
      print("from the file: %s", read.get("x"));
      Files.delete(file);

      // Memory that nobody has written has no value.
      Tensor empty = torch.empty(Shape.of(2), DType.F32, "empty");
      torch.launch(
          "first",
          tl -> tl.store(tl.shard(empty).range(0, 1), tl.full(Shape.of(1), 5, DType.F32)),
          empty);
      print("%s", empty);
      try {
        empty.toFloats();
      } catch (SimulationException e) {
        print("%s", e.getMessage());
      }

      // Memory is given back by close; what is still there is named when it runs out.
      torch.empty(Shape.of(100 << 20), DType.F32, "kvCache");
      try {
        torch.empty(Shape.of(200 << 20), DType.F32, "activations");
      } catch (SimulationException e) {
        print("%s", e.getMessage());
      }
    }
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }
}
