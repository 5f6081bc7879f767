package shop;

import javax.sql.DataSource;

import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

/** Places an order: JDBC_URL=jdbc:postgresql://… and the arguments CUSTOMER TOTAL. */
public class PlaceOrder {
  static class Orders {
    private final JdbcTemplate database;

    Orders(JdbcTemplate database) {
      this.database = database;
    }

    /** Inserts an order and its event in one transaction, and returns the number of the order. */
    @Transactional
    public long place(String customer, int total) {
      Long order = database.queryForObject(
          "INSERT INTO orders (customer, total) VALUES (?, ?) RETURNING id", Long.class, customer, total);
      database.update(
          "INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload) "
              + "VALUES ('order', ?, 'OrderPlaced', "
              + "jsonb_build_object('order', ?::bigint, 'customer', ?::text, 'total', ?::integer))",
          customer, order, customer, total);
      return order;
    }
  }

  /** In Spring Boot, the starter for JDBC declares all but the last of these. */
  @Configuration
  @EnableTransactionManagement(proxyTargetClass = true)
  static class Application {
    @Bean
    DataSource dataSource() {
      return new DriverManagerDataSource(System.getenv("JDBC_URL"));
    }

    @Bean
    JdbcTransactionManager transactionManager(DataSource dataSource) {
      return new JdbcTransactionManager(dataSource);
    }

    @Bean
    JdbcTemplate jdbcTemplate(DataSource dataSource) {
      return new JdbcTemplate(dataSource);
    }

    @Bean
    Orders orders(JdbcTemplate jdbcTemplate) {
      return new Orders(jdbcTemplate);
    }
  }

  public static void main(String[] arguments) {
    try (var application = new AnnotationConfigApplicationContext(Application.class)) {
      System.out.println(application.getBean(Orders.class).place(arguments[0], Integer.parseInt(arguments[1])));
    }
  }
}
