import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;

/**
 * Says in which room of kernbench a process spent its time: {@code java scripts/RoomShares.java
 * FILE.jfr}. A sample counts for the room of its innermost kernbench frame, so time inside the JDK
 * belongs to the room that called it; samples without one (start of the JVM, compilers) are left
 * out. Started by {@code scripts/profile}.
 */
final class RoomShares {
  private static final String ROOT = "org.kernbench.";
  private static final int LINES = 12;

  private final Map<String, Integer> rooms = new HashMap<>();
  private final Map<String, Integer> classes = new HashMap<>();
  private int samples;

  private RoomShares() {}

  public static void main(String[] args) throws Exception {
    RoomShares shares = new RoomShares();
    try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
      while (file.hasMoreEvents()) {
        RecordedEvent event = file.readEvent();
        if (event.getEventType().getName().equals("jdk.ExecutionSample")
            && event.getStackTrace() != null) {
          shares.add(event);
        }
      }
    }
    System.out.printf(Locale.ROOT, "%,d samples in kernbench%n", shares.samples);
    shares.print("room", shares.rooms);
    shares.print("class", shares.classes);
  }

  private void add(RecordedEvent event) {
    for (RecordedFrame frame : event.getStackTrace().getFrames()) {
      String type = frame.getMethod().getType().getName();
      if (type.startsWith(ROOT)) {
        String inside = type.substring(ROOT.length());
        rooms.merge(inside.substring(0, Math.max(0, inside.indexOf('.'))), 1, Integer::sum);
        classes.merge(inside.replaceFirst("\\$.*", ""), 1, Integer::sum);
        samples++;
        return;
      }
    }
  }

  private void print(String what, Map<String, Integer> counts) {
    System.out.printf(Locale.ROOT, "%n  share  %s%n", what);
    counts.entrySet().stream()
        .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
        .limit(LINES)
        .forEach(e ->
            System.out.printf(
                Locale.ROOT, "%6.1f%%  %s%n", 100.0 * e.getValue() / samples, e.getKey()));
  }
}
