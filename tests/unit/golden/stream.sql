-- What every stream in this folder holds, in this order. events.txt is what must come of it.
--
-- Run by tests/lib/walrelay_test/record_golden.py between the creation of the slots and their reading; every
-- COMMIT (or single statement) is one transaction of the stream. \gset keeps results off the output.

-- One transaction: several aggregate types, two outbox tables, a table that is none.
BEGIN;
INSERT INTO outbox VALUES
  (event_id(1), 'order', 'order-1', 'OrderPlaced', '{"total": 1.10}', '2026-11-20 08:14:02.000123+00', 'low'),
  (event_id(2), 'customer', 'c-7', 'CustomerMoved', '{"b": 1, "a": "é😀"}', '2026-11-20 09:14:02+01', 'high'),
  (event_id(3), 'order', 'order-2', 'OrderPlaced', '[]', '1970-01-01 00:00:00+00', NULL);
INSERT INTO other VALUES (1, 'never an event');
INSERT INTO billing.events VALUES (1795162442123, '\x00ff0a5c78', 'Paid', 70001, 'invoice', 9007199254740993);
COMMIT;

-- A part of a transaction is rolled back, then a whole one.
BEGIN;
INSERT INTO outbox VALUES (event_id(4), 'order', 'order-3', 'OrderPlaced', '4', '2026-11-20 10:00:00+00');
SAVEPOINT here;
INSERT INTO outbox VALUES (event_id(5), 'order', 'order-3', 'RolledBack', '5', '2026-11-20 10:00:01+00');
ROLLBACK TO here;
INSERT INTO outbox VALUES (event_id(6), 'order', 'order-3', 'OrderPaid', '6', '2026-11-20 10:00:02+00');
COMMIT;
BEGIN;
INSERT INTO outbox VALUES (event_id(7), 'order', 'order-3', 'RolledBack', '7', '2026-11-20 10:00:03+00');
ROLLBACK;

COPY outbox (id, aggregate_type, aggregate_id, event_type, payload, created_at) FROM stdin;
00000000-0000-0000-0000-000000000008	order	order-4	Copied	{}	2026-11-20 11:00:00+00
00000000-0000-0000-0000-000000000009	order	order-4	Copied	\N	2026-11-20 11:00:01+00
\.

-- The usual clean-up: the row is gone before anybody saw it, the event is not.
BEGIN;
INSERT INTO outbox VALUES (event_id(10), 'order', 'order-5', 'Brief', '10', '2026-11-20 12:00:00+00');
DELETE FROM outbox WHERE id = event_id(10);
COMMIT;

-- NULL is not empty: header, value, key, topic, time.
INSERT INTO outbox VALUES (event_id(11), 'order', 'order-6', NULL, NULL, NULL);
INSERT INTO outbox VALUES (event_id(12), '', '', '', '""', '2026-11-20 13:00:00+00');
INSERT INTO outbox VALUES (event_id(13), NULL, 'order-6', 'NoType', '13', '2026-11-20 13:00:01+00');
INSERT INTO outbox VALUES (event_id(14), 'order', NULL, 'NoKey', '14', '2026-11-20 13:00:02+00');
INSERT INTO billing.events VALUES (0, '', 'Empty', -1, 'invoice', -9223372036854775808);
INSERT INTO billing.events VALUES (NULL, NULL, NULL, 2147483647, 'invoice', NULL);
INSERT INTO billing.events VALUES (-1, '\x31', 'BeforeTime', 5, 'invoice', 5);

-- Updates: a large value that did not change is not sent again; a changed key brings the old one.
INSERT INTO outbox VALUES (event_id(15), 'order', 'order-7', 'Large', '15', '2026-11-20 14:00:00+00', 'low',
                           repeat('x', 2100));
UPDATE outbox SET event_type = 'Changed' WHERE id = event_id(15);
UPDATE outbox SET id = event_id(16) WHERE id = event_id(15);
UPDATE billing.events SET type = 'Changed' WHERE id = 5;

-- Deletes: of the row's key, and of the whole row (replica identity full).
DELETE FROM outbox WHERE id = event_id(16);
DELETE FROM billing.events WHERE id = 5;

-- A transaction that came from elsewhere, as a subscription would apply it.
SELECT pg_replication_origin_create('elsewhere') \gset
SELECT pg_replication_origin_session_setup('elsewhere') \gset
BEGIN;
SELECT pg_replication_origin_xact_setup('0/ABCDEF', '2026-11-20 15:00:00+00') \gset
INSERT INTO outbox VALUES (event_id(17), 'order', 'order-8', 'Applied', '17', NULL);
COMMIT;
SELECT pg_replication_origin_session_reset() \gset

-- Messages: one inside a transaction, one that belongs to none.
BEGIN;
SELECT pg_logical_emit_message(true, 'note', 'inside') \gset
INSERT INTO outbox VALUES (event_id(18), 'order', 'order-9', 'WithNote', '18', '2026-11-20 16:00:00+00');
SELECT pg_logical_emit_message(false, 'note', 'outside') \gset
COMMIT;

-- The table changes between two rows, also within a transaction.
BEGIN;
INSERT INTO outbox VALUES (event_id(19), 'order', 'order-10', 'Before', '19', '2026-11-20 17:00:00+00');
ALTER TABLE outbox ADD COLUMN trace_id text;
INSERT INTO outbox VALUES (event_id(20), 'order', 'order-10', 'After', '20', '2026-11-20 17:00:01+00',
                           NULL, NULL, '00-4bf9-01');
COMMIT;
ALTER TABLE outbox DROP COLUMN urgency;
INSERT INTO outbox VALUES (event_id(21), 'order', 'order-10', 'Dropped', '21', '2026-11-20 17:00:02+00',
                           NULL, NULL);

-- Another name, the same table; then another table under the same name.
ALTER TABLE billing.events RENAME TO invoices;
INSERT INTO billing.invoices VALUES (1795165200000, '\x', 'Renamed', 22, 'invoice', 22);
TRUNCATE outbox, billing.invoices RESTART IDENTITY;
DROP TABLE outbox;
CREATE TABLE outbox (payload text, aggregate_id uuid PRIMARY KEY, aggregate_type text, id int, created_at timestamp);
ALTER PUBLICATION golden ADD TABLE outbox;
INSERT INTO outbox VALUES ('made again', event_id(23), 'order', 23, '2026-11-20 18:00:00.5');
