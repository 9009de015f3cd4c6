package org.kernbench.torch;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Loan;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Shard;
import org.kernbench.torch.placement.RunSink;
import org.kernbench.torch.placement.ShardCopy;
import org.kernbench.torch.placement.ShardSpec;

/** Where the elements of a tensor are: its parts, in the order of their addresses. */
final class TensorParts {
  private final Shape shape;
  private final DType dtype;
  private final VirtualAddress address;
  private final List<ShardSpec> specs;
  private final List<VirtualAddress> places;
  private final List<Part> parts;
  private final boolean inOrder;

  /**
   * A part, of which there may be several copies.
   *
   * @param spec where the first copy lies, and which part it is
   * @param at its virtual address, the same for all copies
   * @param bytes its size
   * @param copies all of them, in structural order
   */
  record Part(ShardSpec spec, VirtualAddress at, long bytes, List<ShardSpec> copies) {
    private List<Pe> holders() {
      return copies.stream().map(ShardSpec::place).toList();
    }
  }

  /** Who has virtual addresses and memory to give. */
  interface Memory {
    VirtualAddress reserve(long bytes, String owner);

    void unreserve(VirtualAddress at, long bytes);

    void allocate(String name, VirtualAddress at, long bytes, List<ShardSpec> copies);

    void free(VirtualAddress at, long bytes);
  }

  /** Which elements a part has. */
  private record Box(List<Integer> offset, Shape shape) {
    Box(ShardSpec spec) {
      this(spec.offset(), spec.shape());
    }
  }

  /**
   * Parts in memory.
   *
   * @param specs of all copies, in structural order
   */
  private TensorParts(
      Shape shape, DType dtype, VirtualAddress address, List<ShardSpec> specs, List<Part> parts) {
    this.shape = shape;
    this.dtype = dtype;
    this.address = address;
    this.specs = List.copyOf(specs);
    this.parts = List.copyOf(parts);
    Map<Box, VirtualAddress> at = new HashMap<>();
    parts.forEach(part -> at.put(new Box(part.spec), part.at));
    this.places =
        specs.stream().map(spec -> Objects.requireNonNull(at.get(new Box(spec)))).toList();
    this.inOrder = follow();
  }

  /** Takes memory for the parts of a tensor; equal ones are copies of one. */
  static TensorParts allocate(
      Memory memory, String name, Shape shape, DType dtype, List<ShardSpec> specs) {
    Map<Box, List<ShardSpec>> copies = new LinkedHashMap<>();
    specs.forEach(spec -> copies.computeIfAbsent(new Box(spec), b -> new ArrayList<>()).add(spec));
    List<List<ShardSpec>> inMemory = new ArrayList<>(copies.values());
    if (specs.stream().allMatch(spec -> spec.isRunOf(shape))) {
      inMemory.sort(Comparator.comparingLong(same -> same.getFirst().firstIn(shape)));
    }
    int size = dtype.sizeBytes();
    long bytes =
        inMemory.stream().mapToLong(same -> same.getFirst().shape().elements() * size).sum();
    VirtualAddress address = memory.reserve(bytes, name);
    List<Part> parts = new ArrayList<>(copies.size());
    VirtualAddress at = address;
    try {
      for (List<ShardSpec> same : inMemory) {
        long each = same.getFirst().shape().elements() * size;
        memory.allocate(name, at, each, same);
        parts.add(new Part(same.getFirst(), at, each, List.copyOf(same)));
        at = at.plus(each);
      }
    } finally {
      if (parts.size() < copies.size()) {
        giveBack(memory, address, parts, bytes);
      }
    }
    return new TensorParts(shape, dtype, address, specs, parts);
  }

  /** Gives the memory back. */
  void giveBack(Memory memory) {
    giveBack(memory, address, parts, parts.stream().mapToLong(Part::bytes).sum());
  }

  private static void giveBack(
      Memory memory, VirtualAddress address, List<Part> parts, long bytes) {
    for (Part part : parts) {
      memory.free(part.at, part.bytes);
    }
    memory.unreserve(address, bytes);
  }

  VirtualAddress address() {
    return address;
  }

  /** Of all copies, in structural order. */
  List<ShardSpec> specs() {
    return specs;
  }

  /** The memory of each of {@link #specs}. */
  List<Shard> shards(String name) {
    List<Shard> shards = new ArrayList<>(specs.size());
    for (int i = 0; i < specs.size(); i++) {
      shards.add(new Shard(name, places.get(i), specs.get(i).shape(), dtype));
    }
    return List.copyOf(shards);
  }

  /** Each once, whatever its copies, in the order of their addresses. */
  List<Part> inMemory() {
    return parts;
  }

  /** Whether elements follow one another in memory as they do in the tensor. */
  boolean isInOrder() {
    return inOrder;
  }

  private boolean follow() {
    long next = 0;
    for (Part part : parts) {
      if (part.bytes > 0) {
        if (!part.spec.isRunOf(shape) || part.spec.firstIn(shape) != next) {
          return false;
        }
        next += part.spec.shape().elements();
      }
    }
    return true;
  }

