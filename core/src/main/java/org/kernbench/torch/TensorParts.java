package org.kernbench.torch;

import java.lang.foreign.MemorySegment;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
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

/**
 * Where the elements of a tensor are: its parts, in the order of their addresses. What is the same
 * for all tensors that are laid out alike is kept once, as their {@link Layout}: a model has the
 * same few layouts in every layer, with a part on each of hundreds of PEs.
 */
final class TensorParts {
  private final Layout layout;
  private final VirtualAddress address;

  private TensorParts(Layout layout, VirtualAddress address) {
    this.layout = layout;
    this.address = address;
  }

  /**
   * A part, of which there may be several copies.
   *
   * @param spec where the first copy lies, and which part it is
   * @param at its virtual address, the same for all copies
   * @param bytes its size
   */
  record Part(ShardSpec spec, VirtualAddress at, long bytes) {}

  /** Who has virtual addresses and memory to give. */
  interface Memory {
    /** The layouts of its tensors. */
    Layouts layouts();

    VirtualAddress reserve(long bytes, String owner);

    void unreserve(VirtualAddress at, long bytes);

    void allocate(String name, VirtualAddress at, long bytes, List<ShardSpec> copies);

    void free(VirtualAddress at, long bytes);

    /** Counts bytes that a tensor takes, or gives back if they are below 0. */
    void count(Tensor.Purpose purpose, long bytes);
  }

  /** Which elements a part has. */
  private record Box(List<Integer> offset, Shape shape) {
    Box(ShardSpec spec) {
      this(spec.offset(), spec.shape());
    }
  }

  /**
   * A part of all tensors of a layout.
   *
   * @param spec as in {@link Part}
   * @param offset bytes from the address of the tensor to that of the part
   * @param bytes its size
   * @param copies all of them, in structural order
   */
  private record Span(ShardSpec spec, long offset, long bytes, List<ShardSpec> copies) {
    private List<Pe> holders() {
      return copies.stream().map(ShardSpec::place).toList();
    }
  }

  /** How tensors lie in memory, wherever they begin. */
  static final class Layout {
    private final Shape shape;
    private final DType dtype;

    /** Of all copies, in structural order; and the number of the span of each. */
    private final List<ShardSpec> specs;

    private final int[] spanOf;

    /** In the order of their addresses. */
    private final List<Span> spans;

    private final boolean inOrder;
    private @Nullable Map<Pe, Integer> byPe;
    private @Nullable Map<Pe, List<ElementRun>> runs;

    private Layout(Shape shape, DType dtype, List<ShardSpec> specs, List<Span> spans) {
      this.shape = shape;
      this.dtype = dtype;
      this.specs = List.copyOf(specs);
      this.spans = List.copyOf(spans);
      Map<Box, Integer> number = new HashMap<>();
      for (int i = 0; i < spans.size(); i++) {
        number.put(new Box(spans.get(i).spec), i);
      }
      this.spanOf =
          specs.stream()
              .mapToInt(spec -> Objects.requireNonNull(number.get(new Box(spec))))
              .toArray();
      this.inOrder = follow();
    }

    /** Of a tensor; equal parts are copies of one. */
    private static Layout of(Shape shape, DType dtype, List<ShardSpec> specs) {
      Map<Box, List<ShardSpec>> copies = new LinkedHashMap<>();
      specs.forEach(
          spec -> copies.computeIfAbsent(new Box(spec), b -> new ArrayList<>()).add(spec));
      List<List<ShardSpec>> inMemory = new ArrayList<>(copies.values());
      if (specs.stream().allMatch(spec -> spec.isRunOf(shape))) {
        inMemory.sort(Comparator.comparingLong(same -> same.getFirst().firstIn(shape)));
      }
      List<Span> spans = new ArrayList<>(inMemory.size());
      long offset = 0;
      for (List<ShardSpec> same : inMemory) {
        long bytes = same.getFirst().shape().elements() * dtype.sizeBytes();
        spans.add(new Span(same.getFirst(), offset, bytes, List.copyOf(same)));
        offset += bytes;
      }
      return new Layout(shape, dtype, specs, spans);
    }

