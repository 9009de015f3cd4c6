package org.kernbench.nn.experts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.kernbench.nn.experts.DispatchPlan.Place;
import org.kernbench.nn.experts.StageTokens.Token;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.SequencePart;

/** Plans of all ranks together against what each copy of each token must go through. */
class DispatchPlanTest {
  private static final int HUNDREDS = 100;

  /** A copy: the member of the region that sent it, its row, its choice, its expert. */
  private record Copy(int etp, int ep, int row, int choice, int expert) {}

  /** Copies are moved as the plans say, by plain lists, and each must meet its expert. */
  @Test
  void copies_movedByThePlans_meetTheirExpertsAndReturn() {
    Random random = new Random(11);
    for (int round = 0; round < 60; round++) {
      int etp = 1 + random.nextInt(3);
      int ep = 1 + random.nextInt(4);
      int experts = ep * (1 + random.nextInt(3));
      int topK = 1 + random.nextInt(Math.min(3, experts));
      int[][][][] sends = new int[etp][ep][][];
      for (int m = 0; m < etp; m++) {
        for (int q = 0; q < ep; q++) {
          sends[m][q] = rows(random, random.nextInt(5), experts, topK);
        }
      }
      move(etp, ep, experts, sends);
    }
  }

  private static int[][] rows(Random random, int count, int experts, int topK) {
    int[][] rows = new int[count][];
    for (int i = 0; i < count; i++) {
      // skewed, so that some experts have nothing; and some copies are dropped
      rows[i] =
          random
              .ints(0, HUNDREDS)
              .map(x -> Math.min(experts - 1, x * x * experts / HUNDREDS / HUNDREDS))
              .limit(topK)
              .toArray();
      if (random.nextInt(4) == 0) {
        rows[i][random.nextInt(topK)] = -1;
      }
    }
    return rows;
  }

  private static void move(int etp, int ep, int experts, int[][][][] sends) {
    DispatchPlan[][] plans = new DispatchPlan[etp][ep];
    List<List<List<Copy>>> sent = new ArrayList<>();
    for (int m = 0; m < etp; m++) {
      sent.add(new ArrayList<>());
      for (int q = 0; q < ep; q++) {
        plans[m][q] = DispatchPlan.of(experts, new Place(etp, m, ep, q), (a, b) -> sends[a][b]);
        sent.get(m).add(sentBy(plans[m][q], m, q, sends[m][q]));
      }
    }
    int each = experts / ep;
    for (int q = 0; q < ep; q++) {
      List<Copy> gathered = new ArrayList<>();
      for (int m = 0; m < etp; m++) {
        List<Copy> received = new ArrayList<>();
        for (int from = 0; from < ep; from++) {
          int start = plans[m][from].toPeers().subList(0, q).stream().mapToInt(i -> i).sum();
          int count = plans[m][from].toPeers().get(q);
          assertThat(plans[m][q].fromPeers().get(from)).isEqualTo(count);
          received.addAll(sent.get(m).get(from).subList(start, start + count));
        }
        for (DispatchPlan plan : Arrays.asList(plans[0][q], plans[m][q])) {
          assertThat(plan.gathered().get(m)).isEqualTo(received.size());
        }
        gathered.addAll(received);
      }
      for (int m = 0; m < etp; m++) {
        DispatchPlan plan = plans[m][q];
        List<Copy> byExpert = new ArrayList<>();
        for (int i : plan.byExpert()) {
          byExpert.add(gathered.get(i));
        }
        int at = 0;
        for (int e = 0; e < each; e++) {
          for (int i = 0; i < plan.perExpert()[e]; i++) {
            assertThat(byExpert.get(at++).expert()).isEqualTo(q * each + e);
          }
        }
        assertThat(at).isEqualTo(gathered.size());
        List<Copy> back = new ArrayList<>();
        for (int i : plan.back()) {
          back.add(byExpert.get(i));
        }
        assertThat(back).isEqualTo(gathered);
      }
    }
  }

