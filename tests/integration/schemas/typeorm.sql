-- TypeScript, TypeORM or Prisma: names in camel case, a partitioned table.
CREATE TABLE "OutboxEvent" (
  "id"            uuid         NOT NULL,
  "aggregateType" text         NOT NULL,
  "aggregateId"   text         NOT NULL,
  "eventType"     text         NOT NULL,
  "payload"       jsonb        NOT NULL,
  "traceParent"   text,
  "createdAt"     timestamptz(3) NOT NULL DEFAULT current_timestamp,
  "publishedAt"   timestamptz(3),
  PRIMARY KEY ("id", "createdAt")
) PARTITION BY RANGE ("createdAt");
CREATE TABLE "OutboxEvent_default" PARTITION OF "OutboxEvent" DEFAULT;
-- event
INSERT INTO "OutboxEvent" VALUES ('5c3d4b5e-0000-4000-8000-000000000010', 'NAME', 'order-16', 'OrderPlaced', '{"total": 5}',
                                  '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01');
