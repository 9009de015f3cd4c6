package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