  /** The copies in the order in which they leave, which must be by expert, row and choice. */
  private static List<Copy> sentBy(DispatchPlan plan, int m, int q, int[][] sends) {
    int topK = sends.length == 0 ? 0 : sends[0].length;
    List<Copy> copies = new ArrayList<>(java.util.Collections.nCopies(plan.sent().length, null));
    int dropped = 0;
    for (int row = 0; row < sends.length; row++) {
      for (int j = 0; j < topK; j++) {
        int place = plan.places()[row * topK + j];
        if (sends[row][j] < 0) {
          dropped++;
          assertThat(place).isNegative();
        } else {
          assertThat(plan.sent()[place]).isEqualTo(row);
          copies.set(place, new Copy(m, q, row, j, sends[row][j]));
        }
      }
    }
    assertThat(plan.dropped()).isEqualTo(dropped);
    assertThat(copies).doesNotContainNull();
    for (int i = 1; i < copies.size(); i++) {
      Copy a = copies.get(i - 1);
      Copy b = copies.get(i);
      assertThat(List.of(a.expert(), a.row(), a.choice()))
          .usingElementComparator(Integer::compare)
          .isNotEqualTo(List.of(b.expert(), b.row(), b.choice()));
      assertThat(a.expert() * 10000 + a.row() * 10 + a.choice())
          .isLessThan(b.expert() * 10000 + b.row() * 10 + b.choice());
    }
    return copies;
  }

  @Test
  void capacity_dropsTheLaterPositionsOfASample() {
    // 4 tokens, 2 experts, top 1: one and a half times the mean of 2 is 3
    ExpertsConfig config = ExpertsConfig.of(2, 1, 4).withLimits(0, 1.5);
    assertThat(config.capacityOf(4)).isEqualTo(3);
    Choices all = (sample, position) -> new int[] {sample};
    Choices kept = DispatchPlan.within(all, config, 4);
    for (int sample = 0; sample < 2; sample++) {
      for (int position = 0; position < 4; position++) {
        assertThat(kept.of(sample, position)).containsExactly(position < 3 ? sample : -1);
      }
    }
    assertThat(DispatchPlan.within(all, config.withLimits(0, 0), 4)).isSameAs(all);
  }

  /** Every token of the batch is on one rank of the stage, in any layout. */
  @Test
  void stageTokens_coverEveryTokenOnce() {
    for (int tp : List.of(1, 2)) {
      for (int cp : List.of(1, 2)) {
        for (int dp : List.of(1, 3)) {
          Set<Token> seen = new HashSet<>();
          for (int rank = 0; rank < tp * cp * dp; rank++) {
            SequencePart part =
                new SequencePart(8, cp, rank / tp % cp).ofSamples(4 + 2 * (rank / tp / cp), 2);
            StageTokens tokens = new StageTokens(tp, part, rank / tp / cp, 2);
            for (int other = 0; other < tp * cp * dp; other++) {
              // each rank knows what each other has
              Token[] of = tokens.of(other);
              assertThat(of).hasSize(tokens.rows());
              seen.addAll(rank == 0 ? List.of(of) : List.of());
              assertThat(seen).containsAll(List.of(of));
            }
          }
          assertThat(seen).hasSize(8 * 2 * dp);
        }
      }
    }
  }

  @Test
  void drawn_withSkew_favoursTheFirst() {
    ExpertsConfig even = ExpertsConfig.of(8, 2, 4).with(new Routing.Drawn(3, 0));
    int[] counts = counts(even, 4000);
    // each with probability 1/4: six standard deviations
    for (int count : counts) {
      assertThat((double) count).isCloseTo(1000, within(6 * Math.sqrt(4000 * 0.25 * 0.75)));
    }
    int[] skewed = counts(even.with(new Routing.Drawn(3, 1)), 4000);
    for (int e = 1; e < 8; e++) {
      assertThat(skewed[e]).isLessThan(skewed[e - 1] + 100);
    }
    // alone, expert e is first with probability 1/(e + 1) over the sum of these
    assertThat(skewed[0]).isGreaterThan(2 * skewed[7]);
    assertThat(counts(even.with(new Routing.Even()), 4000)).containsOnly(1000);
  }

