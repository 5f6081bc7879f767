-- Java, Eventuate Tram.
CREATE SCHEMA eventuate;
CREATE TABLE eventuate.message (
  id            varchar(1000) PRIMARY KEY,
  destination   text NOT NULL,
  headers       text NOT NULL,
  payload       text NOT NULL,
  published     smallint DEFAULT 0,
  creation_time bigint
);
-- event
INSERT INTO eventuate.message VALUES ('m-15', 'NAME', '{"PARTITION_ID": "1"}', '{"total": 5}', 0, 1);
