package org.kernbench.torch;

import static org.kernbench.torch.CheckBed.recvToken;
import static org.kernbench.torch.CheckBed.token;
import static org.kernbench.torch.CheckBed.twos;

import java.util.List;
import java.util.stream.IntStream;
import org.kernbench.device.Launch;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.tl.Handle;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Value;

/**
 * Small right programs, most of them the wrong ones mended: each is ordered by one means, so that a
 * checker that does not know it raises a false alarm.
 */
@SuppressWarnings("unused") // found by reflection
final class RightKernels {
  private RightKernels() {}

  // ---- one program ----

  static void loadsAndStoresOfOnePeWait(CheckBed bed) {
    Tensor y = bed.empty("y", 16);
    bed.run(tl -> {
      tl.store(y, twos(tl, 16));
      tl.store(y, tl.load(y).add(1)); // neither is awaited
      tl.load(y);
    });
  }

  static void hiddenLanesAreNotRead(CheckBed bed) {
    Tensor y = bed.empty("y", 16);
    bed.run(tl -> {
      Value low = tl.arange(0, 16).lt(10);
      tl.store(tl.ref(y), twos(tl, 16), low);
      tl.load(tl.ref(y), low, 0);
    });
  }

  static void everyElementIsWrittenByParts(CheckBed bed) {
    Tensor m = bed.torch.empty(Shape.of(8, 16), DType.F32, "m");
    bed.run(tl -> {
      for (int column = 0; column < 16; column += 4) {
        Value part = tl.zeros(Shape.of(8, 4), DType.F32);
        tl.store(tl.shard(m).block(0, 8, column, 4), part);
      }
      tl.load(m);
    });
  }

  // ---- signals ----

