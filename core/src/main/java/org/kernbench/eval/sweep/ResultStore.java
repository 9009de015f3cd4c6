package org.kernbench.eval.sweep;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.kernbench.config.FilesRead;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.output.OutputException;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/**
 * Rows of runs and sweeps in one SQLite file.
 *
 * <p>Each row is a transaction of its own, in a write-ahead log: a process that is killed at any
 * moment leaves every row that was put, whole, and no part of another. Several processes may write
 * to one file; a second row of one key is dropped, since equal keys mean equal rows. The tables are
 * part of the contract and described in {@code docs/results-store.md}. The log needs a local disk,
 * not a network file system.
 */
public final class ResultStore implements AutoCloseable {
  private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?");

  /** Version of the tables. */
  public static final int SCHEMA = 1;

  private static final int BUSY_MS = 30_000;
  private static final String TABLES =
      """
      CREATE TABLE IF NOT EXISTS result (
        key TEXT PRIMARY KEY,        -- hash of all that decides the result
        bench TEXT NOT NULL,
        machine TEXT NOT NULL,
        machine_hash TEXT NOT NULL,
        mode TEXT NOT NULL,
        params TEXT NOT NULL,        -- JSON object
        status TEXT NOT NULL,
        correct INTEGER,             -- 1, 0, or NULL if no values were compared
        max_abs_err REAL,
        crit_ns REAL,
        bound_ns REAL,
        bound_kind TEXT,
        efficiency REAL,
        crit_ps INTEGER,             -- the same times, exact
        bound_ps INTEGER,
        metrics TEXT NOT NULL,       -- JSON object
        op_log_hash TEXT NOT NULL,
        problems TEXT NOT NULL,
        wall_ms REAL NOT NULL,
        kernbench TEXT NOT NULL
      ) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS sweep (
        id TEXT PRIMARY KEY,
        bench TEXT NOT NULL,
        axes TEXT NOT NULL,          -- JSON array of names
        points INTEGER NOT NULL,
        kernbench TEXT NOT NULL
      ) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS point (
        sweep TEXT NOT NULL,
        idx INTEGER NOT NULL,        -- place in the grid, from 0
        key TEXT NOT NULL,
        choice TEXT NOT NULL,        -- JSON object: axis to value
        PRIMARY KEY (sweep, idx)
      ) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS input (
        key TEXT NOT NULL,           -- of a row
        file TEXT NOT NULL,          -- that its run read, absolute
        content TEXT NOT NULL,       -- hash of what it said; none: it was not there
        PRIMARY KEY (key, file)
      ) WITHOUT ROWID;
      """;

  private final Path file;
  private final Connection connection;
  private final PreparedStatement insert;

  private ResultStore(Path file, Connection connection) throws SQLException {
    this.file = file;
    this.connection = connection;
    this.insert =
        connection.prepareStatement(
            "INSERT OR REPLACE INTO result VALUES (" + "?,".repeat(19) + "?)");
  }

  /**
   * Opens a file, or makes it.
   *
   * @throws OutputException if it cannot be opened or written, or is something else
   */
  public static ResultStore open(Path file) {
    SQLiteConfig config = new SQLiteConfig();
    config.setJournalMode(SQLiteConfig.JournalMode.WAL);
    config.setSynchronous(SQLiteConfig.SynchronousMode.NORMAL);
    config.setBusyTimeout(BUSY_MS);
    try {
      Connection connection = config.createConnection(url(file));
      try (Statement s = connection.createStatement()) {
        int version;
        try (ResultSet r = s.executeQuery("PRAGMA user_version")) {
          version = r.getInt(1);
        }
        if (version > SCHEMA) {
          connection.close();
          throw new OutputException(
              """
              %s: was written by a later kernbench (tables of version %s); expected %s or \
              older: use that kernbench, or another file\
              """
                  .formatted(file, version, SCHEMA));
        }
        for (String each : TABLES.split(";\\s*\\n")) {
          if (!each.isBlank()) {
            s.executeUpdate(each);
          }
        }
        s.executeUpdate("PRAGMA user_version=" + SCHEMA);
      }
      return new ResultStore(file, connection);
    } catch (SQLException e) {
      throw failure(file, "open", e);
    } catch (UnsatisfiedLinkError | NoClassDefFoundError e) {
      throw new OutputException(
          file + ": this system has no SQLite library for kernbench: " + e.getMessage(), e);
    }
  }

