package org.kernbench.torch;

import static org.kernbench.device.check.Finding.Kind.NOT_RECEIVED;
import static org.kernbench.device.check.Finding.Kind.NOT_SENT;
import static org.kernbench.device.check.Finding.Kind.OUTSIDE;
import static org.kernbench.device.check.Finding.Kind.RACE;
import static org.kernbench.device.check.Finding.Kind.UNWRITTEN;
import static org.kernbench.torch.CheckBed.recvToken;
import static org.kernbench.torch.CheckBed.token;
import static org.kernbench.torch.CheckBed.twos;

import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import org.kernbench.device.Launch;
import org.kernbench.device.QueueSet;
import org.kernbench.device.check.Finding;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.tl.Handle;
import org.kernbench.tl.Slice;
import org.kernbench.tl.TileShape;
import org.kernbench.tl.Value;

/**
 * Small wrong programs. Each says what checked execution must report, and nothing else: the kind,
 * the line of the party that was found, and that of its counterpart. Lines are named by the comment
 * at their end.
 */
final class WrongKernels {
  private WrongKernels() {}

  /** A finding that is expected. */
  @Retention(RetentionPolicy.RUNTIME)
  @Repeatable(Expected.class)
  @interface Expect {
    Finding.Kind kind();

    /** The comment that marks the line. */
    String at();

    /** That of the other party: a comment, {@code host}, or nothing. */
    String with() default "";

    /** PE of the one party, and of the other; -1 for the host or nobody. */
    int pe();

    int otherPe() default -1;

    /** Tensor and bytes, where memory is meant. */
    String tensor() default "";

    int first() default 0;

    int end() default 0;
  }

  /** Several. */
  @Retention(RetentionPolicy.RUNTIME)
  @interface Expected {
    Expect[] value();
  }

  // ---- one-sided writes ----

  @Expect(kind = RACE, at = "put", with = "load", pe = 0, otherPe = 1, tensor = "x", end = 64)
  static void putWithoutWait(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.run(
        tl -> {
          tl.put(bed.row(tl, x, 1), twos(tl, 16)); // put
        },
        tl -> {
          tl.load(x); // load
        });
  }