  static void putThenSignal(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "flag", 1, "flag");
    bed.run(
        tl -> {
          tl.put(bed.row(tl, x, 1), twos(tl, 16));
          tl.signal("flag");
        },
        tl -> {
          tl.waitSignal("flag", 1);
          tl.load(x);
        });
  }

  static void firstWriteFromAPeer(CheckBed bed) {
    Tensor y = bed.empty("y", 16);
    bed.connect(0, "flag", 1, "flag");
    bed.run(
        tl -> {
          tl.put(bed.row(tl, y, 1), twos(tl, 16));
          tl.signal("flag");
        },
        tl -> {
          tl.waitSignal("flag", 1);
          tl.load(y);
        });
  }

  static void twoPutsTwoSignals(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "flag", 1, "flag");
    bed.run(
        tl -> {
          for (int half = 0; half < 2; half++) {
            tl.put(bed.row(tl, x, 1, half * 8, 8), twos(tl, 8));
            tl.signal("flag");
          }
        },
        tl -> {
          tl.waitSignal("flag", 1);
          tl.load(bed.row(tl, x, 1, 0, 8));
          tl.waitSignal("flag", 2);
          tl.load(x);
        });
  }

  static void overAThirdPe(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "E", 1, "W").connect(1, "E", 2, "W");
    bed.run(
        tl -> {
          tl.put(bed.row(tl, x, 2), twos(tl, 16));
          tl.signal("E");
        },
        tl -> {
          tl.waitSignal("W", 1);
          tl.signal("E");
        },
        tl -> {
          tl.waitSignal("W", 1);
          tl.load(x);
        });
  }

  static void twoWritersOneFlagEach(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "a", 1, "a").connect(2, "b", 1, "b");
    bed.run(
        tl -> {
          tl.put(bed.row(tl, x, 1, 0, 8), twos(tl, 8));
          tl.signal("a");
        },
        tl -> {
          tl.waitSignal("a", 1);
          tl.waitSignal("b", 1);
          tl.load(x);
        },
        tl -> {
          tl.put(bed.row(tl, x, 1, 8, 8), twos(tl, 8));
          tl.signal("b");
        });
  }

  static void twoBuffersWithRoom(CheckBed bed) {
    Tensor box = bed.ones("box", 16);
    bed.connect(0, "full", 1, "full").connect(0, "room", 1, "room");
    int turns = 6;
    bed.run(
        tl -> {
          for (int turn = 0; turn < turns; turn++) {
            if (turn >= 2) {
              tl.waitSignal("room", turn - 1);
            }
            tl.put(bed.row(tl, box, 1, turn % 2 * 8, 8), twos(tl, 8));
            tl.signal("full");
          }
        },
        tl -> {
          for (int turn = 0; turn < turns; turn++) {
            tl.waitSignal("full", turn + 1);
            tl.await(tl.load(bed.row(tl, box, 1, turn % 2 * 8, 8)));
            if (turn < turns - 2) {
              tl.signal("room");
            }
          }
        });
  }

  // ---- messages ----

  static void awaitedPutThenMessage(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          Handle done = tl.put(bed.row(tl, x, 1), twos(tl, 16));
          tl.await(done);
          tl.send("E", token(tl));
        },
        tl -> {
          tl.await(recvToken(tl, "W"));
          tl.load(x);
        });
  }

  static void awaitAllThenMessage(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.put(bed.row(tl, x, 1, 0, 8), twos(tl, 8));
          tl.put(bed.row(tl, x, 1, 8, 8), twos(tl, 8));
          tl.awaitAll();
          tl.send("E", token(tl));
        },
        tl -> {
          tl.await(recvToken(tl, "W"));
          tl.load(x);
        });
  }

  static void itemOfAMessage(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.await(tl.put(bed.row(tl, x, 1), twos(tl, 16)));
          tl.send("E", token(tl));
        },
        tl -> {
          if (tl.item(recvToken(tl, "W")) == 3) {
            tl.load(x);
          }
        });
  }

  /** What was read is sent on: the answer comes after the read, by its operand alone. */
  static void theValueItselfIsTheAnswer(CheckBed bed) {
    Tensor x = bed.ones("x", 1);
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> tl.send("E", tl.get(bed.row(tl, x, 1)).mul(2)),
        tl -> {
          Value answer = recvToken(tl, "W");
          tl.store(x, answer);
        });
  }

  /** Order by an operand that passes through arithmetic and another PE. */
  static void orderByOperandsAlone(CheckBed bed) {
    Tensor x = bed.ones("x", 1);
    bed.connect(0, "E", 1, "W").connect(1, "E", 2, "W");
    bed.run(
        tl -> tl.send("E", tl.get(bed.row(tl, x, 2)).add(1)),
        tl -> tl.send("E", recvToken(tl, "W").exp()),
        tl -> tl.store(x, recvToken(tl, "W")));
  }

  /** Messages of a queue arrive in order: the second tells of the first as well. */
  static void theSecondMessageTellsOfTheFirst(CheckBed bed) {
    Tensor x = bed.ones("x", 1);
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.send("E", tl.get(bed.row(tl, x, 1)));
          tl.send("E", token(tl));
        },
        tl -> {
          recvToken(tl, "W");
          tl.await(recvToken(tl, "W"));
          tl.store(x, token(tl));
        });
  }

  static void pingPong(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          for (int turn = 0; turn < 4; turn++) {
            tl.await(tl.put(bed.row(tl, x, 1), twos(tl, 16)));
            tl.send("E", token(tl));
            tl.await(recvToken(tl, "E"));
          }
        },
        tl -> {
          for (int turn = 0; turn < 4; turn++) {
            tl.await(recvToken(tl, "W"));
            tl.await(tl.store(x, tl.load(x).add(1)));
            tl.send("W", token(tl));
          }
        });
  }

  static void ringShift(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    int n = CheckBed.PES;
    for (int i = 0; i < n; i++) {
      bed.connect(i, "next", (i + 1) % n, "previous");
    }
    bed.run(
        IntStream.range(0, n)
            .mapToObj(i ->
                (Kernel)
                    tl -> {
                      tl.send("next", tl.load(x));
                      tl.store(x, tl.recv("previous", Shape.of(16), DType.F32));
                    })
            .toArray(Kernel[]::new));
  }

  static void haloExchangeInTurns(CheckBed bed) {
    Tensor x = bed.ones("x", 18);
    int n = CheckBed.PES;
    for (int i = 0; i + 1 < n; i++) {
      bed.connect(i, "right", i + 1, "left");
    }
    bed.run(
        IntStream.range(0, n)
            .mapToObj(i ->
                (Kernel)
                    tl -> {
                      for (int turn = 0; turn < 3; turn++) {
                        if (i > 0) {
                          tl.put(bed.row(tl, x, i - 1, 17, 1), tl.load(bed.row(tl, x, i, 1, 1)));
                        }
                        if (i + 1 < n) {
                          tl.put(bed.row(tl, x, i + 1, 0, 1), tl.load(bed.row(tl, x, i, 16, 1)));
                        }
                        meet(tl, i, n, 2 * turn + 1);
                        Value all = tl.load(x);
                        tl.await(tl.store(bed.row(tl, x, i, 1, 16), all.range(1, 16).mul(0.5)));
                        meet(tl, i, n, 2 * turn + 2);
                      }
                    })
            .toArray(Kernel[]::new));
  }

  /** Both neighbours have come as far. */
  private static void meet(org.kernbench.tl.Tl tl, int i, int n, int times) {
    if (i > 0) {
      tl.signal("left");
    }
    if (i + 1 < n) {
      tl.signal("right");
    }
    if (i > 0) {
      tl.waitSignal("left", times);
    }
    if (i + 1 < n) {
      tl.waitSignal("right", times);
    }
  }

  /** With one slot, the second message leaves when the first has been stored. */
  static void aCreditOrders(CheckBed bed) {
    Tensor y = bed.ones("y", 1);
    bed.connect(0, "E", 1, "W");
    int slots = bed.machine.ipcq().slots();
    bed.run(
        tl -> {
          for (int i = 0; i <= slots; i++) {
            tl.send("E", token(tl));
          }
          tl.awaitAll();
          tl.get(bed.row(tl, y, 1));
        },
        tl -> {
          Value first = recvToken(tl, "W");
          tl.store(y, first);
          tl.release(first);
          for (int i = 0; i < slots; i++) {
            tl.release(recvToken(tl, "W"));
          }
        });
  }

  static void copiesFreeTheirSlots(CheckBed bed) {
    bed.connect(0, "E", 1, "W");
    int n = 4 * bed.machine.ipcq().slots();
    bed.run(
        tl -> {
          for (int i = 0; i < n; i++) {
            tl.send("E", token(tl));
          }
        },
        tl -> {
          for (int i = 0; i < n; i++) {
            tl.recvCopy("W", Shape.of(1), DType.F32);
          }
        });
  }

  /** A message of more fragments than the queue has slots. */
  static void aMessageLargerThanTheQueue(CheckBed bed) {
    int n = (int) (bed.machine.ipcq().slotBytes() * (bed.machine.ipcq().slots() + 3) / 4);
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.send("E", twos(tl, n));
          tl.send("E", twos(tl, n));
        },
        tl -> {
          for (int i = 0; i < 2; i++) {
            tl.release(tl.recv("W", Shape.of(n), DType.F32));
          }
        });
  }

  /** A later receive that is still to come does not hold up the release of an earlier one. */
  static void releaseBesideAPendingReceive(CheckBed bed) {
    bed.connect(0, "E", 1, "W").connect(0, "S", 2, "N").connect(2, "E", 1, "X");
    int slots = bed.machine.ipcq().slots();
    bed.run(
        tl -> {
          for (int i = 0; i <= slots; i++) {
            tl.send("E", token(tl));
          }
          tl.awaitAll();
          tl.send("S", token(tl));
        },
        tl -> {
          Value first = recvToken(tl, "W");
          Value late = recvToken(tl, "X");
          tl.release(first);
          for (int i = 0; i < slots; i++) {
            recvToken(tl, "W");
          }
          tl.await(late);
        },
        tl -> tl.send("E", recvToken(tl, "N")));
  }

  /** A message may wait for the next kernel. */
  static void receivedByTheNextKernel(CheckBed bed) {
    bed.connect(0, "E", 1, "W");
    bed.run(tl -> tl.send("E", token(tl)), tl -> {});
    bed.run(tl -> {}, tl -> recvToken(tl, "W"));
  }

  static void anyMessageOrders(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "E", 1, "W").connect(2, "E", 1, "X");
    bed.run(
        tl -> {
          tl.await(tl.put(bed.row(tl, x, 1, 0, 8), twos(tl, 8)));
          tl.send("E", token(tl));
        },
        tl -> {
          for (int i = 0; i < 2; i++) {
            String from = tl.recvAny(Shape.of(1), DType.F32, "W", "X").direction();
            tl.load(bed.row(tl, x, 1, from.equals("W") ? 0 : 8, 8));
          }
        },
        tl -> {
          tl.await(tl.put(bed.row(tl, x, 1, 8, 8), twos(tl, 8)));
          tl.send("E", token(tl));
        });
  }

  // ---- shared memory ----

  static void columnsBesideEachOther(CheckBed bed) {
    Tensor m = bed.torch.full(Shape.of(8, 4), DType.F32, 1, "m");
    Kernel[] kernels = new Kernel[4];
    for (int i = 0; i < 4; i++) {
      int column = i;
      kernels[i] =
          tl -> {
            Slice part = tl.shard(m, bed.pe(0)).block(0, 8, column, 1);
            tl.store(part, tl.load(part).add(1));
          };
    }
    bed.run(kernels);
  }

  static void masksApart(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.run(
        tl -> tl.store(bed.row(tl, x, 7), twos(tl, 16), tl.arange(0, 16).lt(8)),
        tl -> tl.store(bed.row(tl, x, 7), twos(tl, 16), tl.arange(0, 16).ge(8)));
  }

  static void allReadTheSame(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Kernel reads = tl -> tl.get(bed.row(tl, x, 3)).add(tl.load(x));
    bed.run(reads, reads, reads, reads, reads, reads, reads, reads);
  }

  static void sramInTurns(CheckBed bed) {
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.put(bed.sram(0, 16), twos(tl, 16));
          tl.signal("E");
        },
        tl -> {
          tl.waitSignal("W", 1);
          tl.get(bed.sram(0, 16));
        });
  }

  // ---- composites ----

  private static Tensor matrix(CheckBed bed, String name) {
    return bed.torch.full(Shape.of(96, 96), DType.F32, 1, name);
  }

  static void compositeIsAwaited(CheckBed bed) {
    Tensor a = matrix(bed, "a");
    Tensor c = matrix(bed, "c");
    bed.run(tl -> {
      tl.await(tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(a)).into(tl.ref(c))));
      tl.store(a, tl.load(c));
    });
  }

  static void operandsAreStoredBeforeTheComposite(CheckBed bed) {
    Tensor a = bed.torch.empty(Shape.of(32, 32), DType.F32, "a");
    Tensor c = bed.torch.empty(Shape.of(32, 32), DType.F32, "c");
    bed.run(tl -> {
      tl.store(a, tl.full(Shape.of(32, 32), 2, DType.F32)); // not awaited: the same PE
      tl.await(tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(a)).into(tl.ref(c))));
      tl.load(c);
    });
  }

  static void compositesInTurn(CheckBed bed) {
    Tensor a = matrix(bed, "a");
    Tensor c = matrix(bed, "c");
    bed.run(tl -> {
      tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(a)).into(tl.ref(c)));
      tl.composite(CompositeGemm.of(tl.ref(c), tl.load(a)).into(tl.ref(a)));
      tl.awaitAll();
      tl.load(a);
    });
  }

  static void compositeForAPeer(CheckBed bed) {
    Tensor a = matrix(bed, "a");
    Tensor c = matrix(bed, "c");
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.await(tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(a)).into(tl.ref(c))));
          tl.send("E", token(tl));
        },
        tl -> {
          tl.await(recvToken(tl, "W"));
          tl.get(tl.shard(c, bed.pe(0)).whole());
        });
  }

  // ---- kernels and the host ----

  static void kernelsOfOneStream(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch one = bed.raw("one", 0, List.of(), tl -> tl.store(x, twos(tl, 16)), 0);
    Launch two = bed.raw("two", 0, List.of(), tl -> tl.store(x, tl.load(x)), 0);
    bed.drive(one, two);
  }

  static void streamsOneAfterTheOther(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch one = bed.raw("one", 0, List.of(), tl -> tl.store(x, twos(tl, 16)), 0, 1);
    Launch two = bed.raw("two", 1, List.of(one), tl -> tl.get(bed.row(tl, x, 1)), 0, 2);
    Launch three = bed.raw("three", 0, List.of(two), tl -> tl.store(x, twos(tl, 16)), 1);
    bed.drive(one, two, three);
  }

  static void afterTwoAtOneRemove(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch one = bed.raw("one", 0, List.of(), tl -> tl.store(x, twos(tl, 16)), 0);
    Launch two = bed.raw("two", 0, List.of(one), tl -> tl.load(x), 1);
    Launch three = bed.raw("three", 1, List.of(two), tl -> tl.get(bed.row(tl, x, 0)), 2);
    bed.drive(one, two, three);
  }

  static void streamOrdersItsOwnPe(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch one = bed.raw("one", 0, List.of(), tl -> tl.store(x, twos(tl, 16)), 0, 7);
    Launch two = bed.raw("two", 0, List.of(), tl -> tl.store(x, tl.load(x)), 0);
    bed.drive(one, two);
  }

  /** Two kernels that run at the same time exchange messages. */
  static void messagesBetweenKernels(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    var set = bed.connect(0, "E", 1, "W").install();
    Launch one =
        bed.torch.launch(
            "one",
            tl -> {
              if (tl.pe().equals(bed.pe(0))) {
                tl.put(bed.row(tl, x, 1), twos(tl, 16));
                tl.signal("E");
              } else if (tl.pe().equals(bed.pe(1))) {
                tl.waitSignal("W", 1);
                tl.load(x);
              }
            },
            set,
            x);
    bed.torch.await(one);
  }

  static void hostWaitsForTheKernel(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Tensor y = bed.empty("y", 16);
    bed.torch.launch("one", tl -> tl.store(y, tl.load(x)), x, y);
    y.toFloats();
    x.fillInPlace(2);
    bed.torch.launch("two", tl -> tl.store(y, tl.load(x)), x, y);
    x.fillInPlace(3);
    y.toFloats();
  }

  static void memoryIsUsedAgain(CheckBed bed) {
    for (int i = 0; i < 4; i++) {
      try (Tensor t = bed.ones("t" + i, 16)) {
        bed.torch.launch("k", tl -> tl.store(t, tl.load(t).add(1)), t);
      }
    }
    bed.torch.synchronize();
  }

  static void loadsAcrossTheShardsOfATensor(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.run(tl -> tl.load(x.address(), Shape.of(CheckBed.PES * 16), DType.F32));
  }

  static void blocksAtOnce(CheckBed bed) {
    Tensor c = bed.torch.empty(Shape.of(64, 64), DType.F32, "c");
    Kernel[] kernels = new Kernel[8];
    for (int i = 0; i < 8; i++) {
      int block = i;
      kernels[i] =
          tl -> {
            Slice part = tl.shard(c, bed.pe(0)).block(block / 4 * 32, 32, block % 4 * 16, 16);
            tl.store(part, tl.zeros(Shape.of(32, 16), DType.F32));
            tl.load(part);
          };
    }
    bed.run(kernels);
  }
}