  /**
   * The address of a file. A bare name would be taken for an address if it begins with {@code
   * file:} or {@code :memory:}, and what follows a question mark for options: so the path is
   * absolute, and every sign that could mean something is escaped.
   */
  private static String url(Path file) {
    StringBuilder url = new StringBuilder("jdbc:sqlite:file:");
    for (byte b : file.toAbsolutePath().toString().getBytes(StandardCharsets.UTF_8)) {
      boolean plain = b == '/' || b == '.' || b == '-' || b == '_' || Character.isLetterOrDigit(b);
      url.append(
          plain && b > 0 ? String.valueOf((char) b) : String.format(Locale.ROOT, "%%%02X", b));
    }
    return url.toString();
  }

  /** Where it is. */
  public Path file() {
    return file;
  }

  /** Keys that have a row. */
  public Set<String> keys() {
    Set<String> keys = new LinkedHashSet<>();
    try (Statement s = connection.createStatement();
        ResultSet r = s.executeQuery("SELECT key FROM result ORDER BY key")) {
      while (r.next()) {
        keys.add(r.getString(1));
      }
    } catch (SQLException e) {
      throw failure(file, "read", e);
    }
    return keys;
  }

  /**
   * Keys that have a row which a run would give again: every file that it read says what it said
   * then, and those that it looked for in vain are still not there.
   */
  public Set<String> validKeys() {
    Set<String> keys = keys();
    Map<String, String> now = new LinkedHashMap<>();
    try (Statement s = connection.createStatement();
        ResultSet r = s.executeQuery("SELECT key, file, content FROM input")) {
      while (r.next()) {
        String content =
            now.computeIfAbsent(r.getString(2), file -> FilesRead.contentOf(Path.of(file)));
        if (!content.equals(r.getString(3))) {
          keys.remove(r.getString(1));
        }
      }
    } catch (SQLException e) {
      throw failure(file, "read", e);
    }
    return keys;
  }

  /** Notes a sweep and its points; again without effect. */
  public synchronized void plan(Sweep sweep, List<Sweep.Point> points) {
    String id = sweep.id();
    List<String> names = sweep.axes().stream().map(Sweep.Axis::name).toList();
    try {
      connection.setAutoCommit(false);
      try (PreparedStatement s =
              connection.prepareStatement("INSERT OR IGNORE INTO sweep VALUES (?,?,?,?,?)");
          PreparedStatement p =
              connection.prepareStatement("INSERT OR IGNORE INTO point VALUES (?,?,?,?)")) {
        s.setString(1, id);
        s.setString(2, sweep.bench().name());
        s.setString(3, Json.compact(names));
        s.setInt(4, points.size());
        s.setString(5, sweep.version());
        s.executeUpdate();
        for (Sweep.Point point : points) {
          Map<String, Object> choice = new LinkedHashMap<>();
          for (int a = 0; a < names.size(); a++) {
            choice.put(names.get(a), point.values().get(a));
          }
          p.setString(1, id);
          p.setInt(2, point.index());
          p.setString(3, point.key());
          p.setString(4, Json.compact(choice));
          p.addBatch();
        }
        p.executeBatch();
        connection.commit();
      } finally {
        connection.rollback();
        connection.setAutoCommit(true);
      }
    } catch (SQLException e) {
      throw failure(file, "write", e);
    }
  }

