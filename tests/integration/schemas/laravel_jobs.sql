-- Laravel, the table of the database queue.
CREATE TABLE jobs (
  id           bigserial    PRIMARY KEY,
  queue        varchar(255) NOT NULL,
  payload      text         NOT NULL,
  attempts     smallint     NOT NULL,
  reserved_at  integer,
  available_at integer      NOT NULL,
  created_at   integer      NOT NULL
);
-- event
INSERT INTO jobs (queue, payload, attempts, available_at, created_at) VALUES ('NAME', '{"total": 5}', 0, 1, 1);
