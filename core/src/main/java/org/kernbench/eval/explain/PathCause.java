package org.kernbench.eval.explain;

/** What a step of a critical path went to; the word that reports use. */
enum PathCause {
  COMPUTE("compute"),
  SERIALISATION("serialisation"),
  LATENCY("latency"),
  DMA_SETUP("DMA setup"),
  TRANSLATION("address translation"),
  MESSAGE_OVERHEAD("message overhead"),
  SLOT_ACCESS("slot access"),
  CREDIT_RETURN("credit return"),
  COMMAND_ISSUE("command issue"),
  SLOT_HELD("slot held"),
  LOOK("look at data"),
  MEMORY("memory"),
  FLOW_CONTROL("flow control"),
  LAUNCH("launch"),
  HOST("host"),
  OTHER("other");

  final String text;

  PathCause(String text) {
    this.text = text;
  }
}
