-- An order and its event, in one transaction: psql -f insert.sql
CREATE TABLE IF NOT EXISTS orders (
  id       bigint  PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  customer text    NOT NULL,
  total    integer NOT NULL
);

BEGIN;
WITH placed AS (
  INSERT INTO orders (customer, total) VALUES ('customer-7', 4200) RETURNING id, customer, total
)
INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
SELECT 'order', customer, 'OrderPlaced', jsonb_build_object('order', id, 'customer', customer, 'total', total)
FROM placed;
COMMIT;