  private static int[] counts(ExpertsConfig config, int tokens) {
    int[] counts = new int[config.experts()];
    for (int t = 0; t < tokens; t++) {
      int[] of = config.routing().of(config, 0, 0, t, tokens);
      assertThat(Arrays.stream(of).distinct().count()).isEqualTo(of.length);
      Arrays.stream(of).forEach(e -> counts[e]++);
    }
    return counts;
  }

  /** Of 8 groups a token takes 4; without the limit it would meet 5.29 of them on average. */
  @Test
  void drawn_ofGroups_staysInThose() {
    ExpertsConfig all = ExpertsConfig.of(256, 8, 1).with(new Routing.Drawn(3, 0));
    int[] groups = new int[2];
    int[] busy = new int[256];
    for (int token = 0; token < 1000; token++) {
      for (int limited = 0; limited < 2; limited++) {
        ExpertsConfig config = limited == 0 ? all : all.with(new ExpertsConfig.Groups(8, 4));
        int[] chosen = config.routing().of(config, 0, 0, token, 1000);
        int met = (int) Arrays.stream(chosen).map(e -> e / 32).distinct().count();
        assertThat(Arrays.stream(chosen).distinct().count()).isEqualTo(8);
        assertThat(met).isLessThanOrEqualTo(limited == 0 ? 8 : 4);
        groups[limited] += met;
        for (int e : chosen) {
          busy[e] += limited;
        }
      }
    }
    assertThat(groups[0] / 1000.0).isCloseTo(5.29, within(0.1));
    assertThat(Arrays.stream(busy).min().orElse(0)).isPositive(); // 31 each on average
  }

  @Test
  void listed_saysWhichLineIsWrong() {
    Routing.Listed list = Routing.Listed.parse("mine.csv", "# experts\n1,0\n\n3,2\n");
    ExpertsConfig config = ExpertsConfig.of(4, 2, 4).with(list);
    assertThat(list.of(config, 5, 1, 0, 3)).containsExactly(3, 2);
    assertThatThrownBy(() -> Routing.Listed.parse("mine.csv", "1,0\nx,1\n"))
        .isInstanceOf(LayoutException.class)
        .hasMessageStartingWith("mine.csv:2: got \"x\"");
    ExpertsConfig fewer = ExpertsConfig.of(3, 2, 4).with(list);
    assertThatThrownBy(() -> list.of(fewer, 0, 0, 1, 3))
        .hasMessage("mine.csv: token 1 goes to [3, 2]; expected 2 different experts of 0 to 2");
  }

  /** Numbers of well-known layouts, of 256 experts and 8 choices. */
  @Test
  void costs_areThoseOfTheClosedForms() {
    double[] reached = {1.99, 3.61, 5.29, 7.27};
    int[] nodes = {2, 4, 8, 32};
    for (int i = 0; i < nodes.length; i++) {
      assertThat(ExpertCosts.nodesReached(256, 8, nodes[i])).isCloseTo(reached[i], within(0.005));
    }
    assertThat(ExpertCosts.busiest(4096, 8, 256)).isCloseTo(165.7, within(0.05));
    assertThat(ExpertCosts.paddedRows(new int[] {0, 1, 16, 17}, 16)).isEqualTo(16 + 16 + 32);
    assertThat(ExpertCosts.dispatchBytes(48, 2, 48, 2, 2)).isEqualTo(4608);
  }

  /** What the closed forms say of draws, against draws. */
  @Test
  void drawn_isAsTheClosedFormsSay() {
    ExpertsConfig config = ExpertsConfig.of(256, 8, 4).with(new Routing.Drawn(1, 0));
    int tokens = 4096;
    int[] counts = new int[256];
    int[] reached = new int[2];
    for (int t = 0; t < tokens; t++) {
      Set<Integer> of8 = new HashSet<>();
      for (int e : config.routing().of(config, 0, 0, t, tokens)) {
        counts[e]++;
        of8.add(e / 32);
      }
      reached[0] += of8.size();
    }
    assertThat((double) reached[0] / tokens).isCloseTo(5.29, within(0.05));
    assertThat((double) Arrays.stream(counts).max().orElseThrow())
        .isCloseTo(ExpertCosts.busiest(tokens, 8, 256), within(15.0));
  }
}
