CREATE VIEW outbox AS SELECT 1 AS id, 'a' AS aggregate_type, 'b' AS aggregate_id, '{}'::jsonb AS payload;
