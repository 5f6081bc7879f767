-- Ruby on Rails, gem outboxer.
CREATE TABLE outboxer_messages (
  id               bigserial    PRIMARY KEY,
  status           varchar(255) NOT NULL,
  messageable_id   varchar(255) NOT NULL,
  messageable_type varchar(255) NOT NULL,
  updated_at       timestamp(6) NOT NULL,
  queued_at        timestamp(6) NOT NULL,
  published_at     timestamp(6)
);
