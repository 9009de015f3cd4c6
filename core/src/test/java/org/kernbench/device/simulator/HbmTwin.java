package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.kernbench.machine.spec.DramSpec;

/**
 * One pseudo-channel, stepped cycle by cycle: the slow and obvious twin of {@code HbmBanks}. It
 * keeps what was issued and asks of every waiting command, in every cycle, whether each rule of the
 * data sheet lets it go. The rules are a table as in a data sheet: command, command, scope, gap.
 */
public final class HbmTwin {
  /** One burst, at an address of the channel. */
  public record Burst(long timePs, long address, boolean write) {}

  private enum Kind {
    ACT,
    PRE,
    RD,
    WR,
    REF
  }

  private enum Scope {
    BANK,
    GROUP,
    CHANNEL
  }

  private record Rule(Kind before, Kind after, Scope scope, long gapPs) {}

  private static final class Command {
    final Kind kind;
    final int bank;
    final int burst;
    long issuedPs = -1;

    Command(Kind kind, int bank, int burst) {
      this.kind = kind;
      this.bank = bank;
      this.burst = burst;
    }

    boolean isColumn() {
      return kind == Kind.RD || kind == Kind.WR;
    }

    boolean isRow() {
      return kind == Kind.ACT || kind == Kind.REF;
    }
  }

  private final DramSpec spec;
  private final List<Rule> rules;
  private final long longestPs;
  private final List<Command> waiting = new ArrayList<>();
  private final List<Command> issued = new ArrayList<>();

  // the row that each bank will have when everything accepted so far has been done
  private final long[] row;
  private final boolean[] refreshed;
  private int lastSet;

  private HbmTwin(DramSpec spec) {
    this.spec = spec;
    long written = spec.tCwl() + spec.tBl();
    rules =
        List.of(
            new Rule(Kind.ACT, Kind.ACT, Scope.BANK, spec.tRc()),
            new Rule(Kind.ACT, Kind.REF, Scope.BANK, spec.tRc()),
            new Rule(Kind.ACT, Kind.PRE, Scope.BANK, spec.tRas()),
            new Rule(Kind.ACT, Kind.RD, Scope.BANK, spec.tRcdRd()),
            new Rule(Kind.ACT, Kind.WR, Scope.BANK, spec.tRcdWr()),
            new Rule(Kind.PRE, Kind.ACT, Scope.BANK, spec.tRp()),
            new Rule(Kind.PRE, Kind.REF, Scope.BANK, spec.tRp()),
            new Rule(Kind.RD, Kind.PRE, Scope.BANK, spec.tRtp()),
            new Rule(Kind.WR, Kind.PRE, Scope.BANK, written + spec.tWr()),
            new Rule(Kind.REF, Kind.ACT, Scope.BANK, spec.tRfcPb()),
            new Rule(Kind.REF, Kind.REF, Scope.BANK, spec.tRfcPb()),
            new Rule(Kind.ACT, Kind.ACT, Scope.GROUP, spec.tRrdL()),
            new Rule(Kind.ACT, Kind.REF, Scope.GROUP, spec.tRrdL()),
            new Rule(Kind.RD, Kind.RD, Scope.GROUP, spec.tCcdL()),
            new Rule(Kind.WR, Kind.WR, Scope.GROUP, spec.tCcdL()),
            new Rule(Kind.WR, Kind.RD, Scope.GROUP, written + spec.tWtrL()),
            new Rule(Kind.ACT, Kind.ACT, Scope.CHANNEL, spec.tRrdS()),
            new Rule(Kind.ACT, Kind.REF, Scope.CHANNEL, spec.tRrdS()),
            new Rule(Kind.REF, Kind.ACT, Scope.CHANNEL, spec.tRrefd()),
            new Rule(Kind.REF, Kind.REF, Scope.CHANNEL, spec.tRrefd()),
            new Rule(Kind.RD, Kind.RD, Scope.CHANNEL, spec.tCcdS()),
            new Rule(Kind.WR, Kind.WR, Scope.CHANNEL, spec.tCcdS()),
            new Rule(Kind.RD, Kind.WR, Scope.CHANNEL, spec.tRtw()),
            new Rule(Kind.WR, Kind.RD, Scope.CHANNEL, written + spec.tWtrS()));
    longestPs = Math.max(spec.tFaw(), rules.stream().mapToLong(Rule::gapPs).max().orElseThrow());
    row = new long[spec.banks()];
    Arrays.fill(row, -1);
    refreshed = new boolean[spec.banks()];
  }

