-- The tables of the recorded streams, made before the slots.
CREATE SCHEMA billing;
CREATE TYPE priority AS ENUM ('low', 'high');
CREATE DOMAIN document AS bytea;
CREATE FUNCTION event_id(number int) RETURNS uuid LANGUAGE sql IMMUTABLE AS
  $$ SELECT lpad(number::text, 32, '0')::uuid $$;

CREATE TABLE outbox (
  id uuid PRIMARY KEY,
  aggregate_type text,
  aggregate_id text,
  event_type varchar(40),
  payload jsonb,
  created_at timestamptz,
  urgency priority,
  notes text);
ALTER TABLE outbox ALTER COLUMN notes SET STORAGE EXTERNAL;

-- Debezium's names, in another order.
CREATE TABLE billing.events (
  created_at bigint,
  payload document,
  type varchar,
  aggregateid int,
  aggregatetype varchar(20),
  id bigint);
ALTER TABLE billing.events REPLICA IDENTITY FULL;

CREATE TABLE other (id int PRIMARY KEY, note text);

CREATE PUBLICATION golden FOR TABLE outbox, billing.events, other;