  /**
   * Puts a row, at once and for good, in place of one with its key.
   *
   * @throws OutputException if it cannot be written; rows put before are whole
   */
  public synchronized void put(SweepRow row, String version) {
    try {
      connection.setAutoCommit(false);
      putFiles(row);
      putRow(row, version);
      connection.commit();
      connection.setAutoCommit(true);
    } catch (SQLException e) {
      undo();
      throw failure(file, "write", e);
    }
  }

  private void undo() {
    try {
      connection.rollback();
    } catch (SQLException e) {
      // it was undone by SQLite itself, as when the disk is full
    }
    try {
      connection.setAutoCommit(true);
    } catch (SQLException e) {
      // the store cannot be used any more, which the next call says
    }
  }

  private void putFiles(SweepRow row) throws SQLException {
    try (PreparedStatement old = connection.prepareStatement("DELETE FROM input WHERE key = ?");
        PreparedStatement s = connection.prepareStatement("INSERT INTO input VALUES (?,?,?)")) {
      old.setString(1, row.key());
      old.executeUpdate();
      for (Map.Entry<String, String> each : row.files().entrySet()) {
        s.setString(1, row.key());
        s.setString(2, each.getKey());
        s.setString(3, each.getValue());
        s.executeUpdate();
      }
    }
  }

  private void putRow(SweepRow row, String version) throws SQLException {
    int c = 1;
    insert.setString(c++, row.key());
    insert.setString(c++, row.bench());
    insert.setString(c++, row.machine());
    insert.setString(c++, row.machineHash());
    insert.setString(c++, row.mode());
    insert.setString(c++, row.params());
    insert.setString(c++, row.status());
    if (row.correct().isEmpty()) {
      insert.setNull(c++, Types.INTEGER);
      insert.setNull(c++, Types.REAL);
    } else {
      insert.setInt(c++, Boolean.parseBoolean(row.correct()) ? 1 : 0);
      insert.setDouble(c++, Double.parseDouble(row.maxAbsError()));
    }
    if (row.critPs() == 0) {
      for (int i = 0; i < 6; i++) {
        insert.setNull(c++, Types.REAL);
      }
    } else {
      insert.setDouble(c++, row.critPs() / 1e3);
      insert.setDouble(c++, row.boundPs() / 1e3);
      insert.setString(c++, row.boundKind());
      insert.setDouble(c++, (double) row.boundPs() / row.critPs());
      insert.setLong(c++, row.critPs());
      insert.setLong(c++, row.boundPs());
    }
    insert.setString(c++, row.metrics());
    insert.setString(c++, row.opLogHash());
    insert.setString(c++, row.problems());
    insert.setDouble(c++, row.wallMs());
    insert.setString(c++, version);
    insert.executeUpdate();
  }

  /**
   * The rows of a sweep that are there, in the order of its grid, each as ordered columns: the
   * axes, then what is the same for every bench, then the other parameters and conditions of the
   * bench, such as {@code ranks}, and its metrics.
   *
   * @param sweep its {@link Sweep#id}
   */
  public List<Map<String, Object>> rows(String sweep) {
    String query =
        """
        SELECT p.idx, p.choice, r.* FROM point p JOIN result r USING (key)
        WHERE p.sweep = ? ORDER BY p.idx
        """;
    List<Map<String, Object>> rows = new ArrayList<>();
    Set<String> metricNames = new LinkedHashSet<>();
    List<Map<String, String>> metrics = new ArrayList<>();
    try (PreparedStatement s = connection.prepareStatement(query)) {
      s.setString(1, sweep);
      try (ResultSet r = s.executeQuery()) {
        while (r.next()) {
          Map<String, Object> row = new LinkedHashMap<>();
          pairs(r.getString("choice")).forEach((axis, chosen) -> row.put(axis, value(chosen)));
          row.put("status", r.getString("status"));
          int correct = r.getInt("correct");
          row.put("correct", r.wasNull() ? "" : correct == 1);
          double error = r.getDouble("max_abs_err");
          row.put("max_abs_err", r.wasNull() ? "" : error);
          long crit = r.getLong("crit_ps");
          long bound = r.getLong("bound_ps");
          boolean timed = crit > 0;
          row.put("crit_ns", timed ? Numbers.ns(crit) : "");
          row.put("bound_ns", timed ? Numbers.ns(bound) : "");
          row.put("bound_kind", timed ? r.getString("bound_kind") : "");
          row.put("efficiency", timed ? Numbers.ratio(bound, crit) : "");
          row.put("machine", r.getString("machine"));
          row.put("machine_hash", r.getString("machine_hash"));
          row.put("op_log_hash", r.getString("op_log_hash"));
          row.put("key", r.getString("key"));
          row.put("problems", r.getString("problems"));
          rows.add(row);
          Map<String, String> own = pairs(r.getString("params"));
          own.putAll(pairs(r.getString("metrics")));
          own.keySet().removeAll(row.keySet());
          metricNames.addAll(own.keySet());
          metrics.add(own);
        }
      }
    } catch (SQLException e) {
      throw failure(file, "read", e);
    }
    for (int i = 0; i < rows.size(); i++) {
      for (String name : metricNames) {
        rows.get(i).put(name, value(metrics.get(i).getOrDefault(name, "")));
      }
    }
    return rows;
  }

