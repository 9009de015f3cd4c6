package org.kernbench.machine;

import org.kernbench.machine.spec.LinkKind;

/**
 * The links by their ids: those inside packages, one package after the other, each as the template
 * has it; two of each package with the host; then those between packages. Of what kind they are,
 * from where to where they lead, and to which package they belong. Ids are of links that there are.
 */
final class LinkTable {
  private final SipTemplate template;
  private final PackageNetwork network;
  private final int host;

  /** The first link of the host, behind those inside packages. */
  final int firstHostLink;

  /** The first link between packages. */
  final int firstSipLink;

  LinkTable(SipTemplate template, PackageNetwork network, int sips) {
    this.template = template;
    this.network = network;
    host = sips * template.nodes;
    firstHostLink = sips * template.links;
    firstSipLink = firstHostLink + 2 * sips;
  }

  /** How many there are. */
  int count() {
    return firstSipLink + network.links();
  }

  LinkKind kind(int id) {
    if (id < firstHostLink) {
      return template.linkKind(id % template.links);
    }
    return id < firstSipLink ? LinkKind.HOST_LINK : network.kind(id - firstSipLink);
  }

  /** See {@link Machine#packageOfLink}. */
  int home(int id) {
    if (id < firstHostLink) {
      return id / template.links;
    }
    if (id < firstSipLink) {
      return (id - firstHostLink) / 2;
    }
    return network.owner(id - firstSipLink);
  }

  /** The node that a link leaves. */
  int from(int id) {
    if (id < firstHostLink) {
      return inSip(id / template.links, template.linkFrom(id % template.links));
    }
    if (id < firstSipLink) {
      int sip = (id - firstHostLink) / 2;
      return (id - firstHostLink) % 2 == 0 ? host : inSip(sip, template.io(Side.N));
    }
    int link = id - firstSipLink;
    int sip = network.fromSip(link);
    return sip < 0
        ? host + 1 + network.fromRelay(link)
        : inSip(sip, template.io(network.fromSide(link)));
  }

  /** The node that a link enters. */
  int to(int id) {
    if (id < firstHostLink) {
      return inSip(id / template.links, template.linkTo(id % template.links));
    }
    if (id < firstSipLink) {
      int sip = (id - firstHostLink) / 2;
      return (id - firstHostLink) % 2 == 0 ? inSip(sip, template.io(Side.N)) : host;
    }
    int link = id - firstSipLink;
    int sip = network.toSip(link);
    return sip < 0
        ? host + 1 + network.toRelay(link)
        : inSip(sip, template.io(network.toSide(link)));
  }

  private int inSip(int sip, int local) {
    return sip * template.nodes + local;
  }
}
