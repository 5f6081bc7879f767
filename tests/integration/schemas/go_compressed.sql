-- A payload that is compressed for some rows.
CREATE TABLE outbox_compressed (
  id           uuid    PRIMARY KEY,
  topic        text    NOT NULL,
  message_key  text    NOT NULL,
  payload      bytea   NOT NULL,
  compressed   boolean NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now()
);
-- event
INSERT INTO outbox_compressed VALUES ('5c3d4b5e-0000-4000-8000-000000000011', 'NAME', 'order-17', '\x1f8b08'::bytea, true);
