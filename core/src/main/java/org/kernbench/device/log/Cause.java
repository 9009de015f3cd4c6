package org.kernbench.device.log;

/** What an operation waited for last before it started. */
public enum Cause {
  /** Nothing but the start of the kernel and the issue of the commands before it. */
  KERNEL_START("kernel start"),
  /** An operand that another operation produced. */
  OPERAND("operand"),
  /** The engine or channel it runs on. */
  ENGINE("engine busy"),
  /** A free slot in the receiver's ring. */
  CREDIT("credit"),
  /** A message that had not arrived. */
  MESSAGE("message"),
  /** An earlier load or store of the same bytes by the same program. */
  MEMORY_ORDER("memory order"),
  /** Room in TCM. */
  TCM_SPACE("TCM space"),
  /** A fence ({@code await}) in the program. */
  FENCE("await"),
  /** The program looked at a value or the clock before it issued the command. */
  LOOK("look at data"),
  /** The command window was full. */
  WINDOW("command window"),
  /** The PE issues serially and the command before was still running. */
  SERIAL_ISSUE("serial issue");

  private final String label;

  Cause(String label) {
    this.label = label;
  }

  /** The words a report uses. */
  public String label() {
    return label;
  }
}
