package org.kernbench.chakra;

/** What writers of traces do differently, and what is made of it. */
public enum Repair {
  /** See the text; likewise all others. */
  ID_ABSENT("a node without an id: proto3 leaves 0 out, so it is 0"),
  INTEGER_KIND("an integer of another kind than the usual one: taken as the number it is"),
  NUMBER_AS_TEXT("a number written as text: read as a number"),
  EMPTY_ATTRIBUTE("an attribute without a value: proto3 leaves zeros out, so it is 0"),
  NO_DURATION("a computation of 0 us: times are whole microseconds, so it takes no time here"),
  HOST_NOT_SAID("is_cpu_op is not said: taken as work of the device"),
  HOST_WORK("work of the host's processor: keeps its place in the order, takes no time"),
  WORLD_GROUP("no process group, or \"\" or \"0\": all ranks"),
  SIZE_ABSENT("no comm_size: tensor_size is taken, or 0"),
  ROOT_ABSENT("no root of a collective that has one: the first rank of its group"),
  PEER_ABSENT("a message that does not say which rank it is on: the rank of its file"),
  DEPENDENCY_ABSENT("a dependency on a node that is not in the file: left out"),
  INVALID_TYPE("a node of type INVALID: keeps its place in the order, takes no time"),
  STORAGE_TYPE("STORAGE, BATCH and CHECKPOINT nodes: keep their place in the order, take no time"),
  VERSION("a schema version that is not known"),
  UNKNOWN_ATTRIBUTE("an attribute that means nothing here: passed over"),
  UNKNOWN_FIELD("a field that the schema does not have: passed over"),
  STREAM_ORDER("device work of one stream: done in the order of its recorded starts"),
  ALL_DIMENSIONS("involved_dim names all dimensions: all ranks of the group");

  private final String text;

  Repair(String text) {
    this.text = text;
  }

  /** What was found, and what was made of it. */
  public String text() {
    return text;
  }
}
