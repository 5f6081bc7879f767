#include "outbox/known_tables.h"

#include <algorithm>
#include <string>

#include "outbox/column_names.h"

namespace walrelay {
namespace {

// Source: the SQL that each library ships for Postgres.
constexpr std::string_view kModulith[] = {"listenerid", "eventtype", "serializedevent",
                                          "publicationdate"};
constexpr std::string_view kCap[] = {"name", "content", "statusname", "expiresat"};
constexpr std::string_view kMassTransit[] = {"sequencenumber", "messageid", "body", "outboxid",
                                             "enqueuetime"};
constexpr std::string_view kNServiceBus[] = {"messageid", "dispatched", "operations"};
constexpr std::string_view kWolverine[] = {"ownerid", "destination", "body", "messagetype"};
constexpr std::string_view kEventuate[] = {"destination", "headers", "payload", "published",
                                           "creationtime"};
constexpr std::string_view kWatermill[] = {"offset", "uuid", "payload", "metadata",
                                           "transactionid"};
constexpr std::string_view kLaravelJobs[] = {"queue", "payload", "attempts", "reservedat",
                                             "availableat"};
constexpr std::string_view kOutboxer[] = {"messageableid", "messageabletype", "status"};
constexpr std::string_view kAxon[] = {"globalindex", "aggregateidentifier", "sequencenumber",
                                      "payloadtype", "payload"};
constexpr std::string_view kRailsEventStore[] = {"eventid", "eventtype", "data", "metadata",
                                                 "validat"};

constexpr KnownTable kTables[] = {
    {"Spring Modulith", kModulith, false,
     "There is one row per event and listener: an event with several listeners is published "
     "several times. Rows have no aggregate id. If Modulith externalizes events itself, switch "
     "that "
     "off, or they are published twice.",
     "", true},
    {"CAP (.NET)", kCap, false,
     "The column Content wraps the message: {\"Headers\": ..., \"Value\": ...}. Stop CAP's own "
     "sender, or every message is published twice.",
     "name"},
    {"MassTransit", kMassTransit, false,
     "Do not start MassTransit's delivery service (UseBusOutbox with DisableDeliveryService), "
     "which deletes and publishes the same rows. Body is the message as MassTransit serializes "
     "it."},
    {"NServiceBus", kNServiceBus, true,
     "a row is not an event: Operations holds a batch of messages in a form of NServiceBus, and is "
     "emptied when they are dispatched. Publish from a table with a row per event"},
    {"Wolverine", kWolverine, true,
     "Body is an envelope in a binary form that only Wolverine reads, and Destination is an "
     "address of Wolverine. Publish from a table with a row per event"},
    {"Eventuate Tram", kEventuate, false,
     "Stop Eventuate's own CDC service, or every message is published twice."},
    {"Watermill (Go)", kWatermill, false,
     "There is a table per topic; rows have no key. Use [[source.tables]] for several tables."},
    {"Laravel (jobs)", kLaravelJobs, false,
     "This is a queue of jobs: Payload holds a serialized PHP object, and workers delete rows. A "
     "table with a row per event is a better source.",
     "", true},
    {"Outboxer (Ruby)", kOutboxer, true,
     "a row holds no event: it refers to a record of another table, which may have changed since"},
    {"Axon", kAxon, false,
     "Payload is as Axon's serializer wrote it. An event store is published from the slot on, not "
     "from its first event.",
     "", true},
    {"Rails Event Store", kRailsEventStore, false,
     "Data is as the event store's mapper wrote it (YAML by default; use JSON or JSONB). Rows have "
     "no aggregate: the streams of an event are in another table.",
     "", true},
};

}  // namespace

const KnownTable* FindKnownTable(const TableDescription& table) {
  const auto has = [&](std::string_view name) {
    return std::any_of(
        table.columns.begin(), table.columns.end(),
        [&](const DescribedColumn& column) { return NormalizedName(column.name) == name; });
  };
  const auto* found =
      std::find_if(std::begin(kTables), std::end(kTables), [&](const KnownTable& known) {
        return std::all_of(known.columns.begin(), known.columns.end(), has);
      });
  return found == std::end(kTables) ? nullptr : found;
}

}  // namespace walrelay