  /** A number as one, and as it was written; anything else, and {@code 007}, as text. */
  private static Object value(String text) {
    return NUMBER.matcher(text).matches() ? new BigDecimal(text) : text;
  }

  /** The members of a flat JSON object, by SQLite's own parser; numbers digit by digit. */
  private Map<String, String> pairs(String json) throws SQLException {
    Map<String, String> pairs = new LinkedHashMap<>();
    try (PreparedStatement s =
        connection.prepareStatement(
            """
            SELECT key, CASE type WHEN 'text' THEN value ELSE ?1 -> key END FROM json_each(?1) \
            ORDER BY id\
            """)) {
      s.setString(1, json);
      try (ResultSet r = s.executeQuery()) {
        while (r.next()) {
          pairs.put(r.getString(1), r.getString(2));
        }
      }
    }
    return pairs;
  }

  /** Lets the file shrink to one and be moved: the log is folded in. */
  @Override
  public void close() {
    try {
      insert.close();
      connection.close();
    } catch (SQLException e) {
      throw failure(file, "close", e);
    }
  }

  /** SQLite's own check of the whole file: {@code ok}, or what is damaged. */
  public String check() {
    try (Statement s = connection.createStatement();
        ResultSet r = s.executeQuery("PRAGMA integrity_check")) {
      return r.getString(1);
    } catch (SQLException e) {
      throw failure(file, "check", e);
    }
  }

  /** For tests: how many pages the file may have, as if the disk ended there. */
  void limitPages(int pages) throws SQLException {
    try (Statement s = connection.createStatement()) {
      s.execute("PRAGMA max_page_count=" + pages);
    }
  }

  private static OutputException failure(Path file, String what, SQLException e) {
    SQLiteErrorCode code =
        e instanceof SQLiteException s ? s.getResultCode() : SQLiteErrorCode.UNKNOWN_ERROR;
    String reason =
        switch (code) {
          case SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE ->
              "the disk is full; rows written before are whole: make room, then use --resume";
          case SQLITE_READONLY, SQLITE_READONLY_DIRECTORY, SQLITE_PERM ->
              "it may only be read; name a directory that you can write to";
          case SQLITE_CANTOPEN ->
              Files.isDirectory(file)
                  ? "it is a directory; expected a file name"
                  : "it cannot be made there; name a directory that you can write to";
          case SQLITE_NOTADB -> "it is no SQLite file; remove it or name another directory";
          case SQLITE_CORRUPT -> "it is damaged; remove it or name another directory";
          case SQLITE_BUSY, SQLITE_LOCKED ->
              "another process has kept it locked for " + BUSY_MS / 1000 + " s; try again later";
          default -> String.valueOf(e.getMessage());
        };
    return new OutputException("cannot " + what + " " + file + ": " + reason, e);
  }
}