    private long bytes() {
      return spans.stream().mapToLong(Span::bytes).sum();
    }

    private boolean follow() {
      long next = 0;
      for (Span span : spans) {
        if (span.bytes > 0) {
          if (!span.spec.isRunOf(shape) || span.spec.firstIn(shape) != next) {
            return false;
          }
          next += span.spec.shape().elements();
        }
      }
      return true;
    }

    /** The number of the last of the copies on a PE; -1 if it holds none. */
    private int indexOn(Pe pe) {
      if (specs.size() == 1) {
        return specs.getFirst().place().equals(pe) ? 0 : -1;
      }
      Map<Pe, Integer> index = byPe;
      if (index == null) {
        Map<Pe, Integer> made = new HashMap<>();
        for (int i = 0; i < specs.size(); i++) {
          made.put(specs.get(i).place(), i);
        }
        index =
            Map.copyOf(made); // complete for whoever sees it: kernels may ask on several threads
        byPe = index;
      }
      return index.getOrDefault(pe, -1);
    }

    private Map<Pe, List<ElementRun>> runs() {
      Map<Pe, List<ElementRun>> made = runs;
      if (made == null) {
        made = Collections.unmodifiableMap(makeRuns());
        runs = made;
      }
      return made;
    }

    private Map<Pe, List<ElementRun>> makeRuns() {
      Map<Pe, List<ElementRun>> all = new LinkedHashMap<>();
      for (ShardSpec spec : specs) {
        int count = Math.toIntExact(spec.shape().elements());
        if (count > 0) {
          int start = Math.toIntExact(spec.firstIn(shape));
          List<ElementRun> there = all.computeIfAbsent(spec.place(), pe -> new ArrayList<>(1));
          ElementRun last = there.isEmpty() ? null : there.getLast();
          if (last != null && last.start() + last.count() == start) {
            there.set(there.size() - 1, new ElementRun(last.start(), last.count() + count));
          } else {
            there.add(new ElementRun(start, count));
          }
        }
      }
      all.replaceAll((pe, there) -> List.copyOf(there));
      return all;
    }

    /** Of a view, in boxes of its own shape. Elements are in order. */
    private Layout view(Machine machine, long start, Shape view) {
      List<Span> viewed = new ArrayList<>();
      for (int i = 0, next; i < spans.size(); i = next) {
        next = behindSameHolders(i);
        viewed.addAll(viewed(start, view, spans.get(i), spans.get(next - 1)));
      }
      if (viewed.isEmpty()) {
        Pe lead = specs.getFirst().place();
        ShardSpec nothing =
            new ShardSpec(
                lead.sip(), lead.cube(), lead.pe(), Collections.nCopies(view.rank(), 0), view);
        viewed.add(new Span(nothing, 0, 0, List.of(nothing)));
      }
      List<ShardSpec> all = new ArrayList<>();
      viewed.forEach(span -> all.addAll(span.copies));
      all.sort(Comparator.comparingInt(spec -> machine.peIndex(spec.place())));
      return new Layout(view, dtype, all, viewed);
    }

    /** The first span after the {@code i}-th that lies elsewhere. */
    private int behindSameHolders(int i) {
      int next = i + 1;
      while (next < spans.size() && spans.get(next).holders().equals(spans.get(i).holders())) {
        next++;
      }
      return next;
    }

    /** What a view has of neighbouring spans at the same places. */
    private List<Span> viewed(long start, Shape view, Span first, Span last) {
      int size = dtype.sizeBytes();
      long from = Math.max(start, first.offset / size);
      long behind = (last.offset + last.bytes) / size;
      long to = Math.min(start + view.elements(), behind);
      List<Span> viewed = new ArrayList<>();
      if (from < to) {
        long offset = (from - start) * size;
        for (ShardSpec box : ShardSpec.ofRun(view, from - start, to - start, first.spec.place())) {
          long bytes = box.shape().elements() * size;
          List<ShardSpec> copies = first.holders().stream().map(box::movedTo).toList();
          viewed.add(new Span(copies.getFirst(), offset, bytes, copies));
          offset += bytes;
        }
      }
      return viewed;
    }
  }