  @Expect(kind = RACE, at = "put", with = "load", pe = 0, otherPe = 1, tensor = "x", end = 64)
  static void signalBeforePut(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "flag", 1, "flag");
    bed.run(
        tl -> {
          tl.signal("flag");
          tl.put(bed.row(tl, x, 1), twos(tl, 16)); // put
        },
        tl -> {
          tl.waitSignal("flag", 1);
          tl.load(x); // load
        });
  }

  @Expect(kind = RACE, at = "put", with = "load", pe = 0, otherPe = 1, tensor = "x", end = 64)
  static void messageBeforePutIsAwaited(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.put(bed.row(tl, x, 1), twos(tl, 16)); // put
          tl.send("E", token(tl));
        },
        tl -> {
          tl.await(recvToken(tl, "W"));
          tl.load(x); // load
        });
  }

  @Expect(kind = RACE, at = "put", with = "load", pe = 0, otherPe = 1, tensor = "x", end = 64)
  static void messageIsNotAwaited(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.await(tl.put(bed.row(tl, x, 1), twos(tl, 16))); // put
          tl.send("E", token(tl));
        },
        tl -> {
          recvToken(tl, "W");
          tl.load(x); // load
        });
  }

  @Expect(
      kind = RACE,
      at = "second",
      with = "load",
      pe = 0,
      otherPe = 1,
      tensor = "x",
      first = 32,
      end = 64)
  static void oneSignalTooFew(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "flag", 1, "flag");
    bed.run(
        tl -> {
          tl.put(bed.row(tl, x, 1, 0, 8), twos(tl, 8));
          tl.signal("flag");
          tl.put(bed.row(tl, x, 1, 8, 8), twos(tl, 8)); // second
          tl.signal("flag");
        },
        tl -> {
          tl.waitSignal("flag", 1);
          tl.load(x); // load
          tl.waitSignal("flag", 2);
        });
  }

  @Expect(kind = RACE, at = "far", with = "near", pe = 0, otherPe = 6, tensor = "x", end = 64)
  static void twoWriters(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.run(
        tl -> {
          tl.put(bed.row(tl, x, 7), twos(tl, 16)); // far
        },
        tl -> {},
        tl -> {},
        tl -> {},
        tl -> {},
        tl -> {},
        tl -> {
          tl.put(bed.row(tl, x, 7), twos(tl, 16)); // near
        });
  }

  @Expect(
      kind = RACE,
      at = "low",
      with = "high",
      pe = 0,
      otherPe = 6,
      tensor = "x",
      first = 32,
      end = 36)
  static void halosOverlapByOneElement(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.run(
        tl -> {
          tl.put(bed.row(tl, x, 7, 0, 9), twos(tl, 9)); // low
        },
        tl -> {},
        tl -> {},
        tl -> {},
        tl -> {},
        tl -> {},
        tl -> {
          tl.put(bed.row(tl, x, 7, 8, 8), twos(tl, 8)); // high
        });
  }

  @Expect(kind = RACE, at = "store", with = "get", pe = 1, otherPe = 0, tensor = "x", end = 64)
  static void getWhileTheOwnerStores(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.run(
        tl -> {
          tl.get(bed.row(tl, x, 1)); // get
        },
        tl -> {
          tl.store(x, twos(tl, 16)); // store
        });
  }

  @Expect(kind = RACE, at = "next", with = "get", pe = 1, otherPe = 0, tensor = "x", end = 64)
  static void overwrittenWithoutAcknowledgement(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "W", 1, "E");
    bed.run(
        tl -> {
          tl.await(recvToken(tl, "W"));
          tl.get(bed.row(tl, x, 1)); // get
        },
        tl -> {
          tl.await(tl.store(x, twos(tl, 16)));
          tl.send("E", token(tl));
          tl.store(x, tl.full(Shape.of(16), 4, DType.F32)); // next
        });
  }

  @Expect(kind = RACE, at = "next", with = "get", pe = 1, otherPe = 0, tensor = "x", end = 64)
  static void acknowledgedBeforeTheGetEnds(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.get(bed.row(tl, x, 1)); // get
          tl.send("E", token(tl)); // does not wait for the value
        },
        tl -> {
          tl.await(recvToken(tl, "W"));
          tl.store(x, twos(tl, 16)); // next
        });
  }

  @Expect(kind = RACE, at = "put", with = "load", pe = 0, otherPe = 1, tensor = "x", end = 64)
  static void ringShiftInPlace(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    int n = CheckBed.PES;
    bed.run(
        java.util.stream.IntStream.range(0, n)
            .mapToObj(i ->
                (org.kernbench.tl.Kernel)
                    tl -> {
                      Value mine = tl.load(x); // load
                      tl.put(bed.row(tl, x, (i + 1) % n), mine); // put
                    })
            .toArray(org.kernbench.tl.Kernel[]::new));
  }

  @Expect(kind = RACE, at = "put", with = "load", pe = 2, otherPe = 1, tensor = "x", end = 64)
  static void aThirdWriterIsNotWaitedFor(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "flag", 1, "flag");
    bed.run(
        tl -> tl.signal("flag"),
        tl -> {
          tl.waitSignal("flag", 1);
          tl.load(x); // load
        },
        tl -> {
          Value late = tl.load(x).exp().log().exp().log();
          tl.put(bed.row(tl, x, 1), late); // put
        });
  }

  @Expect(kind = RACE, at = "put", with = "load", pe = 2, otherPe = 1, tensor = "x", end = 64)
  static void waitsForTheWrongPeer(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "a", 1, "a").connect(2, "b", 1, "b");
    bed.run(
        tl -> tl.signal("a"),
        tl -> {
          tl.waitSignal("a", 1);
          tl.load(x); // load
          tl.waitSignal("b", 1);
        },
        tl -> {
          tl.put(bed.row(tl, x, 1), tl.load(x).exp().log().exp().log()); // put
          tl.signal("b");
        });
  }

  @Expect(kind = RACE, at = "put", with = "use", pe = 0, otherPe = 1, tensor = "box", end = 32)
  static void bufferUsedAgainWithoutRoom(CheckBed bed) {
    Tensor box = bed.ones("box", 16);
    bed.connect(0, "full", 1, "full");
    bed.run(
        tl -> {
          for (int turn = 0; turn < 3; turn++) { // two buffers, three turns
            tl.put(bed.row(tl, box, 1, turn % 2 * 8, 8), twos(tl, 8)); // put
            tl.signal("full");
          }
        },
        tl -> {
          for (int turn = 0; turn < 3; turn++) {
            tl.waitSignal("full", turn + 1);
            tl.load(bed.row(tl, box, 1, turn % 2 * 8, 8)); // use
          }
        });
  }

  @Expect(
      kind = RACE,
      at = "far",
      with = "near",
      pe = 0,
      otherPe = 6,
      tensor = "x",
      first = 28,
      end = 32)
  static void masksShareALane(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.run(
        tl -> {
          Value low = tl.arange(0, 16).lt(8);
          tl.store(bed.row(tl, x, 7), twos(tl, 16), low); // far
        },
        tl -> {},
        tl -> {},
        tl -> {},
        tl -> {},
        tl -> {},
        tl -> {
          Value high = tl.arange(0, 16).ge(7);
          tl.store(bed.row(tl, x, 7), twos(tl, 16), high); // near
        });
  }

  @Expect(
      kind = RACE,
      at = "right",
      with = "left",
      pe = 1,
      otherPe = 0,
      tensor = "m",
      first = 12,
      end = 128)
  static void columnsOverlap(CheckBed bed) {
    Tensor m = bed.torch.full(Shape.of(8, 4), DType.F32, 1, "m");
    bed.run(
        tl -> {
          Value block = tl.full(Shape.of(8, 4), 2, DType.F32);
          tl.store(tl.shard(m, bed.pe(0)).block(0, 8, 0, 4), block); // left
        },
        tl -> {
          Value block = tl.full(Shape.of(8, 1), 2, DType.F32);
          tl.store(tl.shard(m, bed.pe(0)).block(0, 8, 3, 1), block); // right
        });
  }

  @Expect(kind = RACE, at = "add", with = "read", pe = 0, otherPe = 1, tensor = "sum", end = 4)
  @Expect(kind = RACE, at = "add", with = "add", pe = 1, otherPe = 0, tensor = "sum", end = 4)
  static void lostUpdate(CheckBed bed) {
    Tensor sum = bed.torch.zeros(Shape.of(1), DType.F32, "sum");
    org.kernbench.tl.Kernel adds =
        tl -> {
          Slice at = tl.shard(sum, bed.pe(0)).all();
          Value old = tl.load(at); // read
          tl.store(at, old.add(1)); // add
        };
    bed.run(adds, adds);
  }

  @Expect(kind = RACE, at = "load", with = "put", pe = 1, otherPe = 0, tensor = "x", end = 64)
  static void looksAtTheWrongMessage(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "E", 1, "W").connect(2, "E", 1, "X");
    bed.run(
        tl -> {
          tl.await(tl.put(bed.row(tl, x, 1), twos(tl, 16))); // put
          tl.send("E", token(tl));
        },
        tl -> {
          Value from0 = recvToken(tl, "W");
          tl.item(recvToken(tl, "X"));
          tl.load(x); // load
          tl.item(from0);
        },
        tl -> {
          Value late = token(tl);
          for (int i = 0; i < 40; i++) {
            late = late.exp().log();
          }
          tl.send("E", late);
        });
  }

  @Expect(kind = RACE, at = "b", with = "a", pe = 1, otherPe = 0, tensor = "(none)", end = 64)
  static void sharedSram(CheckBed bed) {
    bed.run(
        tl -> {
          tl.store(bed.sram(0, 16), twos(tl, 16)); // a
        },
        tl -> {
          tl.store(bed.sram(0, 16), twos(tl, 16).add(1)); // b
        });
  }

  @Expect(
      kind = RACE,
      at = "late",
      with = "early",
      pe = 2,
      otherPe = 0,
      tensor = "(none)",
      first = 65536,
      end = 65600)
  static void tcmOfAnotherPe(CheckBed bed) {
    bed.run(
        tl -> {
          tl.store(bed.tcm(1, 16), twos(tl, 16)); // early
        },
        tl -> {},
        tl -> {
          Value late = twos(tl, 16);
          for (int i = 0; i < 20; i++) {
            late = late.exp().log();
          }
          tl.store(bed.tcm(1, 16), late); // late
        });
  }

  // ---- composites ----

  private static Tensor matrix(CheckBed bed, String name) {
    return bed.torch.full(Shape.of(32, 32), DType.F32, 1, name);
  }

  @Expect(kind = RACE, at = "load", with = "gemm", pe = 0, otherPe = 0, tensor = "c", end = 4096)
  static void compositeIsNotAwaited(CheckBed bed) {
    Tensor a = matrix(bed, "a");
    Tensor c = matrix(bed, "c");
    bed.run(tl -> {
      tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(a)).into(tl.ref(c))); // gemm
      tl.load(c); // load
    });
  }

  @Expect(kind = RACE, at = "store", with = "gemm", pe = 0, otherPe = 0, tensor = "a", end = 4096)
  static void operandOfACompositeIsOverwritten(CheckBed bed) {
    Tensor a = matrix(bed, "a");
    Tensor c = matrix(bed, "c");
    bed.run(tl -> {
      Value next = tl.full(Shape.of(32, 32), 2, DType.F32);
      tl.composite(whole(tl.ref(a), tl.ref(a)).into(tl.ref(c))); // gemm
      tl.store(a, next); // store
    });
  }

  @Expect(kind = RACE, at = "gemm", with = "get", pe = 0, otherPe = 1, tensor = "c", end = 4096)
  static void compositeIsNotAwaitedForAPeer(CheckBed bed) {
    Tensor a = matrix(bed, "a");
    Tensor c = matrix(bed, "c");
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(a)).into(tl.ref(c))); // gemm
          tl.send("E", token(tl));
        },
        tl -> {
          tl.await(recvToken(tl, "W"));
          tl.get(tl.shard(c, bed.pe(0)).whole()); // get
        });
  }

  // ---- kernels and the host ----

  @Expect(kind = RACE, at = "two", with = "one", pe = 0, otherPe = 0, tensor = "x", end = 64)
  static void streamsWriteTheSame(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch one = bed.raw("one", 0, List.of(), tl -> tl.store(x, twos(tl, 16)), 0); // one
    Launch two = bed.raw("two", 1, List.of(), tl -> tl.store(x, twos(tl, 16)), 0); // two
    bed.drive(one, two);
  }

  @Expect(kind = RACE, at = "writes", with = "reads", pe = 0, otherPe = 0, tensor = "x", end = 64)
  static void oneStreamReadsWhatAnotherWrites(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch one = bed.raw("one", 0, List.of(), tl -> tl.load(x), 0); // reads
    Launch two = bed.raw("two", 1, List.of(), tl -> tl.store(x, twos(tl, 16)), 0); // writes
    bed.drive(one, two);
  }

  @Expect(kind = RACE, at = "three", with = "two", pe = 0, otherPe = 1, tensor = "x", end = 64)
  static void comesAfterOneOfTwo(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch one = bed.raw("one", 0, List.of(), tl -> tl.load(x), 0);
    Launch two = bed.raw("two", 0, List.of(), tl -> tl.get(bed.row(tl, x, 0)), 1); // two
    Launch three = bed.raw("three", 1, List.of(one), tl -> tl.store(x, twos(tl, 16)), 0); // three
    bed.drive(one, two, three);
  }

  @Expect(kind = RACE, at = "first", with = "second", pe = 7, otherPe = 0, tensor = "x", end = 64)
  static void streamOrdersOnlyItsOwnPe(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch one =
        bed.raw(
            "one",
            0,
            List.of(),
            tl -> {
              if (tl.pe().equals(bed.pe(7))) {
                Value late = tl.load(x);
                for (int i = 0; i < 40; i++) {
                  late = late.exp().log();
                }
                tl.store(x, late); // first
              }
            },
            0,
            7);
    Launch two = bed.raw("two", 0, List.of(), tl -> tl.get(bed.row(tl, x, 7)), 0); // second
    bed.drive(one, two);
  }

  /** The other PE was quick enough here, but the second kernel waits only for its own. */
  @Expect(kind = RACE, at = "second", with = "first", pe = 0, otherPe = 7, tensor = "x", end = 64)
  static void streamWaitsForItsOwnPeOnly(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch one =
        bed.raw(
            "one",
            0,
            List.of(),
            tl -> {
              if (tl.pe().equals(bed.pe(7))) {
                tl.store(x, twos(tl, 16)); // first
              } else {
                Value late = tl.load(x);
                for (int i = 0; i < 40; i++) {
                  late = late.exp().log();
                }
              }
            },
            0,
            7);
    Launch two = bed.raw("two", 0, List.of(), tl -> tl.get(bed.row(tl, x, 7)), 0); // second
    bed.drive(one, two);
  }

  /** The message that came is that of another. */
  @Expect(kind = RACE, at = "load", with = "put", pe = 1, otherPe = 0, tensor = "x", end = 64)
  static void anyMessageIsTakenForAll(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    bed.connect(0, "E", 1, "W").connect(2, "E", 1, "X");
    bed.run(
        tl -> {
          tl.await(tl.put(bed.row(tl, x, 1), twos(tl, 16))); // put
          tl.send("E", token(tl));
        },
        tl -> {
          tl.recvAny(Shape.of(1), DType.F32, "W", "X");
          Value late = token(tl);
          for (int i = 0; i < 80; i++) {
            late = late.exp().log();
          }
          tl.await(late);
          tl.load(x); // load
          tl.recvAny(Shape.of(1), DType.F32, "W", "X");
        },
        tl -> tl.send("E", token(tl)));
  }

  @Expect(kind = RACE, at = "load", with = "host", pe = 0, tensor = "x", end = 64)
  static void hostWritesUnderAKernel(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch reads = bed.raw("reads", 0, List.of(), tl -> tl.load(x), 0); // load
    bed.torch.simulator().write(x.shards().getFirst().address(), new byte[64], 0, 64);
    bed.drive(reads);
  }

  @Expect(kind = RACE, at = "store", with = "host", pe = 0, tensor = "x", end = 64)
  static void hostReadsUnderAKernel(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch writes = bed.raw("w", 0, List.of(), tl -> tl.store(x, twos(tl, 16)), 0); // store
    bed.torch.simulator().read(x.shards().getFirst().address(), new byte[64], 0, 64);
    bed.drive(writes);
  }

  @Expect(kind = RACE, at = "host", with = "store", pe = -1, otherPe = 0, tensor = "x", end = 64)
  static void hostReadsBeforeTheKernelEnds(CheckBed bed) {
    Tensor x = bed.ones("x", 16);
    Launch slow =
        bed.raw(
            "slow",
            0,
            List.of(),
            tl -> {
              tl.store(x, twos(tl, 16)); // store
              Value late = twos(tl, 16);
              for (int i = 0; i < 200; i++) {
                late = late.exp().log();
              }
            },
            0);
    Launch quick = bed.raw("quick", 0, List.of(), tl -> tl.load(x).exp().exp().exp(), 1);
    bed.drive(quick);
    bed.torch.simulator().read(x.shards().getFirst().address(), new byte[64], 0, 64);
    bed.drive(slow);
  }

  // ---- memory that nobody has written ----

  @Expect(kind = UNWRITTEN, at = "load", pe = 0, tensor = "y", end = 64)
  static void emptyIsNotZero(CheckBed bed) {
    Tensor y = bed.empty("y", 16);
    bed.run(tl -> {
      tl.store(y, tl.load(y).add(1)); // load
    });
  }

  @Expect(kind = UNWRITTEN, at = "load", pe = 0, tensor = "y", first = 32, end = 64)
  static void halfIsWritten(CheckBed bed) {
    Tensor y = bed.empty("y", 16);
    bed.run(tl -> {
      tl.store(tl.shard(y).range(0, 8), twos(tl, 8));
      tl.load(y); // load
    });
  }

  @Expect(kind = UNWRITTEN, at = "load", pe = 0, tensor = "m", first = 448, end = 512)
  static void theLastRowIsForgotten(CheckBed bed) {
    Tensor m = bed.torch.empty(Shape.of(8, 16), DType.F32, "m");
    bed.run(tl -> {
      for (int row = 0; row < 7; row++) {
        tl.store(tl.shard(m).block(row, 1, 0, 16), tl.zeros(Shape.of(1, 16), DType.F32));
      }
      tl.load(m); // load
    });
  }

  @Expect(kind = UNWRITTEN, at = "load", pe = 0, tensor = "y", first = 40, end = 64)
  static void maskedLanesStayUnwritten(CheckBed bed) {
    Tensor y = bed.empty("y", 16);
    bed.run(tl -> {
      tl.store(tl.ref(y), twos(tl, 16), tl.arange(0, 16).lt(10));
      tl.load(y); // load
    });
  }

  @Expect(kind = UNWRITTEN, at = "load", pe = 0, tensor = "new", end = 64)
  static void memoryOfAClosedTensor(CheckBed bed) {
    Tensor old = bed.ones("old", 16);
    old.close();
    Tensor reused = bed.empty("new", 16);
    bed.run(tl -> {
      tl.load(reused); // load
    });
  }

  @Expect(kind = UNWRITTEN, at = "load", pe = 0, tensor = "y", end = 64)
  static void writtenIntoTheRowOfAnother(CheckBed bed) {
    Tensor y = bed.empty("y", 16);
    bed.run(tl -> {
      tl.await(tl.put(bed.row(tl, y, 1), twos(tl, 16)));
      tl.load(y); // load
    });
  }

  @Expect(kind = UNWRITTEN, at = "gemm", pe = 0, tensor = "b", end = 4096)
  static void compositeOfAnEmptyOperand(CheckBed bed) {
    Tensor a = matrix(bed, "a");
    Tensor b = bed.torch.empty(Shape.of(32, 32), DType.F32, "b");
    bed.run(tl -> {
      tl.await(tl.composite(whole(tl.ref(a), tl.ref(b)).into(tl.ref(a)))); // gemm
    });
  }

  /** A product in one tile, so that every operand is read at once. */
  private static CompositeGemm whole(Slice a, Slice b) {
    return CompositeGemm.of(a, b).tile(new TileShape(32, 32, 32));
  }

  @Expect(kind = RACE, at = "put", with = "load", pe = 0, otherPe = 1, tensor = "y", end = 64)
  static void readBeforeTheFirstWrite(CheckBed bed) {
    Tensor y = bed.empty("y", 16);
    bed.run(
        tl -> {
          tl.put(bed.row(tl, y, 1), twos(tl, 16)); // put
        },
        tl -> {
          tl.load(y); // load
        });
  }

  // ---- messages ----

  @Expect(kind = NOT_RECEIVED, at = "send", with = "recv", pe = 0, otherPe = 1)
  static void oneMessageTooMany(CheckBed bed) {
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          for (int i = 0; i < 3; i++) {
            tl.send("E", token(tl)); // send
          }
        },
        tl -> {
          for (int i = 0; i < 2; i++) {
            tl.recv("W", Shape.of(1), DType.F32); // recv
          }
        });
  }

  @Expect(kind = NOT_RECEIVED, at = "send", pe = 0, otherPe = 1)
  static void nobodyReceives(CheckBed bed) {
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.send("E", token(tl)); // send
        },
        tl -> {});
  }

  @Expect(kind = NOT_RECEIVED, at = "raise", with = "wait", pe = 0, otherPe = 1)
  static void oneSignalTooMany(CheckBed bed) {
    bed.connect(0, "flag", 1, "flag");
    bed.run(
        tl -> {
          tl.signal("flag");
          tl.signal("flag"); // raise
        },
        tl -> {
          tl.waitSignal("flag", 1); // wait
        });
  }

  @Expect(kind = NOT_SENT, at = "recv", with = "send", pe = 1, otherPe = 0)
  static void oneMessageTooFew(CheckBed bed) {
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          for (int i = 0; i < 2; i++) {
            tl.send("E", token(tl)); // send
          }
        },
        tl -> {
          for (int i = 0; i < 3; i++) {
            tl.recv("W", Shape.of(1), DType.F32); // recv
          }
        });
  }

  @Expect(kind = NOT_SENT, at = "recv", pe = 1, otherPe = 2)
  static void waitsInTheWrongDirection(CheckBed bed) {
    bed.connect(0, "E", 1, "W").connect(1, "E", 2, "W");
    bed.run(
        tl -> {},
        tl -> {
          tl.recv("E", Shape.of(1), DType.F32); // recv
        },
        tl -> {});
  }

  @Expect(kind = NOT_RECEIVED, at = "send", pe = 0, otherPe = 1)
  static void leftInAQueueThatIsRemoved(CheckBed bed) {
    QueueSet set = bed.connect(0, "E", 1, "W").install();
    bed.run(
        tl -> {
          tl.send("E", token(tl)); // send
        },
        tl -> {});
    bed.torch.simulator().uninstall(set);
  }

  @Expect(kind = NOT_RECEIVED, at = "right", with = "recv", pe = 0, otherPe = 1)
  @Expect(kind = NOT_RECEIVED, at = "left", with = "recvLeft", pe = 1, otherPe = 0)
  static void bothSidesSendOneMore(CheckBed bed) {
    bed.connect(0, "E", 1, "W");
    bed.run(
        tl -> {
          tl.send("E", token(tl));
          tl.send("E", token(tl)); // right
          tl.recv("E", Shape.of(1), DType.F32); // recvLeft
        },
        tl -> {
          tl.send("W", token(tl));
          tl.send("W", token(tl)); // left
          tl.recv("W", Shape.of(1), DType.F32); // recv
        });
  }

  // ---- beyond a tensor ----

  @Expect(kind = OUTSIDE, at = "load", pe = 0, tensor = "x", first = 2097120, end = 2097152)
  static void readsOnIntoTheNextTensor(CheckBed bed) {
    int page = 2 << 20;
    Tensor x = bed.torch.zeros(Shape.of(page / 4), DType.F32, "x");
    bed.torch.zeros(Shape.of(page / 4), DType.F32, "z");
    bed.run(tl -> {
      tl.load(x.address().plus(page - 32), Shape.of(16), DType.F32); // load
    });
  }

  @Expect(kind = OUTSIDE, at = "store", pe = 0, tensor = "x", first = 2097120, end = 2097152)
  static void writesOnIntoTheNextTensor(CheckBed bed) {
    int page = 2 << 20;
    Tensor x = bed.torch.zeros(Shape.of(page / 4), DType.F32, "x");
    bed.torch.zeros(Shape.of(page / 4), DType.F32, "z");
    bed.run(tl -> {
      Handle done = tl.store(x.address().plus(page - 32), twos(tl, 16)); // store
      tl.await(done);
    });
  }
}
