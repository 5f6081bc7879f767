-- Ruby on Rails, gem active_outbox.
CREATE TABLE outboxes (
  id                   bigserial PRIMARY KEY,
  identifier           uuid      NOT NULL UNIQUE,
  event                varchar   NOT NULL,
  payload              jsonb,
  aggregate            varchar   NOT NULL,
  aggregate_identifier uuid      NOT NULL,
  created_at           timestamp(6) NOT NULL,
  updated_at           timestamp(6) NOT NULL
);
-- event
INSERT INTO outboxes (identifier, event, payload, aggregate, aggregate_identifier, created_at, updated_at)
VALUES ('5c3d4b5e-0000-4000-8000-000000000007', 'ORDER_CREATED', '{"total": 5}', 'NAME',
        '5c3d4b5e-0000-4000-8000-0000000000aa', now(), now());
