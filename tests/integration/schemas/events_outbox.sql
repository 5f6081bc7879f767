-- No aggregate type; a mark of the time of dispatch.
CREATE TABLE events_outbox (
  id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  aggregate_id  uuid        NOT NULL,
  type          text        NOT NULL,
  payload       json        NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now(),
  dispatched_at timestamptz
);
CREATE INDEX ON events_outbox (id) WHERE dispatched_at IS NULL;
-- event
INSERT INTO events_outbox (aggregate_id, type, payload)
VALUES ('5c3d4b5e-0000-4000-8000-000000000003', 'OrderPlaced', '{"total": 5}');
