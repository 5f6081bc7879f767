-- Java, Axon Framework with the columns of an event as bytea.
CREATE TABLE domain_event_entry (
  global_index         bigint       NOT NULL PRIMARY KEY,
  aggregate_identifier varchar(255) NOT NULL,
  sequence_number      bigint       NOT NULL,
  type                 varchar(255),
  event_identifier     varchar(255) NOT NULL UNIQUE,
  meta_data            bytea,
  payload              bytea        NOT NULL,
  payload_revision     varchar(255),
  payload_type         varchar(255) NOT NULL,
  time_stamp           varchar(255) NOT NULL,
  UNIQUE (aggregate_identifier, sequence_number)
);
-- event
INSERT INTO domain_event_entry VALUES (1, 'order-14', 0, 'NAME', 'e-14', NULL, '\x00ff'::bytea, NULL, 'shop.OrderPlaced',
                                       '2026-01-01T00:00:00Z');