  /** Which elements each PE holds; they are in order. */
  Map<Pe, List<ElementRun>> runs() {
    Map<Pe, List<ElementRun>> runs = new LinkedHashMap<>();
    for (ShardSpec spec : specs) {
      int count = Math.toIntExact(spec.shape().elements());
      if (count > 0) {
        int start = Math.toIntExact(spec.firstIn(shape));
        List<ElementRun> there = runs.computeIfAbsent(spec.place(), pe -> new ArrayList<>());
        ElementRun last = there.isEmpty() ? null : there.getLast();
        if (last != null && last.start() + last.count() == start) {
          there.set(there.size() - 1, new ElementRun(last.start(), last.count() + count));
        } else {
          there.add(new ElementRun(start, count));
        }
      }
    }
    return runs;
  }

  /** The parts of a view, in boxes of its own shape. They are in order. */
  TensorParts view(Machine machine, long start, Shape view) {
    List<Part> viewed = new ArrayList<>();
    for (int i = 0, next; i < parts.size(); i = next) {
      next = behindSameHolders(i);
      viewed.addAll(viewed(start, view, parts.get(i), parts.get(next - 1)));
    }
    VirtualAddress at = address.plus(start * dtype.sizeBytes());
    if (viewed.isEmpty()) {
      Pe lead = specs.getFirst().place();
      ShardSpec nothing =
          new ShardSpec(
              lead.sip(), lead.cube(), lead.pe(), Collections.nCopies(view.rank(), 0), view);
      viewed.add(new Part(nothing, at, 0, List.of(nothing)));
    }
    List<ShardSpec> all = new ArrayList<>();
    viewed.forEach(part -> all.addAll(part.copies));
    all.sort(Comparator.comparingInt(spec -> machine.peIndex(spec.place())));
    return new TensorParts(view, dtype, at, all, viewed);
  }

  /** The first part after the {@code i}-th that lies elsewhere. */
  private int behindSameHolders(int i) {
    int next = i + 1;
    while (next < parts.size() && parts.get(next).holders().equals(parts.get(i).holders())) {
      next++;
    }
    return next;
  }

  /** What a view has of neighbouring parts at the same places. */
  private List<Part> viewed(long start, Shape view, Part first, Part last) {
    int size = dtype.sizeBytes();
    long from = Math.max(start, (first.at.value() - address.value()) / size);
    long behind = (last.at.value() + last.bytes - address.value()) / size;
    long to = Math.min(start + view.elements(), behind);
    List<Part> viewed = new ArrayList<>();
    if (from < to) {
      VirtualAddress at = address.plus(from * size);
      for (ShardSpec box : ShardSpec.ofRun(view, from - start, to - start, first.spec.place())) {
        long bytes = box.shape().elements() * size;
        List<ShardSpec> copies = first.holders().stream().map(box::movedTo).toList();
        viewed.add(new Part(copies.getFirst(), at, bytes, copies));
        at = at.plus(bytes);
      }
    }
    return viewed;
  }

  /**
   * Moves all elements of a tensor, which may be more than an array can hold, a piece at a time.
   */
  static final class Bulk {
    /** So much stays in the cache between its two copies. */
    private static final int PIECE_BYTES = 1 << 18;

    private final Simulator simulator;
    private final Shape shape;
    private final int elementBytes;
    private final List<Part> parts;

    Bulk(Simulator simulator, Shape shape, int elementBytes, List<Part> parts) {
      this.simulator = simulator;
      this.shape = shape;
      this.elementBytes = elementBytes;
      this.parts = parts;
    }

    private ShardCopy shardCopy(Part part) {
      return new ShardCopy(shape, part.spec(), elementBytes);
    }

    void write(MemorySegment elements) {
      parts.forEach(part -> write(part, elements));
    }

    private void write(Part part, MemorySegment elements) {
      byte[] piece = new byte[PIECE_BYTES];
      shardCopy(part)
          .gather(
              elements, piece, (at, bytes) -> simulator.write(part.at().plus(at), piece, 0, bytes));
    }

    /** Parts that are runs are lent, the others are copied. */
    void lend(Loan elements) {
      for (Part part : parts) {
        if (part.spec().isRunOf(shape)) {
          simulator.lend(part.at(), elements, first(part), part.bytes());
        } else {
          write(part, elements.bytes());
        }
      }
    }

    private long first(Part part) {
      return part.bytes() == 0 ? 0 : part.spec().firstIn(shape) * elementBytes;
    }

    void read(MemorySegment to) {
      byte[] piece = new byte[PIECE_BYTES];
      for (Part part : parts) {
        shardCopy(part)
            .scatter(piece, (at, bytes) -> simulator.read(part.at().plus(at), piece, 0, bytes), to);
      }
    }

    /** Parts that are runs. */
    void read(RunSink to) {
      byte[] piece = new byte[PIECE_BYTES];
      for (Part part : parts) {
        for (long at = 0; at < part.bytes(); at += PIECE_BYTES) {
          int bytes = (int) Math.min(PIECE_BYTES, part.bytes() - at);
          simulator.read(part.at().plus(at), piece, 0, bytes);
          to.take(first(part) + at, piece, bytes);
        }
      }
    }
  }
}
