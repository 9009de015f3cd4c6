package org.kernbench.device.reuse;

import org.jspecify.annotations.Nullable;
import org.kernbench.device.fabric.FabricRoute;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.OpKind;

/** What is remembered of a PE. */
public final class PeMark {
  /** The stretch of launches that is noted as it runs there; null if none is. */
  @Nullable Noted noted;

  /** The stretch that is replayed there; null if none is. */
  @Nullable Replay replay;

  /** Its number in that stretch. */
  int slot;

  /** The way that bytes went last; most go the same again. */
  private @Nullable FabricRoute usedLast;

  /** Nothing is known. */
  public PeMark() {}

  /** What happens there is noted in a stretch from now on. */
  void noteIn(Noted stretch) {
    noted = stretch;
    usedLast = null;
  }

  /** Whether somebody has to hear of what happens there. */
  public boolean isNoted() {
    return noted != null;
  }

  /** Bytes go a way. */
  public void uses(FabricRoute route) {
    Noted n = noted;
    if (n != null && route != usedLast) {
      usedLast = route;
      n.uses(route);
    }
  }

  /** What is noted there cannot stand for others. */
  public void spoil(String why) {
    Noted n = noted;
    if (n != null) {
      n.spoil(why);
    }
  }

  /**
   * An operation has ended; its words are those of the op log.
   *
   * @param launch that it belongs to
   */
  public void ended(
      LaunchMark launch,
      int id,
      int ordinal,
      OpKind kind,
      Cause cause,
      int causeOp,
      int bytes,
      int link,
      int line,
      int work,
      long issuePs,
      long startPs,
      long endPs,
      long contentionPs,
      long serialisationPs,
      long translationPs) {
    Noted n = noted;
    if (n == null) {
      return;
    }
    if ((kind == OpKind.SEND || kind == OpKind.RECV) && !launch.mayTalk) {
      n.spoil("messages from elsewhere");
      return;
    }
    if (n.hasRoom()) {
      n.rows()
          .add(
              id,
              ordinal,
              slot,
              launch.member,
              kind,
              cause,
              causeOp,
              bytes,
              link,
              line,
              work,
              issuePs,
              startPs,
              endPs,
              contentionPs,
              serialisationPs,
              translationPs);
    }
  }
}
