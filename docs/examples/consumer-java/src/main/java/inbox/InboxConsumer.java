package inbox;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Applies each event of a topic exactly once: JDBC_URL, KAFKA and the argument TOPIC. */
public class InboxConsumer {
  private static final String TABLES =
      "CREATE TABLE IF NOT EXISTS inbox (id text PRIMARY KEY, received_at timestamptz NOT NULL DEFAULT now());"
          + "CREATE TABLE IF NOT EXISTS customer_totals (customer text PRIMARY KEY, total bigint NOT NULL)";

  private static final ObjectMapper JSON = new ObjectMapper();

  /** Whether this is the first time that the event is received. Waits for another consumer of the same event. */
  static boolean isNew(Connection database, String event) throws SQLException {
    try (var statement = database.prepareStatement("INSERT INTO inbox (id) VALUES (?) ON CONFLICT DO NOTHING")) {
      statement.setString(1, event);
      return statement.executeUpdate() == 1;
    }
  }

  /** What an event does: repeated, it would do harm. */
  static void apply(Connection database, String customer, long total) throws SQLException {
    try (var statement = database.prepareStatement(
        "INSERT INTO customer_totals VALUES (?, ?) ON CONFLICT (customer) "
            + "DO UPDATE SET total = customer_totals.total + excluded.total")) {
      statement.setString(1, customer);
      statement.setLong(2, total);
      statement.executeUpdate();
    }
  }

  /** One transaction: the id of the event and its effect. An exception ends the process, which rolls back. */
  static void handle(Connection database, ConsumerRecord<String, String> record) throws SQLException, IOException {
    String event = new String(record.headers().lastHeader("id").value(), StandardCharsets.UTF_8);
    if (isNew(database, event)) {
      apply(database, record.key(), JSON.readTree(record.value()).get("total").asLong());
    }
    database.commit();
  }

  /** Handles records until an error ends it. The next start repeats what was not committed to Kafka. */
  static void run(Consumer<String, String> consumer, Connection database) throws SQLException, IOException {
    while (true) {
      for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
        handle(database, record);
        consumer.commitSync(Map.of(
            new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1)));
      }
    }
  }

  static Map<String, Object> properties() {
    return Map.of(
        "bootstrap.servers", System.getenv("KAFKA"),
        "group.id", "customer-totals",
        "auto.offset.reset", "earliest",
        "enable.auto.commit", false,
        "isolation.level", "read_committed",  // the default, read_uncommitted, includes aborted transactions
        "session.timeout.ms", 6000,  // until another instance replaces one that was killed
        "key.deserializer", StringDeserializer.class,
        "value.deserializer", StringDeserializer.class);
  }

  static Connection connect() throws SQLException {
    Connection database = DriverManager.getConnection(System.getenv("JDBC_URL"));
    try (var statement = database.createStatement()) {
      statement.execute(TABLES);
    }
    database.setAutoCommit(false);
    return database;
  }

  public static void main(String[] arguments) throws Exception {
    try (Connection database = connect(); var consumer = new KafkaConsumer<String, String>(properties())) {
      consumer.subscribe(List.of(arguments[0]));
      run(consumer, database);
    }
  }
}
