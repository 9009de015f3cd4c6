package org.kernbench.ccl;

import java.util.AbstractList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.RandomAccess;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.torch.placement.RankLevel;

/** The ranks that take part in a collective, and where they are. */
public final class Group {
  private final Machine machine;
  private final RankLevel level;
  private final List<Pe> leads;

  /** By lead; empty if ranks are packages, whose numbers say it. */
  private final Map<Pe, Integer> ranks = new HashMap<>();

  private final boolean isOfPackages;

  /** By place in a ring the rank; empty if it follows from where ranks are. */
  private final List<Integer> order;

  /**
   * A group.
   *
   * @param level what one rank owns
   * @param leads by rank, the PE that runs the rank's part of a collective; all different
   */
  public Group(Machine machine, RankLevel level, List<Pe> leads) {
    this(machine, level, leads, List.of());
  }

  /**
   * A group that goes round as others do.
   *
   * @param order by place in a ring the rank, each once; empty if it follows from where ranks are
   */
  public Group(Machine machine, RankLevel level, List<Pe> leads, List<Integer> order) {
    this.machine = machine;
    this.level = level;
    this.leads = List.copyOf(leads);
    this.order = List.copyOf(order);
    this.isOfPackages = false;
    if (!order.isEmpty() && order.size() != leads.size()) {
      throw new IllegalArgumentException(order + " is no order of " + leads.size() + " ranks");
    }
    for (int rank = 0; rank < this.leads.size(); rank++) {
      Integer other = ranks.put(this.leads.get(rank), rank);
      if (other != null) {
        throw new IllegalArgumentException(
            "ranks " + other + " and " + rank + " share " + this.leads.get(rank));
      }
    }
  }

  private Group(Machine machine) {
    this.machine = machine;
    this.level = RankLevel.SIP;
    this.leads = new PackageLeads(machine.sips());
    this.order = List.of();
    this.isOfPackages = true;
  }

  /** All packages of a machine, each a rank; takes no room for them. */
  public static Group ofPackages(Machine machine) {
    return new Group(machine);
  }

  /** The first PE of each package, made when asked for. */
  private static final class PackageLeads extends AbstractList<Pe> implements RandomAccess {
    private final int sips;

    PackageLeads(int sips) {
      this.sips = sips;
    }

    @Override
    public Pe get(int sip) {
      return new Pe(Objects.checkIndex(sip, sips), 0, 0);
    }

    @Override
    public int size() {
      return sips;
    }
  }

  /** Whether rank r is package r, for all packages of the machine. */
  public boolean isOfPackages() {
    return isOfPackages;
  }

  /** The machine they are on. */
  public Machine machine() {
    return machine;
  }

  /** What one rank owns. */
  public RankLevel level() {
    return level;
  }

  /** By rank, the PE that runs the rank's part. */
  public List<Pe> leads() {
    return leads;
  }

  /** The PE that runs a rank's part. */
  public Pe lead(int rank) {
    return leads.get(rank);
  }

  /** By place in a ring the rank, as it was given; empty if it follows from where ranks are. */
  List<Integer> order() {
    return order;
  }

  /** Number of ranks. */
  public int size() {
    return leads.size();
  }

  /**
   * The rank whose part a PE runs.
   *
   * @throws CollectiveException if it runs none
   */
  public int rankOf(Pe pe) {
    boolean leads = isOfPackages && pe.cube() == 0 && pe.pe() == 0 && pe.sip() < size();
    Integer rank = leads ? Integer.valueOf(pe.sip()) : ranks.get(pe);
    if (rank == null) {
      throw new CollectiveException(
          pe + " runs the part of no rank; launch the kernel on the lead PEs of the group only");
    }
    return rank;
  }
}
