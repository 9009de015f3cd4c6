package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.machine.spec.LinkKind;

/** What a machine says of its nodes and links, and of numbers that are none. */
final class MachineTest {
  private static final Machine RING = Machines.load("ring", List.of("system.sips.count=3"));

  @Test
  void packageOf_everyNode_isThatOfTheNode() {
    for (int id = 0; id < RING.nodeCount(); id++) {
      int sip = RING.node(id).sip();
      assertThat(RING.packageOf(id)).as(RING.node(id).name()).isEqualTo(sip < 0 ? 3 : sip);
    }
  }

  @Test
  void hostAndSwitch_areNodesOfNoPackage() {
    Machine machine =
        Machines.load("ring", List.of("system.sips.count=3", "system.sips.topology=switch"));
    Node host = machine.node(machine.hostNode());
    assertThat(host.kind()).isEqualTo(NodeKind.HOST);
    assertThat(host.name()).isEqualTo("host");
    assertThat(host.y()).isEqualTo(-1);
    Node last = machine.node(machine.nodeCount() - 1);
    assertThat(last.kind()).isEqualTo(NodeKind.SWITCH);
    assertThat(last.y()).isPositive();
    for (Node node : List.of(host, last)) {
      assertThat(List.of(node.sip(), node.cube(), node.index())).containsExactly(-1, -1, 0);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 1_000_000})
  void node_thatThereIsNot_isRefusedByAllThatTakeOne(int id) {
    List<IntConsumer> calls =
        List.of(
            RING::packageOf,
            RING::node,
            n -> RING.route(n, RING.hostNode()),
            n -> RING.route(RING.hostNode(), n));
    for (IntConsumer call : calls) {
      assertThatThrownBy(() -> call.accept(id)).hasMessageContaining(String.valueOf(id));
    }
    assertThatThrownBy(() -> RING.node(RING.nodeCount())).hasMessageContaining("node");
    assertThatThrownBy(() -> RING.packageOf(RING.nodeCount())).hasMessageContaining("node");
  }

  @Test
  void spec_ofLinksThatAMachineHasNot_isRefused() {
    Machine nodes = Machines.load("2x-dgx-h100", List.of());
    for (LinkKind kind : List.of(LinkKind.SIP_TO_NIC, LinkKind.NIC)) {
      assertThat(nodes.spec(kind).rate().bytesPerSecond()).isPositive();
      assertThatThrownBy(() -> RING.spec(kind))
          .isInstanceOf(MachineException.class)
          .hasMessageContaining(kind.name())
          .hasMessageContaining("system.nodes");
    }
  }

  /** By definition: of all ways into the node that a link leaves, those that do not turn back. */
  @ParameterizedTest
  @ValueSource(strings = {"torus_2d", "switch", "fully_connected"})
  void soleFeeders_ofEveryLink_areTheOnlyWaysIn(String topology) {
    Machine m =
        Machines.load("tiny", List.of("system.sips.count=4", "system.sips.topology=" + topology));
    int[] feeders = m.soleFeeders();
    assertThat(feeders).hasSize(m.linkCount());
    for (int id = 0; id < feeders.length; id++) {
      Link link = m.link(id);
      NodeKind from = m.node(link.fromNode()).kind();
      List<Integer> into = new ArrayList<>();
      for (int other = 0; other < feeders.length; other++) {
        Link o = m.link(other);
        if (o.toNode() == link.fromNode() && o.fromNode() != link.toNode()) {
          into.add(other);
        }
        if (o.kind().isMemoryPort() && o.fromNode() == link.fromNode() && other != id) {
          into.add(other); // what is read comes out of the port
        }
      }
      boolean starts = List.of(NodeKind.PE, NodeKind.M_CPU, NodeKind.HOST).contains(from);
      int expected =
          link.kind().isMemoryPort() || starts || into.size() != 1 ? -1 : into.getFirst();
      assertThat(feeders[id]).as(link.name()).isEqualTo(expected);
    }
  }

  @Test
  void numbers_ofLinksAndPes_endWhereTheMachineDoes() {
    assertThat(RING.link(RING.linkCount() - 1).id()).isEqualTo(RING.linkCount() - 1);
    assertThatThrownBy(() -> RING.linkKind(RING.linkCount()))
        .hasMessage("no link " + RING.linkCount() + "; the machine has " + RING.linkCount());
    assertThat(RING.peAt(2)).isEqualTo(new Pe(2, 0, 0));
    assertThatThrownBy(() -> RING.peAt(3)).hasMessage("no PE 3; the machine has 3");
    assertThatThrownBy(() -> RING.peAt(-1)).hasMessage("no PE -1; the machine has 3");
    for (Pe pe : List.of(new Pe(3, 0, 0), new Pe(-1, 0, 0), new Pe(0, 1, 0), new Pe(0, -1, 0))) {
      assertThatThrownBy(() -> RING.peIndex(pe)).hasMessageContaining("no such place: " + pe);
    }
    assertThatThrownBy(() -> RING.hbmNode(new Pe(0, 0, 1))).hasMessageContaining("of 1 PEs");
    assertThatThrownBy(() -> RING.tcmNode(new Pe(0, 0, -1))).hasMessageContaining("no such place");
    assertThatThrownBy(() -> RING.memoryBytes(RING.hostNode()))
        .hasMessage("node host is no memory");
  }

  @Test
  void computesLike_packagesThatAreAlike_nameTheFirst() {
    Machine m =
        Machines.load(
            "ring",
            List.of(
                "system.sips.count=6",
                "system.sips.slow=1 compute 0.5; 3 compute 0.5; 4 links 0.5; 5 compute 0.25"));
    List<Integer> like = new ArrayList<>();
    for (int sip = 0; sip < 6; sip++) {
      like.add(m.computesLike(sip));
    }
    assertThat(like).containsExactly(0, 1, 0, 1, 0, 5);
    assertThat(RING.computesLike(2)).isZero();
    assertThat(m.pe(1).gemm().clockHz()).isEqualTo(m.pe().gemm().clockHz() / 2);
    assertThat(m.slowPackages()).hasSize(4);
  }

  /** Each link has one that leads back, but for the ports of memories, which go both ways. */
  @Test
  void links_everyOne_hasItsWayBack() {
    for (int id = 0; id < RING.linkCount(); id++) {
      Link link = RING.link(id);
      assertThat(RING.linkFrom(id)).isEqualTo(link.fromNode());
      assertThat(link.id()).isEqualTo(id);
      boolean back = link.kind() == LinkKind.HBM_PORT || link.kind() == LinkKind.SRAM_PORT;
      for (int other = 0; other < RING.linkCount(); other++) {
        Link o = RING.link(other);
        back |= o.fromNode() == link.toNode() && o.toNode() == link.fromNode();
      }
      assertThat(back).as(link.name()).isTrue();
    }
  }
}
