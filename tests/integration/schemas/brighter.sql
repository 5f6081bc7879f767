-- .NET, Paramore.Brighter.Outbox.PostgreSql 10.
CREATE TABLE outboxmessages (
  id            bigserial    PRIMARY KEY,
  messageid     varchar(255) UNIQUE NOT NULL,
  topic         varchar(255),
  messagetype   varchar(32),
  timestamp     timestamptz,
  correlationid varchar(255),
  replyto       varchar(255),
  contenttype   varchar(128),
  partitionkey  varchar(128),
  workflowid    varchar(255),
  jobid         varchar(255),
  dispatched    timestamptz,
  headerbag     text,
  body          text,
  source        varchar(255),
  type          varchar(255),
  dataschema    varchar(255),
  subject       varchar(255),
  traceparent   varchar(255),
  tracestate    varchar(255),
  baggage       text
);
-- event
INSERT INTO outboxmessages (messageid, topic, messagetype, partitionkey, body, headerbag)
VALUES ('m-12', 'NAME', 'MT_EVENT', 'order-12', '{"total": 5}', '{}');
