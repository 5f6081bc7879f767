-- The names that walrelay's own setup uses.
CREATE TABLE outbox (
  id             uuid        PRIMARY KEY,
  aggregate_type text        NOT NULL,
  aggregate_id   text        NOT NULL,
  event_type     text        NOT NULL,
  payload        jsonb       NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now(),
  trace_id       text
);
-- event
INSERT INTO outbox VALUES ('5c3d4b5e-0000-4000-8000-000000000001', 'NAME', 'order-1', 'OrderPlaced', '{"total": 5}', now(), 't1');
