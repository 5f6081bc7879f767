// ProducerClient: the client of a KafkaProducer, with everything that ends with it.
//
// The producer passes it to a reaper as a whole. Threads: the owner's, which alone calls the
// functions; several members have threads of their own.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "sinks/kafka/client/credential_watch.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/producer/acknowledgement_times.h"
#include "sinks/kafka/producer/client_examiner.h"
#include "sinks/kafka/producer/producer_options.h"
#include "sinks/kafka/producer/request_watch.h"
#include "sinks/kafka/producer/topic_metadata_fetcher.h"
#include "sinks/kafka/producer/topic_table.h"
#include "sinks/kafka/producer/transaction_thread.h"
#include "sinks/kafka/topics/tail_reader.h"
#include "sinks/kafka/topics/topic_creator.h"
#include "walrelay/clock.h"

namespace walrelay {

// Destroyed in reverse order: topics and queue before the client, and first of all the objects that
// use the client on their own threads.
struct ProducerClient {
  // Starts a client; does not wait for a broker. Errors: those of KafkaProducer::Create(). Takes
  // `conf`, also after an error; `options` need not outlive the call.
  static absl::StatusOr<std::unique_ptr<ProducerClient>> Create(KafkaConf conf,
                                                                const ProducerOptions& options);

  // Discards the records that are not delivered. Does not block; reports follow.
  void Purge();
  // Discards them, and asks the threads of this object to end. Call it before the destruction,
  // which waits for them, and which may happen on any thread.
  void Stop();

  size_t max_record_bytes = 0;  // message.max.bytes
  Micros request_timeout{0};    // socket.timeout.ms
  UniqueFd wakeup;
  RequestWatch watch;                     // with transactions
  AcknowledgementTimes acknowledgements;  // without
  KafkaClient handle;
  KafkaQueue queue;
  std::unique_ptr<TopicCreator> creator;
  std::unique_ptr<TopicTable> topics;
  std::unique_ptr<CredentialWatch> credentials;
  std::unique_ptr<TopicMetadataFetcher> metadata_fetcher;
  std::unique_ptr<TailReader> tails;                // nullptr: nothing is skipped
  std::unique_ptr<TransactionThread> transactions;  // nullptr: without transactions
  std::unique_ptr<ClientExaminer> examiner;         // nullptr: without a configuration for it
};

}  // namespace walrelay
