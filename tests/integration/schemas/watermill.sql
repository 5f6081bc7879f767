-- Go, watermill-sql: a table per topic.
CREATE TABLE watermill_orders (
  "offset"         bigserial,
  "uuid"           varchar(36) NOT NULL,
  "created_at"     timestamp   NOT NULL DEFAULT current_timestamp,
  "payload"        json        DEFAULT NULL,
  "metadata"       json        DEFAULT NULL,
  "transaction_id" xid8        NOT NULL,
  PRIMARY KEY ("transaction_id", "offset")
);
-- event
INSERT INTO watermill_orders (uuid, payload, metadata, transaction_id)
VALUES ('u-13', '{"total": 5}', '{}', pg_current_xact_id());
