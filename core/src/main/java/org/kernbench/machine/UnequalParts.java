package org.kernbench.machine;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.kernbench.config.ConfigMap;
import org.kernbench.machine.MachineConfig.SystemConfig;
import org.kernbench.machine.spec.HbmSpec;
import org.kernbench.machine.spec.LinkOverride;
import org.kernbench.machine.spec.SipTopology;
import org.kernbench.machine.spec.SlowPackage;

/**
 * Reads and checks what {@code system.sips} says of links and packages that are not as the others.
 */
final class UnequalParts {
  /** None is different. */
  private static final String ALIKE = "alike";

  private UnequalParts() {}

  static List<LinkOverride> links(ConfigMap sipsMap) {
    return differing(sipsMap, "links", LinkOverride::parse);
  }

  static List<SlowPackage> slow(ConfigMap sipsMap) {
    return differing(sipsMap, "slow", SlowPackage::parse);
  }

  /** Whether all that is named exists, and packages still reach one another. */
  static void check(ConfigMap sipsMap, SystemConfig config) {
    if (!config.overrides().isEmpty()) {
      checkLinks(sipsMap, config);
    }
    checkSlow(sipsMap, config);
  }

  /** What is not as the others; in one text they are parted by {@code ;}. */
  private static <T> List<T> differing(ConfigMap sipsMap, String key, Function<String, T> parse) {
    List<T> differing = new ArrayList<>();
    if (!sipsMap.has(key) || sipsMap.isText(key, ALIKE)) {
      return differing;
    }
    for (String text : sipsMap.texts(key)) {
      for (String one : text.split(";", -1)) {
        try {
          differing.add(parse.apply(one));
        } catch (IllegalArgumentException e) {
          sipsMap.problem(key, String.valueOf(e.getMessage()));
        }
      }
    }
    return differing;
  }

  /** The packages exist, and each is named once. */
  private static void checkSlow(ConfigMap sipsMap, SystemConfig config) {
    int named = -1;
    List<SlowPackage> inOrder = new ArrayList<>(config.slow());
    inOrder.sort(Comparator.comparingInt(SlowPackage::first));
    for (SlowPackage each : inOrder) {
      if (each.last() < each.first() || each.last() >= config.sips()) {
        sipsMap.problem(
            "slow",
            "got \"%s\"; expected %s%s"
                .formatted(
                    each,
                    config.sips() == 1 ? "package 0" : "packages 0 to " + (config.sips() - 1),
                    each.last() < each.first() ? ", the lower one first" : ""));
      } else if (each.first() <= named) {
        sipsMap.problem(
            "slow", "got package " + each.first() + " twice; say all of a package in one entry");
      }
      named = Math.max(named, each.last());
    }
  }

  /** Banks have a clock and timings of their own, which no factor says. */
  static void checkHbm(ConfigMap sipsMap, SystemConfig system, HbmSpec hbm) {
    if (hbm.isBanked() && system.slow().stream().anyMatch(SlowPackage::slowsHbm)) {
      sipsMap.problem(
          "slow",
          "got a slow hbm, whose banks are modelled; use cube.hbm.fidelity flat, or slow links");
    }
  }

  /** The links exist, and every package still reaches every other. */
  private static void checkLinks(ConfigMap sipsMap, SystemConfig config) {
    PackageNetwork network = PackageNetwork.of(config);
    Set<List<Object>> named = new HashSet<>();
    for (LinkOverride each : config.overrides()) {
      if (!named.add(each.which())) {
        sipsMap.problem(
            "links", "got \"" + each + "\", a link named before; say all of a link in one entry");
      }
      String problem =
          switch (network) {
            case SipNetwork flat -> problem(flat, config, each);
            case LevelNetwork levels -> problem(levels::isLink, levels::someLinks, config, each);
            case NodeNetwork nodes -> problem(nodes::isLink, nodes::someLinks, config, each);
          };
      if (!problem.isEmpty()) {
        sipsMap.problem("links", problem);
      }
    }
    if (config.overrides().stream().anyMatch(LinkOverride::dead)
        && !network.unreachable().isEmpty()) {
      sipsMap.problem("links", network.unreachable());
    }
  }

  private static String problem(SipNetwork network, SystemConfig config, LinkOverride each) {
    if (each.isAtSwitch() && config.topology() == SipTopology.SWITCH) {
      return """
      the links to the switch of system.sips.topology are all alike; use system.network with \
      kind: switch, whose links can differ\
      """;
    }
    if (each.isAtSwitch() || !network.isLink(each.from(), each.to())) {
      return missing(each, network.someLink());
    }
    if (each.dead() && !network.canGoRound()) {
      return """
      link %s to %s is dead, and routes cannot go round it in a %s network; make it \
      slow instead, or use ring_1d, torus_2d or mesh_2d_no_wrap\
      """
          .formatted(each.from(), each.to(), config.topology().name().toLowerCase(Locale.ROOT));
    }
    return "";
  }

  private static String problem(
      Predicate<LinkOverride> isLink,
      Supplier<String> someLinks,
      SystemConfig config,
      LinkOverride each) {
    if ((each.from() < 0 && each.to() < 0) || !isLink.test(each)) {
      return missing(each, someLinks.get());
    }
    if (each.dead() && each.isAtSwitch()) {
      return """
      link %s is dead, and no route goes round a switch; make it slow instead, e.g. 1 GB/s\
      """
          .formatted(each);
    }
    if (each.dead() && config.sips() > LevelNetwork.MOST_DETOURS) {
      return """
      link %s is dead, and ways round are looked for in networks of up to %s sips; this one has \
      %s; make it slow instead, e.g. 1 GB/s\
      """
          .formatted(each, LevelNetwork.MOST_DETOURS, config.sips());
    }
    return "";
  }

  private static String missing(LinkOverride each, String some) {
    String[] words = each.toString().split(each.both() ? "-| " : "->| ", 3);
    return """
    got a link %s to %s; the packages of this network are joined otherwise, e.g. %s\
    """
        .formatted(words[0], words[1], some);
  }
}
