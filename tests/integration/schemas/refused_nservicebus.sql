-- .NET, NServiceBus.Persistence.Sql.
CREATE TABLE "OutboxData" (
  "MessageId"          varchar(200) PRIMARY KEY,
  "Dispatched"         boolean      NOT NULL DEFAULT false,
  "DispatchedAt"       timestamp,
  "PersistenceVersion" varchar(23)  NOT NULL,
  "Operations"         jsonb        NOT NULL
);
