package org.kernbench.machine.astra;

import org.kernbench.config.ConfigMap;
import org.kernbench.config.Position;

/**
 * What became of one key.
 *
 * @param file that it stands in or is missing from; empty for what no file says
 * @param line that it stands in; 0 for a key that is missing
 * @param key as the file has it
 * @param kind how it is with it
 * @param what in words
 */
public record ImportedKey(String file, int line, String key, Kind kind, String what) {

  /** How it is with a key. */
  public enum Kind {
    /** Said in the machine or in {@code ccl.yaml}. */
    TAKEN,
    /** Says nothing that results depend on. */
    IDLE,
    /** Cannot be said here; results differ where it counts. */
    DIFFERENT,
    /** Nobody knows it. */
    UNKNOWN
  }

  static ImportedKey taken(ConfigMap map, String key, String what) {
    return of(map, key, Kind.TAKEN, what);
  }

  static ImportedKey idle(ConfigMap map, String key, String what) {
    return of(map, key, Kind.IDLE, what);
  }

  static ImportedKey different(ConfigMap map, String key, String what) {
    return of(map, key, Kind.DIFFERENT, what);
  }

  static ImportedKey unknown(ConfigMap map, String key, String hint) {
    return of(map, key, Kind.UNKNOWN, "unknown key" + hint + ", left out");
  }

  static ImportedKey missing(ConfigMap map, String key, String what) {
    return new ImportedKey(map.at(key).file(), 0, key, Kind.TAKEN, "missing: " + what);
  }

  /** Something that no key alone says, and that differs. */
  static ImportedKey note(String about, String what) {
    return new ImportedKey("", 0, about, Kind.DIFFERENT, what);
  }

  private static ImportedKey of(ConfigMap map, String key, Kind kind, String what) {
    Position at = map.at(key);
    return new ImportedKey(at.file(), at.line(), key, kind, what);
  }
}
