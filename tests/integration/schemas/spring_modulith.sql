-- Spring Modulith 1.x, spring-modulith-events-jdbc.
CREATE TABLE event_publication (
  id               uuid                     NOT NULL,
  listener_id      text                     NOT NULL,
  event_type       text                     NOT NULL,
  serialized_event text                     NOT NULL,
  publication_date timestamp with time zone NOT NULL,
  completion_date  timestamp with time zone,
  PRIMARY KEY (id)
);
CREATE INDEX event_publication_serialized_event_hash_idx ON event_publication USING hash (serialized_event);
CREATE INDEX event_publication_by_completion_date_idx ON event_publication (completion_date);
-- event
INSERT INTO event_publication VALUES ('5c3d4b5e-0000-4000-8000-000000000006', 'shop.Listener.on', 'shop.OrderPlaced',
                                      '{"total": 5}', now(), NULL);
