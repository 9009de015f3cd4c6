package org.kernbench.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CoroutineTest {
  /** Lets a body name the coroutine it runs in, which exists only after the body. */
  private static final class Self {
    Coroutine coroutine = Coroutine.of("unset", () -> {});

    void suspend() {
      coroutine.suspend();
    }
  }

  private static Coroutine coroutine(String name, Consumer<Self> body) {
    Self self = new Self();
    self.coroutine = Coroutine.of(name, () -> body.accept(self));
    return self.coroutine;
  }

  @Test
  void resume_bodySuspendsTwice_ownerAndBodyTakeTurns() {
    List<String> log = new ArrayList<>();
    Coroutine c =
        coroutine(
            "c",
            self -> {
              log.add("body 1");
              self.suspend();
              log.add("body 2");
              self.suspend();
              log.add("body 3");
            });
    log.add("owner 0");
    assertThat(c.resume()).isTrue();
    log.add("owner 1");
    assertThat(c.resume()).isTrue();
    assertThat(c.isDone()).isFalse();
    log.add("owner 2");
    assertThat(c.resume()).isFalse();
    log.add("owner 3");
    assertThat(c.isDone()).isTrue();
    assertThat(c.resume()).isFalse();
    assertThat(log)
        .containsExactly("owner 0", "body 1", "owner 1", "body 2", "owner 2", "body 3", "owner 3");
  }

  /** A body that waits for something outside: its owner goes on with the error, once. */
  @Test
  void giveUp_bodyWaitsOutside_ownerGetsTheErrorAndTheBodyEndsWhenItComesBack() throws Exception {
    CountDownLatch waits = new CountDownLatch(1);
    CountDownLatch outside = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    List<String> log = Collections.synchronizedList(new ArrayList<>());
    Coroutine c =
        coroutine(
            "c",
            self -> {
              try {
                waits.countDown();
                awaitIt(outside);
                self.suspend();
                log.add("went on");
              } finally {
                ended.countDown();
              }
            });
    Thread other =
        Thread.startVirtualThread(() -> {
          awaitIt(waits);
          c.giveUp(new IllegalStateException("stuck"));
        });
    assertThatThrownBy(c::resume).isInstanceOf(IllegalStateException.class).hasMessage("stuck");
    other.join();
    assertThat(c.isDone()).isTrue();
    assertThat(c.resume()).isFalse();
    outside.countDown();
    ended.await();
    assertThat(log).isEmpty();
  }

  private static void awaitIt(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void resume_manyCoroutines_neverTwoAtOnceAndInTheOrderOfResuming() {
    int count = 500;
    SplittableRandom random = new SplittableRandom(7);
    AtomicInteger running = new AtomicInteger();
    List<Integer> log =
        new ArrayList<>(); // unsynchronised: the baton alone must order the accesses
    List<Coroutine> coroutines = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int id = i;
      coroutines.add(
          coroutine(
              "c" + i,
              self -> {
                while (true) {
                  assertThat(running.incrementAndGet()).isEqualTo(1);
                  log.add(id);
                  running.decrementAndGet();
                  self.suspend();
                }
              }));
    }
    List<Integer> expected = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      int next = random.nextInt(count);
      expected.add(next);
      assertThat(coroutines.get(next).resume()).isTrue();
    }
    assertThat(log).isEqualTo(expected);
    coroutines.forEach(Coroutine::cancel);
    assertThat(coroutines).allMatch(Coroutine::isDone);
  }

  @Test
  void resume_insideAnotherCoroutine_nests() {
    List<String> log = new ArrayList<>();
    Coroutine inner =
        coroutine(
            "inner",
            self -> {
              log.add("inner 1");
              self.suspend();
              log.add("inner 2");
            });
    Coroutine outer =
        coroutine(
            "outer",
            self -> {
              inner.resume();
              log.add("outer 1");
              self.suspend();
              log.add("outer 2");
            });
    outer.resume();
    log.add("owner");
    inner.resume();
    outer.resume();
    assertThat(log).containsExactly("inner 1", "outer 1", "owner", "inner 2", "outer 2");
  }

  @Test
  void resume_bodyThrows_ownerGetsTheVeryExceptionOnce() {
    RuntimeException failure = new IllegalArgumentException("from the body");
    Coroutine c =
        coroutine(
            "c",
            self -> {
              self.suspend();
              throw failure;
            });
    assertThat(c.resume()).isTrue();
    assertThatThrownBy(c::resume).isSameAs(failure);
    assertThat(c.isDone()).isTrue();
    assertThat(c.resume()).isFalse();
  }

  @Test
  void resume_bodyThrowsError_ownerGetsIt() {
    Error failure = new AssertionError("from the body");
    Coroutine c =
        coroutine(
            "c",
            self -> {
              throw failure;
            });
    assertThatThrownBy(c::resume).isSameAs(failure);
  }

  @Test
  void resume_bodyThrowsCheckedException_isWrappedWithTheName() {
    Coroutine c = coroutine("rank 3", self -> sneak(new Exception("checked")));
    assertThatThrownBy(c::resume)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("rank 3")
        .hasRootCauseMessage("checked");
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> void sneak(Throwable t) throws T {
    throw (T) t;
  }

  @Test
  void cancel_suspendedBody_runsItsFinallyBlocksInnermostFirst() {
    List<String> log = new ArrayList<>();
    Coroutine c =
        coroutine(
            "c",
            self -> {
              try {
                try {
                  self.suspend();
                  log.add("unreachable");
                } catch (RuntimeException e) {
                  log.add("model code must not see the cancellation");
                } finally {
                  log.add("inner");
                }
              } finally {
                log.add("outer");
              }
            });
    c.resume();
    c.cancel();
    assertThat(log).containsExactly("inner", "outer");
    assertThat(c.isDone()).isTrue();
    assertThat(c.resume()).isFalse();
    c.cancel();
    assertThat(log).hasSize(2);
  }

  @Test
  void cancel_finallyBlockSuspends_isUnwoundFurther() {
    List<String> log = new ArrayList<>();
    Coroutine c =
        coroutine(
            "c",
            self -> {
              try {
                self.suspend();
              } finally {
                try {
                  self.suspend();
                  log.add("unreachable");
                } finally {
                  log.add("cleaned up");
                }
              }
            });
    c.resume();
    c.cancel();
    assertThat(log).containsExactly("cleaned up");
    assertThat(c.isDone()).isTrue();
  }

  @Test
  void cancel_beforeTheFirstResume_neverRunsTheBody() {
    List<String> log = new ArrayList<>();
    Coroutine c = coroutine("c", self -> log.add("ran"));
    c.cancel();
    assertThat(c.isDone()).isTrue();
    assertThat(c.resume()).isFalse();
    assertThat(log).isEmpty();
  }

  @Test
  void cancel_finallyBlockThrows_ownerGetsIt() {
    RuntimeException failure = new IllegalStateException("while cleaning up");
    Coroutine c =
        coroutine(
            "c",
            self -> {
              try {
                self.suspend();
              } finally {
                fail(failure);
              }
            });
    c.resume();
    assertThatThrownBy(c::cancel).isSameAs(failure);
    assertThat(c.isDone()).isTrue();
  }

  private static void fail(RuntimeException failure) {
    throw failure;
  }

  @Test
  void suspend_fromAForeignThread_isAnErrorThatNamesTheCoroutine() {
    Coroutine c = coroutine("rank 5", Self::suspend);
    assertThatThrownBy(c::suspend)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("rank 5");
    c.resume();
    assertThatThrownBy(c::suspend).isInstanceOf(IllegalStateException.class);
    Coroutine other = coroutine("other", self -> c.suspend());
    assertThatThrownBy(other::resume)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("rank 5");
    c.cancel();
  }

  @Test
  void resume_fromAnotherOwnerThread_handsOverToIt() throws InterruptedException {
    List<String> log = new ArrayList<>();
    Coroutine c =
        coroutine(
            "c",
            self -> {
              log.add("first");
              self.suspend();
              log.add("second");
            });
    c.resume();
    Thread owner = Thread.ofPlatform().start(c::resume);
    owner.join();
    assertThat(log).containsExactly("first", "second");
    assertThat(c.isDone()).isTrue();
  }

  @Test
  void stackTrace_suspendedBody_showsWhereItWaits() {
    Coroutine c = coroutine("c", CoroutineTest::placeWhereItWaits);
    c.resume();
    assertThat(c.name()).isEqualTo("c");
    assertThat(c.stackTrace()).anyMatch(f -> f.getMethodName().equals("placeWhereItWaits"));
    c.cancel();
  }

  private static void placeWhereItWaits(Self self) {
    self.suspend();
  }
}
