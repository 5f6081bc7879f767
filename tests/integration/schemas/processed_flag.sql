-- A flag and the state of the process that polls the table; text as payload; an enum type.
CREATE TYPE kind_of_entity AS ENUM ('customer', 'NAME');
CREATE TABLE outbox_messages (
  id           bigserial      PRIMARY KEY,
  entity_type  kind_of_entity NOT NULL,
  entity_id    bigint         NOT NULL,
  event_name   varchar(100)   NOT NULL,
  message      text           NOT NULL,
  processed    boolean        NOT NULL DEFAULT false,
  attempts     integer        NOT NULL DEFAULT 0,
  last_error   text,
  created_at   timestamptz    NOT NULL DEFAULT now()
);
-- event
INSERT INTO outbox_messages (entity_type, entity_id, event_name, message) VALUES ('NAME', 5, 'OrderPlaced', '<total/>');
UPDATE outbox_messages SET attempts = 1, processed = true;
