-- The time of the event, as domain-driven design names it; metadata.
CREATE SCHEMA sales;
CREATE TABLE sales.outbox_events (
  event_id     uuid      PRIMARY KEY,
  stream_type  text      NOT NULL,
  stream_id    text      NOT NULL,
  event_type   text      NOT NULL,
  data         jsonb     NOT NULL,
  metadata     jsonb     NOT NULL DEFAULT '{}',
  occurred_at  timestamp NOT NULL
);
-- event
INSERT INTO sales.outbox_events VALUES ('5c3d4b5e-0000-4000-8000-000000000004', 'NAME', 'order-4', 'OrderPlaced',
                                        '{"total": 5}', '{"user": 1}', '2026-01-01 00:00:00');
