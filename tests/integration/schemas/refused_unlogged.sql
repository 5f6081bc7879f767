CREATE UNLOGGED TABLE outbox (id uuid PRIMARY KEY, aggregate_type text, aggregate_id text, payload jsonb);