  /**
   * When the data of each burst has been moved.
   *
   * @param bursts in order of time
   * @param stepPs the clock; all times of the data sheet and all arrivals are multiples of it
   */
  public static long[] run(DramSpec spec, List<Burst> bursts, long stepPs) {
    HbmTwin twin = new HbmTwin(spec);
    long[] done = new long[bursts.size()];
    Arrays.fill(done, -1);
    int accepted = 0;
    long refreshPs = spec.refreshIntervalPs();
    for (long now = 0; Arrays.stream(done).anyMatch(d -> d < 0); now += stepPs) {
      while (accepted < bursts.size() && bursts.get(accepted).timePs() <= now) {
        while (refreshPs <= bursts.get(accepted).timePs()) {
          twin.acceptRefresh();
          refreshPs += spec.refreshIntervalPs();
        }
        twin.accept(bursts.get(accepted), accepted);
        accepted++;
      }
      while (refreshPs <= now) {
        twin.acceptRefresh();
        refreshPs += spec.refreshIntervalPs();
      }
      twin.issue(now, done);
    }
    return done;
  }

  // ---- where a byte is, counted out ----

  private int lanes() {
    return (int) Math.min(spec.bankGroups(), Math.ceilDiv(spec.tCcdL(), spec.tCcdS()));
  }

  private int sets() {
    return spec.banks() / lanes();
  }

  private int bank(int set, int lane) {
    int groupPairs = spec.bankGroups() / lanes();
    return set / groupPairs * spec.bankGroups() + set % groupPairs * lanes() + lane;
  }

  private int group(int bank) {
    int stack = bank / (spec.bankGroups() * spec.banksPerGroup());
    return stack * spec.bankGroups() + bank % spec.bankGroups();
  }

  private void accept(Burst burst, int index) {
    long burstsPerSet = spec.rowBytes() * lanes() / spec.accessBytes();
    long number = burst.address() / spec.accessBytes();
    long wantedRow = number / burstsPerSet / sets();
    int set = (int) ((number / burstsPerSet % sets() + wantedRow) % sets());
    int bank = bank(set, (int) (number % lanes()));
    if (row[bank] != wantedRow) {
      close(bank);
      waiting.add(new Command(Kind.ACT, bank, -1));
      row[bank] = wantedRow;
    }
    waiting.add(new Command(burst.write() ? Kind.WR : Kind.RD, bank, index));
    lastSet = set;
  }

  private void close(int bank) {
    if (row[bank] >= 0) {
      waiting.add(new Command(Kind.PRE, bank, -1));
      row[bank] = -1;
    }
  }

  private void acceptRefresh() {
    int bank = -1;
    while (bank < 0) {
      bank = mostRecentlyLeft();
      if (bank < 0) {
        Arrays.fill(refreshed, false);
      }
    }
    refreshed[bank] = true;
    close(bank);
    waiting.add(new Command(Kind.REF, bank, -1));
  }

  private int mostRecentlyLeft() {
    for (int behind = 1; behind <= sets(); behind++) {
      for (int lane = 0; lane < lanes(); lane++) {
        int bank = bank((lastSet - behind + 2 * sets()) % sets(), lane);
        if (!refreshed[bank]) {
          return bank;
        }
      }
    }
    return -1;
  }

  // ---- a cycle ----

  private void issue(long now, long[] done) {
    issued.removeIf(c -> c.issuedPs + longestPs < now);
    for (int i = 0; i < waiting.size(); i++) {
      Command c = waiting.get(i);
      if (isInOrder(i) && isLegal(c, now)) {
        c.issuedPs = now;
        issued.add(c);
        waiting.remove(i);
        i = -1; // others may follow in the same cycle
        if (c.kind == Kind.RD) {
          done[c.burst] = now + spec.tCl() + spec.tBl();
        } else if (c.kind == Kind.WR) {
          done[c.burst] = now + spec.tCwl() + spec.tBl();
        }
      }
    }
  }

  private boolean isInOrder(int i) {
    Command c = waiting.get(i);
    for (Command earlier : waiting.subList(0, i)) {
      boolean sameQueue = (c.isColumn() && earlier.isColumn()) || (c.isRow() && earlier.isRow());
      if (sameQueue || earlier.bank == c.bank) {
        return false;
      }
    }
    return true;
  }

  private boolean isLegal(Command c, long now) {
    for (Command p : issued) {
      for (Rule rule : rules) {
        boolean applies =
            rule.before == p.kind
                && rule.after == c.kind
                && switch (rule.scope) {
                  case BANK -> p.bank == c.bank;
                  case GROUP -> group(p.bank) == group(c.bank);
                  case CHANNEL -> true;
                };
        if (applies && now < p.issuedPs + rule.gapPs) {
          return false;
        }
      }
    }
    return c.kind != Kind.ACT
        || issued.stream().filter(p -> p.kind == Kind.ACT && p.issuedPs > now - spec.tFaw()).count()
            < 4;
  }
}
