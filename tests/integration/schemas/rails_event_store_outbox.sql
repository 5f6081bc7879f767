-- Ruby on Rails, gem ruby_event_store-outbox: binary payload, the key may be NULL.
CREATE TABLE event_store_outbox (
  id          bigserial    PRIMARY KEY,
  split_key   varchar,
  format      varchar      NOT NULL,
  payload     bytea        NOT NULL,
  created_at  timestamp(6) NOT NULL,
  enqueued_at timestamp(6)
);
-- event
INSERT INTO event_store_outbox (split_key, format, payload, created_at)
VALUES ('order-9', 'sidekiq5', '\x7b7d'::bytea, now());
