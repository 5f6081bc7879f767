#include "outbox/column_names.h"

namespace walrelay {
namespace {

constexpr std::string_view kIds[] = {"eventid", "messageid",  "eventuuid", "eventidentifier",
                                     "uuid",    "identifier", "id"};
constexpr std::string_view kAggregateTypes[] = {
    "aggregatetype", "aggregatetypename", "aggregatename", "aggregateroottype",
    "aggregate",     "entitytype",        "entityname",    "resourcetype",
    "objecttype",    "streamtype",        "streamcategory"};
constexpr std::string_view kTopics[] = {
    "topic",    "destinationtopic", "kafkatopic", "topicname", "destination", "routingkey",
    "exchange", "channel",          "queue",      "queuename", "subject"};
constexpr std::string_view kAggregateIds[] = {
    "aggregateid", "aggregaterootid", "aggregateidentifier",
    "entityid",    "resourceid",      "objectid",
    "streamid",    "partitionkey",    "messagekey",
    "eventkey",    "kafkakey",        "recordkey",
    "key",         "splitkey",        "groupid",
    "stream"};
constexpr std::string_view kEventTypes[] = {
    "eventtype", "eventtypename", "eventname", "eventclass", "messagetype", "payloadtype",
    "type",      "event",         "kind",      "operation",  "action",      "name"};
constexpr std::string_view kPayloads[] = {
    "payload",     "eventpayload", "messagepayload",  "eventdata",   "data",    "body",
    "messagebody", "content",      "serializedevent", "eventbody",   "message", "eventjson",
    "json",        "event",        "value",           "messagedata", "document"};
constexpr std::string_view kTimes[] = {
    "occurredat",     "occurredon",  "createdat",    "createdon",       "creationdate",
    "createddate",    "createtime",  "recordedat",   "publicationdate", "insertedat",
    "eventtime",      "enqueuetime", "creationtime", "raisedat",        "timestamp",
    "eventtimestamp", "added",       "created",      "occurred"};
constexpr std::string_view kTraceIds[] = {"traceid"};
constexpr std::string_view kTraceparents[] = {"traceparent"};
constexpr std::string_view kTracestates[] = {"tracestate"};
constexpr std::string_view kHeaders[] = {
    "headers",       "header",       "headerbag",       "metadata",      "meta",     "attributes",
    "properties",    "contenttype",  "correlationid",   "causationid",   "tenantid", "tenant",
    "schemaversion", "eventversion", "payloadrevision", "sequencenumber"};
constexpr std::string_view kMarks[] = {
    "publishedat",   "dispatchedat",  "processedat", "sentat",      "deliveredat",
    "relayedat",     "completedat",   "publishedon", "processedon", "senton",
    "publisheddate", "processeddate", "sentdate",    "senttime",    "completiondate",
    "enqueuedat",    "published",     "processed",   "dispatched",  "sent",
    "delivered",     "isprocessed",   "ispublished", "issent"};
constexpr std::string_view kStates[] = {
    "status",        "state",      "statusname",    "attempts",    "attemptcount",
    "retries",       "retrycount", "lasterror",     "error",       "lockedat",
    "lockedby",      "lockid",     "nextattemptat", "scheduledat", "failedat",
    "lastattemptat", "reservedat", "availableat",   "expiresat"};
constexpr std::string_view kEncodings[] = {"compressed",      "iscompressed", "compression",
                                           "encrypted",       "isencrypted",  "encryption",
                                           "encryptionkeyid", "nonce",        "ciphertext"};

}  // namespace

std::span<const std::string_view> UsualNames(ColumnUse use) {
  switch (use) {
    case ColumnUse::kId:
      return kIds;
    case ColumnUse::kAggregateType:
      return kAggregateTypes;
    case ColumnUse::kTopic:
      return kTopics;
    case ColumnUse::kAggregateId:
      return kAggregateIds;
    case ColumnUse::kEventType:
      return kEventTypes;
    case ColumnUse::kPayload:
      return kPayloads;
    case ColumnUse::kTime:
      return kTimes;
    case ColumnUse::kTraceId:
      return kTraceIds;
    case ColumnUse::kTraceparent:
      return kTraceparents;
    case ColumnUse::kTracestate:
      return kTracestates;
    case ColumnUse::kHeader:
      return kHeaders;
    case ColumnUse::kMark:
      return kMarks;
    case ColumnUse::kState:
      return kStates;
    case ColumnUse::kEncoding:
      break;
  }
  return kEncodings;
}

std::string NormalizedName(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      out += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               static_cast<unsigned char>(c) >= 0x80) {
      out += c;
    }
  }
  return out;
}

}  // namespace walrelay
