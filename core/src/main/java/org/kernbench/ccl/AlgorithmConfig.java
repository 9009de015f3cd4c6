package org.kernbench.ccl;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.kernbench.machine.spec.Backpressure;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.SipTopology;
import org.kernbench.torch.placement.RankLevel;

/**
 * What {@code ccl.yaml} says about one algorithm, its own keys over the defaults. Empty: not said,
 * the machine or the algorithm decides.
 *
 * @param name entry in {@code algorithms}
 * @param className built-in algorithm, or name of a class that implements {@link
 *     CollectiveAlgorithm}
 * @param topology how the packages are taken, if not as the machine joins them
 * @param bufferKind memory of the message slots
 * @param slots slots per direction
 * @param slotBytes size of a slot
 * @param backpressure how a sender waits for a slot
 * @param creditBytes size of a credit on the wire
 * @param chunkBytes size of a chunk in pipelined algorithms
 * @param elementsPerBlock longest vector that is handled at once; a longer one goes block after
 *     block
 * @param worldSize number of ranks: the first devices in structural order; {@link #ALL}: all
 * @param rankLevel what one rank owns
 * @param subChunks messages per segment of a ring
 * @param root where the root of a package's cubes is
 * @param rootCube the cube of each package that is its root, instead of {@code root}
 * @param protocol of the machine's collective library, or {@link CallPacing#NONE}
 * @param rings round which parts of the vector go at once; {@link #ALL}: as many as share no link
 * @param dimensionSteps how one dimension is taken after the other, by algorithms that do so
 */
public record AlgorithmConfig(
    String name,
    String className,
    Optional<SipTopology> topology,
    Optional<BufferKind> bufferKind,
    OptionalInt slots,
    OptionalLong slotBytes,
    Optional<Backpressure> backpressure,
    OptionalLong creditBytes,
    OptionalLong chunkBytes,
    OptionalInt elementsPerBlock,
    OptionalInt worldSize,
    Optional<RankLevel> rankLevel,
    OptionalInt subChunks,
    Optional<Root> root,
    OptionalInt rootCube,
    Optional<String> protocol,
    OptionalInt rings,
    DimensionSteps dimensionSteps) {
  /** A world of all devices of the rank level; all rings that share no link. */
  public static final int ALL = Integer.MAX_VALUE;

  /** Where cubes of a package reduce to. */
  public enum Root {
    /** The cube in the middle, with the shortest way from the farthest one. */
    CENTER,
    /** The first cube, as the first version of the predecessor had it. */
    CORNER
  }

  /** The machine's queues with what is said here laid over them. */
  public IpcqSpec queues(IpcqSpec machine) {
    return new IpcqSpec(
        slots.orElse(machine.slots()),
        slotBytes.orElse(machine.slotBytes()),
        bufferKind.orElse(machine.bufferKind()),
        creditBytes.orElse(machine.creditBytes()),
        machine.slotAccess(),
        machine.recvAwaitsCredit(),
        backpressure.orElse(machine.backpressure()),
        machine.pollIntervalPs(),
        machine.serialCost(),
        machine.creditOverheadPs(),
        machine.directions());
  }

  /** A copy with the slots in another memory. */
  public AlgorithmConfig withBufferKind(BufferKind kind) {
    return new AlgorithmConfig(
        name,
        className,
        topology,
        Optional.of(kind),
        slots,
        slotBytes,
        backpressure,
        creditBytes,
        chunkBytes,
        elementsPerBlock,
        worldSize,
        rankLevel,
        subChunks,
        root,
        rootCube,
        protocol,
        rings,
        dimensionSteps);
  }

  /** A copy with another number of slots. */
  public AlgorithmConfig withSlots(int count) {
    return new AlgorithmConfig(
        name,
        className,
        topology,
        bufferKind,
        OptionalInt.of(count),
        slotBytes,
        backpressure,
        creditBytes,
        chunkBytes,
        elementsPerBlock,
        worldSize,
        rankLevel,
        subChunks,
        root,
        rootCube,
        protocol,
        rings,
        dimensionSteps);
  }
}
