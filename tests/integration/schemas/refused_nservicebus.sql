-- .NET, NServiceBus.Persistence.Sql: src/ScriptBuilder/Outbox/Create_PostgreSql.sql.
CREATE TABLE "OutboxData" (
  "MessageId"          varchar(200) PRIMARY KEY,
  "Dispatched"         boolean      NOT NULL DEFAULT false,
  "DispatchedAt"       timestamp,
  "PersistenceVersion" varchar(23),
  "Operations"         jsonb        NOT NULL
);
