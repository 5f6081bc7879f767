-- The names of Debezium's EventRouter.
CREATE TABLE outboxevent (
  id            uuid         PRIMARY KEY,
  aggregatetype varchar(255) NOT NULL,
  aggregateid   varchar(255) NOT NULL,
  type          varchar(255) NOT NULL,
  payload       jsonb
);
-- event
INSERT INTO outboxevent VALUES ('5c3d4b5e-0000-4000-8000-000000000002', 'NAME', 'order-2', 'OrderPlaced', '{"total": 5}');