  /** The layouts in use, each once; of many, those that were asked for last. */
  static final class Layouts {
    private static final int MOST = 4096;

    private record OfTensor(Shape shape, DType dtype, List<ShardSpec> specs) {}

    private record OfView(Layout of, long start, Shape shape) {}

    private final Map<Object, Layout> known =
        new LinkedHashMap<>(16, 0.75f, true) {
          @Override
          protected boolean removeEldestEntry(Map.Entry<Object, Layout> eldest) {
            return size() > MOST;
          }
        };

    private Layout ofTensor(Shape shape, DType dtype, List<ShardSpec> specs) {
      return known.computeIfAbsent(
          new OfTensor(shape, dtype, List.copyOf(specs)), t -> Layout.of(shape, dtype, specs));
    }

    private Layout ofView(Machine machine, Layout of, long start, Shape shape) {
      return known.computeIfAbsent(
          new OfView(of, start, shape), v -> of.view(machine, start, shape));
    }
  }

  /** Takes memory for the parts of a tensor; equal ones are copies of one. */
  static TensorParts allocate(
      Memory memory, String name, Shape shape, DType dtype, List<ShardSpec> specs) {
    Layout layout = memory.layouts().ofTensor(shape, dtype, specs);
    VirtualAddress address = memory.reserve(layout.bytes(), name);
    int taken = 0;
    try {
      for (Span span : layout.spans) {
        memory.allocate(name, address.plus(span.offset), span.bytes, span.copies);
        taken++;
      }
    } finally {
      if (taken < layout.spans.size()) {
        giveBack(memory, address, layout, taken);
      }
    }
    return new TensorParts(layout, address);
  }

  /** Gives the memory back. */
  void giveBack(Memory memory) {
    giveBack(memory, address, layout, layout.spans.size());
  }

  private static void giveBack(Memory memory, VirtualAddress address, Layout layout, int taken) {
    for (Span span : layout.spans.subList(0, taken)) {
      memory.free(address.plus(span.offset), span.bytes);
    }
    memory.unreserve(address, layout.bytes());
  }

  VirtualAddress address() {
    return address;
  }

  /** Bytes of all parts with all their copies. */
  long heldBytes() {
    return layout.spans.stream().mapToLong(span -> span.bytes * span.copies.size()).sum();
  }

  /** Of all copies, in structural order. */
  List<ShardSpec> specs() {
    return layout.specs;
  }

  /** The memory of each of {@link #specs}. */
  List<Shard> shards(String name) {
    return listOf(layout.specs.size(), i -> shard(name, i));
  }

  /** The memory that a PE holds; empty if none. */
  Optional<Shard> shardOn(Pe pe, String name) {
    int i = layout.indexOn(pe);
    return i < 0 ? Optional.empty() : Optional.of(shard(name, i));
  }

  private Shard shard(String name, int i) {
    Span span = layout.spans.get(layout.spanOf[i]);
    return new Shard(name, address.plus(span.offset), layout.specs.get(i).shape(), layout.dtype);
  }

  /** Each once, whatever its copies, in the order of their addresses. */
  List<Part> inMemory() {
    return listOf(
        layout.spans.size(),
        i -> {
          Span span = layout.spans.get(i);
          return new Part(span.spec, address.plus(span.offset), span.bytes);
        });
  }

  /** A list whose elements are made when they are asked for. */
  private static <T> List<T> listOf(int size, IntFunction<T> element) {
    return new AbstractList<>() {
      @Override
      public T get(int i) {
        return element.apply(Objects.checkIndex(i, size));
      }

      @Override
      public int size() {
        return size;
      }
    };
  }

  /** Whether elements follow one another in memory as they do in the tensor. */
  boolean isInOrder() {
    return layout.inOrder;
  }

  /** Which elements each PE holds; they are in order. */
  Map<Pe, List<ElementRun>> runs() {
    return layout.runs();
  }

  /** The parts of a view, in boxes of its own shape. They are in order. */
  TensorParts view(Memory memory, Machine machine, long start, Shape view) {
    return new TensorParts(
        memory.layouts().ofView(machine, layout, start, view),
        address.plus(start * layout.dtype.sizeBytes()));
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
