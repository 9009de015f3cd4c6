package org.kernbench.device;

import java.util.List;
import java.util.function.Consumer;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * Where a program on a processing element issues its commands. Calls return at once; their effects
 * happen in simulated time. Only {@link #look}, {@link #clockPs} and {@link #select} suspend the
 * program, and what it has said and the CPU has not taken, if that grows too long.
 *
 * <p>A {@link Register} is written by exactly one command and immutable from then on. Its storage
 * lives until it is released and its last reader has finished; the end of the program releases
 * everything.
 */
public interface PePort {
  /** Where the program runs. */
  Pe pe();

  /** What the run computes. */
  Mode mode();

  /** The machine, for kernels that ask about its shape. */
  Machine machine();

  /** Reads memory into a new register. */
  Register load(Region from);

  /**
   * Reads memory into a new register, but lanes that the mask does not count are not read and have
   * its value.
   */
  Register load(Region from, LaneMask mask);

  /** As {@link #store(Register, int, Region)}, but writes only the lanes that the mask counts. */
  Register store(Register value, int offset, Region to, LaneMask mask);

  /**
   * Writes {@code to.bytes()} bytes of a register, from {@code offset} on, to memory.
   *
   * @return a register of no bytes that becomes ready when the memory has acknowledged; for {@link
   *     #fence}
   */
  Register store(Register value, int offset, Region to);

  /**
   * Computes into a new register of {@code outBytes}. Unused operands are {@link Register#NONE}.
   *
   * @param aOffset byte offset of the operand in its register; likewise the others
   */
  Register compute(
      ComputeOp op,
      int outBytes,
      Register a,
      int aOffset,
      Register b,
      int bOffset,
      Register c,
      int cOffset);

  /**
   * {@code sums + a b} into the storage of {@code sums}, which is given up: the product takes no
   * new room in TCM, unless the sums lie in a message slot or have other readers.
   *
   * @param op a product that accumulates
   */
  Register accumulate(
      ComputeOp op, Register a, int aOffset, Register b, int bOffset, Register sums);

  /**
   * Hands work to the tile scheduler of the PE, which issues its commands beside this program,
   * after that of earlier work.
   *
   * @param reads values of this program that the work reads; they may be released at once
   * @param work issues commands on the port it is given; it has no message queues
   * @return a register of no bytes that becomes ready when all commands of the work are done
   */
  Register schedule(List<Register> reads, Consumer<PePort> work);

  /**
   * Commands issued later wait until the commands so far that read the register have read it: its
   * storage could be filled again.
   */
  void fenceReaders(Register register);

  /** Hands {@code bytes} of a register to the message channel of a queue of this PE. */
  void send(int queue, Register value, int offset, int bytes);

  /**
   * Takes the next message out of a queue of this PE.
   *
   * @param bytes size the message must have
   * @param copy copies it into TCM, so that its slot is free at once, even where it could be used
   *     in place
   * @param async on a PE that issues serially: does not hold up the commands that follow (elsewhere
   *     nothing does)
   */
  Register receive(int queue, int bytes, boolean copy, boolean async);

  /**
   * Suspends until a message that nobody has asked for has arrived at one of several queues of this
   * PE, and begins to look when all commands so far are issued. Commands issued later wait for it.
   *
   * @param queues at least one
   * @param first position in the list that is asked first if several have a message, then the ones
   *     after it, round about
   * @return position of the queue with a message
   */
  int select(List<Integer> queues, int first);

  /** Direction names of this PE's queues, in order of installation. */
  List<String> directions();

  /** The id of the queue that this PE knows under a direction name; -1 if there is none. */
  int queue(String direction);

  /** Commands issued later wait until {@code token} is ready. */
  void fence(Register token);

  /** Commands issued later wait until all earlier ones are done, sends have left. */
  void fenceAll();

  /**
   * The program will not name this register again; its storage is free when its last reader has
   * finished.
   */
  void release(Register register);

  /** Suspends until the register is ready and returns a copy of its bytes. */
  byte[] look(Register register, int offset, int bytes);

  /**
   * Suspends until all earlier commands are issued and returns the time of issue in picoseconds.
   */
  long clockPs();
}
