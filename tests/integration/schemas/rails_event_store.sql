-- Ruby on Rails, gem ruby_event_store-active_record, data type jsonb.
CREATE TABLE event_store_events (
  id         bigserial    PRIMARY KEY,
  event_id   uuid         NOT NULL UNIQUE,
  event_type varchar      NOT NULL,
  metadata   jsonb,
  data       jsonb        NOT NULL,
  created_at timestamp(6) NOT NULL,
  valid_at   timestamp(6)
);
-- event
INSERT INTO event_store_events (event_id, event_type, metadata, data, created_at)
VALUES ('5c3d4b5e-0000-4000-8000-000000000008', 'OrderPlaced', '{"user": 1}', '{"total": 5}', now());
