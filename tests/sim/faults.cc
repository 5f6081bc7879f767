// Simulation: the effect of each fault of a scenario, and how it ends.

#include <algorithm>
#include <utility>

#include "mutant.h"
#include "outbox.h"
#include "simulation.h"
#include "walrelay/error.h"

namespace walrelay::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

absl::Status Broken() {
  return Error(ErrorCode::kConnectionLost, "connection reset by peer");
}

// Recovery, including the time in which the server reports that it is not ready.
constexpr Micros kLongestDown = seconds(40);
// TCP keepalives, where wal_sender_timeout is off.
constexpr Micros kTcpGivesUp = seconds(70);
// Until a connection that gets no packets has ended, on both sides.
constexpr Micros kLongestSilence = seconds(80);
constexpr uint64_t kLongestRow = 600;

// What the relay must find in the WAL.
Lsn EndOf(const Progress& record) {
  return std::max(record.frontier, record.partial.transaction.commit_lsn);
}

}  // namespace

void Simulation::ScheduleFaults() {
  for (const Fault& fault : scenario_.faults) {
    context_.event_queue.At(SimClock::kBegin + fault.at, [this, &fault] { Apply(fault); });
  }
}

void Simulation::Apply(const Fault& fault) {
  context_.Note("[fault] {} for {:.3f} s ({})", NameOf(fault.kind),
                static_cast<double>(fault.length.count()) / 1e6, fault.amount);
  context_.oracle.OnFault();
  kafka_.coordinator().Interrupt(fault.length + kLongestSilence);
  // ApplyToKafka() disturbs Kafka for its own faults and for those of the functions behind it.
  if (ApplyToProcess(fault) || ApplyToNetwork(fault) || ApplyToServer(fault) ||
      ApplyToSlot(fault) || ApplyToPublication(fault) || ApplyToVisibility(fault) ||
      ApplyUnseen(fault) || ApplyInTransaction(fault) || ApplyToKafka(fault) ||
      ApplyToTopics(fault) || ApplyToTransactions(fault) || ApplyToCluster(fault)) {
    context_.coverage.Count(NameOf(fault.kind), "fault ");
  }
}

// A fault may wait for a moment to take effect, and interrupts only from then on.
void Simulation::Heal(Micros delay, std::function<void()> action) {
  kafka_.coordinator().Interrupt(delay + kLongestSilence);
  context_.After(delay, std::move(action));
}

size_t Simulation::Target(const Fault& fault) const {
  return scenario_.second_relay ? fault.amount % 2 : 0;
}

Link* Simulation::CurrentLink() const {
  return postgres_.sender() ? &postgres_.sender()->link() : nullptr;
}

bool Simulation::ApplyToProcess(const Fault& fault) {
  const size_t target = Target(fault);
  RelayProcess* process = processes_[target].get();
  switch (fault.kind) {
    case FaultKind::kKill:
      if (process != nullptr) {
        process->Kill();
      }
      return true;
    case FaultKind::kTerminate:
      if (process != nullptr) {
        process->Terminate();
      }
      return true;
    case FaultKind::kReplace:
      if (process != nullptr) {
        process->Replace(fault.length);
      }
      return true;
    case FaultKind::kBlockLog:
      context_.log_blocked = true;
      Heal(fault.length, [this] { context_.log_blocked = false; });
      return true;
    case FaultKind::kSuspend:
      if (process != nullptr) {
        process->StandStill();
        context_.After(fault.length, [this, target, life = lives_[target]] {
          if (processes_[target] && lives_[target] == life) {
            processes_[target]->GoOn();
          }
        });
      }
      return true;
    default:
      return false;
  }
}

bool Simulation::ApplyToNetwork(const Fault& fault) {
  Link* link = CurrentLink();
  const auto cut = [&] {
    if (link != nullptr) {
      link->Cut(context_.now(), Broken(), fault.amount % 2 == 0);
      // The server is notified at once, or only by a timeout.
      const Micros told = fault.amount % 3 != 0 ? network_.latency : kTcpGivesUp;
      context_.After(told, [gone = postgres_.sender()] { gone->OnClientGone(); });
    }
  };
  switch (fault.kind) {
    case FaultKind::kCut:
      cut();
      return true;
    case FaultKind::kDark:
      if (link != nullptr) {
        link->GoDark();
        context_.After(kTcpGivesUp, [gone = postgres_.sender()] { gone->OnClientGone(); });
      }
      return true;
    case FaultKind::kStandStill:
      if (link != nullptr) {
        link->StandStill(context_.now() + fault.length);
      }
      return true;
    case FaultKind::kUnreachable:
      cut();
      network_.unreachable = true;
      Heal(fault.length, [this] { network_.unreachable = false; });
      return true;
    case FaultKind::kLoginRefused:
      cut();
      network_.login_refused = true;
      Heal(fault.length, [this] { network_.login_refused = false; });
      return true;
    case FaultKind::kSecretUnreadable: {
      cut();
      // The relay reads the Kafka secret again only after a fatal error of the producer.
      bool& unreadable =
          fault.amount % 2 == 0 ? network_.secret_unreadable : network_.kafka_secret_unreadable;
      kafka_.Disturb(fault.length);
      unreadable = true;
      kafka_.fencing = kafka_.fencing || fault.amount % 2 != 0;
      Heal(fault.length, [&unreadable] { unreadable = false; });
      return true;
    }
    case FaultKind::kFull:
      cut();
      network_.full = true;
      Heal(fault.length, [this] { network_.full = false; });
      return true;
    default:
      return false;
  }
}

bool Simulation::ApplyToServer(const Fault& fault) {
  if (postgres_.power() != SimPostgres::Power::kUp) {
    return false;
  }
  const Micros down = std::min(fault.length, kLongestDown);
  switch (fault.kind) {
    case FaultKind::kTerminateSender:
      postgres_.TerminateSender();
      return true;
    case FaultKind::kCorrupt:
      postgres_.CorruptNextMessage();
      return true;
    case FaultKind::kCrash:
      postgres_.Crash();
      ComeBack(down);
      return true;
    case FaultKind::kRestart:
      Restart(fault);
      return true;
    case FaultKind::kFailOver:
    case FaultKind::kFailOverWithoutSlot:
    case FaultKind::kFailOverSlotRemade:
    case FaultKind::kRestore:
    case FaultKind::kAnotherSystem:
      return !Rewritten() && ApplyToHistory(fault);
    case FaultKind::kInRecovery:
      postgres_.TerminateSender();
      postgres_.SetInRecovery(true);
      Heal(fault.length, [this] { postgres_.SetInRecovery(false); });
      return true;
    case FaultKind::kHoldStandby:
      postgres_.HoldStandby(true);
      Heal(fault.length, [this] { postgres_.HoldStandby(false); });
      return true;
    case FaultKind::kAlterTable:
      postgres_.AlterTable();
      return true;
    case FaultKind::kPoison:
      postgres_.Poison(true);
      Heal(fault.length, [this] { postgres_.Poison(false); });
      return true;
    case FaultKind::kUnsolicitedAbort:
      postgres_.RollBackLarge(1 + fault.amount % 20);
      return true;
    case FaultKind::kCheckpoint:
      postgres_.Checkpoint();
      return true;
    default:
      return false;
  }
}

// Faults after which the server has another WAL.
bool Simulation::ApplyToHistory(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kFailOver:
      FailOver(fault, /*with_slot=*/true);
      return true;
    case FaultKind::kFailOverWithoutSlot:
      FailOver(fault, /*with_slot=*/false);
      return true;
    case FaultKind::kFailOverSlotRemade:
      FailOver(fault, /*with_slot=*/false);
      network_.unreachable = true;
      Heal(fault.length, [this] {
        postgres_.MakeSlot();
        network_.unreachable = false;
      });
      return true;
    case FaultKind::kRestore:
      RestoreServer(fault);
      return true;
    case FaultKind::kAnotherSystem:
      gap_possible_ = true;
      postgres_.BecomeAnotherSystem();
      postgres_.MoveSlot(postgres_.log().flushed());
      return true;
    default:
      return false;
  }
}

void Simulation::ComeBack(Micros delay) {
  context_.After(delay, [this] { postgres_.Start(); });
  context_.After(delay + milliseconds(300), [this] { postgres_.Accept(); });
}

void Simulation::Restart(const Fault& fault) {
  const Micros down = std::min(fault.length, kLongestDown);
  postgres_.ShutDown([this, down] { ComeBack(down); });
  if (postgres_.power() != SimPostgres::Power::kShuttingDown) {
    return;
  }
  if (scenario_.sampler) {
    context_.After(context_.random.Between(milliseconds(1), milliseconds(60)), [this] {
      for (const auto& process : processes_) {
        if (process) {
          process->OnServerShuttingDown();
        }
      }
    });
  }
  CheckShutdown(postgres_.incarnation(), 0);
}

// The relay must not hold up a shutdown. A relay that is suspended or unreachable is disconnected
// by the walsender.
void Simulation::CheckShutdown(int incarnation, int sampler) {
  context_.After(seconds(5), [this, incarnation, sampler] {
    if (incarnation != postgres_.incarnation() ||
        postgres_.power() != SimPostgres::Power::kShuttingDown) {
      return;
    }
    const bool unseen = !scenario_.sampler;
    if ((!unseen && !HolderIsDisturbed()) || sampler > 100) {
      context_.oracle.Fail("I11 liveness", "the relay holds up the server's shutdown");
    }
    if (unseen && sampler > 2) {
      postgres_.Crash();  // the administrator runs an immediate shutdown
      ComeBack(seconds(1));
      return;
    }
    CheckShutdown(incarnation, sampler + 1);
  });
}

// The relay must not hold up a checkpoint that invalidates the slot.
void Simulation::CheckGivingUp(int incarnation, int sampler) {
  if (!postgres_.giving_slot_up()) {
    return;
  }
  context_.coverage.Count("a checkpoint waits for the walsender");
  context_.After(seconds(5), [this, incarnation, sampler] {
    if (incarnation != postgres_.incarnation() || !postgres_.giving_slot_up()) {
      return;
    }
    const bool unseen = !scenario_.sampler;
    if ((!unseen && !HolderIsDisturbed()) || sampler > 100) {
      context_.oracle.Fail("I11 liveness", "the relay holds up a checkpoint");
    }
    if (unseen && sampler > 2) {
      postgres_.Crash();  // the administrator runs an immediate shutdown
      ComeBack(seconds(1));
      return;
    }
    CheckGivingUp(incarnation, sampler + 1);
  });
}

// Whether the process that holds the slot is suspended or unreachable.
bool Simulation::HolderIsDisturbed() const {
  return CurrentLink() == nullptr || CurrentLink()->disturbed_since(context_.now() - seconds(5)) ||
         std::any_of(processes_.begin(), processes_.end(), [this](const auto& process) {
           return process && process->source().sender() == postgres_.sender().get() &&
                  (process->disturbed() || process->asked_to_stop());
         });
}

// The standby may lack a few transactions; its slot may be older than its WAL.
void Simulation::FailOver(const Fault& fault, bool with_slot) {
  const auto& transactions = postgres_.log().transactions();
  const auto& slot = postgres_.slot();
  const size_t lag = fault.amount % 4;
  Lsn fork = postgres_.sendable_end();
  if (!postgres_.options().synchronized_standby && lag > 0 && transactions.size() > lag) {
    fork = std::min(fork, transactions[transactions.size() - lag].commit_lsn);
  }
  fork = std::max(fork, postgres_.standby_end());
  const Lsn confirmed =
      slot ? std::min(fork, fault.amount % 2 == 0 ? slot->on_disk : slot->confirmed) : Lsn();
  gap_possible_ = gap_possible_ || !with_slot;
  context_.Note("[pg] timeline {} forks at {}", postgres_.timeline() + 1, fork.ToString());
  postgres_.FailOver(fork, confirmed, with_slot && slot.has_value());
}

// A relay can detect this only if it reads the WAL position before the WAL has grown past the
// relay's own position. Nothing is therefore written before it has connected, and there is no
// second relay. Nor can it detect this by a record that it reads later, as Kafka is unavailable, if
// that record is the operator's, which names no transaction.
void Simulation::RestoreServer(const Fault& fault) {
  const auto& transactions = postgres_.log().transactions();
  const size_t lag = 1 + fault.amount % 6;
  const bool adopted = kafka_.decided() && kafka_.decided()->run_id.empty();
  if (!postgres_.slot() || transactions.size() <= lag || scenario_.second_relay || adopted) {
    return;
  }
  gap_possible_ = true;
  if (kafka_.decided()) {
    rewritten_until_ = EndOf(*kafka_.decided());
    rewritten_generation_ = kafka_.decided()->generation;
  }
  Lsn end = transactions[transactions.size() - lag].commit_lsn;
  const auto& ancestors = postgres_.ancestors();
  const bool older_timeline = fault.amount % 2 == 0 && !ancestors.empty();
  // Later WAL was never on the older timeline, and earlier WAL is not on this one.
  if (!ancestors.empty()) {
    end =
        older_timeline ? std::min(end, ancestors.back().end) : std::max(end, ancestors.back().end);
  }
  // The slot is from the same time as the WAL, or was copied at another time and is ahead of it.
  const Lsn confirmed = postgres_.slot()->on_disk;
  postgres_.Restore(end, fault.amount % 3 == 0 ? confirmed : std::min(end, confirmed),
                    older_timeline);
}

bool Simulation::ApplyToSlot(const Fault& fault) {
  if (postgres_.power() != SimPostgres::Power::kUp) {
    return false;
  }
  if (Rewritten() && (fault.kind == FaultKind::kRemakeSlot || fault.kind == FaultKind::kMoveSlot)) {
    return false;
  }
  switch (fault.kind) {
    case FaultKind::kDropSlot:
      postgres_.DropSlot();
      break;
    case FaultKind::kRemakeSlot:
      postgres_.DropSlot();
      postgres_.MakeSlot();
      break;
    case FaultKind::kMoveSlot:
      if (fault.amount % 4 == 0) {
        // After the relay has read it, and before its stream acquires it.
        postgres_.TerminateSender();
        network_.before_start = [this] { postgres_.MoveSlot(postgres_.log().flushed()); };
        Heal(fault.length, [this] { network_.before_start = nullptr; });
      } else {
        postgres_.MoveSlot(postgres_.log().flushed());
      }
      break;
    case FaultKind::kInvalidateSlot:
      postgres_.GiveSlotUp();
      CheckGivingUp(postgres_.incarnation(), 0);
      break;
    default:
      return false;
  }
  gap_possible_ = true;
  return true;
}

bool Simulation::ApplyToPublication(const Fault& fault) {
  if (postgres_.power() != SimPostgres::Power::kUp) {
    return false;
  }
  const auto told = [&] { gap_possible_ = true; };
  // Between two polls; without the second connection only a new stream reads the publication.
  const Micros moment = std::min<Micros>(fault.length, milliseconds(900));
  switch (fault.kind) {
    case FaultKind::kDropPublication:
      told();
      postgres_.SetPublicationExists(false);
      Heal(fault.length, [this] { postgres_.SetPublicationExists(true); });
      return true;
    case FaultKind::kUnpublish:
      told();
      postgres_.TerminateSender();
      postgres_.SetPublished(false);
      Heal(fault.length, [this] {
        postgres_.SetPublished(true);
        TerminateUnwatched();
      });
      return true;
    case FaultKind::kPublishNothing:
      told();
      postgres_.TerminateSender();
      postgres_.SetPublishesInsert(false);
      Heal(fault.length, [this] {
        postgres_.SetPublishesInsert(true);
        TerminateUnwatched();
      });
      return true;
    case FaultKind::kUnlogLeaf:
      told();
      postgres_.TerminateSender();
      postgres_.SetLeafUnlogged(true);
      Heal(fault.length, [this] {
        postgres_.SetLeafUnlogged(false);
        TerminateUnwatched();
      });
      return true;
    case FaultKind::kRepublish:
      told();
      postgres_.SetPublished(false);
      Heal(moment, [this] {
        postgres_.SetPublished(true);
        TerminateUnwatched();
      });
      return true;
    case FaultKind::kSwitchInserts:
      told();
      postgres_.SetPublishesInsert(false);
      Heal(moment, [this] {
        postgres_.SetPublishesInsert(true);
        TerminateUnwatched();
      });
      return true;
    case FaultKind::kPublishOther:
      postgres_.PublishOther();
      if (config_.pipeline.exactly_once()) {
        KillInPart(context_.now() + kLongestDown, /*other_settings=*/false);
      }
      return true;
    case FaultKind::kSkipPublication:
      gap_possible_ = true;
      postgres_.SkipPublication(true);
      Heal(fault.length, [this] { postgres_.SkipPublication(false); });
      return true;
    default:
      return false;
  }
}

bool Simulation::ApplyToVisibility(const Fault& fault) {
  if (!scenario_.config.source.wait_visible) {
    return false;
  }
  switch (fault.kind) {
    case FaultKind::kHideCommits:
      postgres_.HideCommits(true);
      Heal(fault.length, [this] { postgres_.HideCommits(false); });
      return true;
    case FaultKind::kRefuseSnapshots:
      ++network_.side_cuts;
      network_.side_refused = true;
      Heal(fault.length, [this] { network_.side_refused = false; });
      return true;
    case FaultKind::kHangSnapshots:
      network_.side_hangs = true;
      Heal(fault.length, [this] { network_.side_hangs = false; });
      return true;
    default:
      return false;
  }
}

// Without the second connection only a new stream compares the publication with what it was. The
// change itself may have come between the comparison and the start of a stream.
void Simulation::TerminateUnwatched() {
  if (!scenario_.sampler) {
    postgres_.TerminateSender();
  }
}

bool Simulation::ApplyToKafka(const Fault& fault) {
  kafka_.Disturb(fault.length);
  const int share = 10 + static_cast<int>(fault.amount % 80);
  switch (fault.kind) {
    case FaultKind::kKafkaDown:
      kafka_.down = true;
      Heal(fault.length, [this] { kafka_.down = false; });
      return true;
    case FaultKind::kLeaderMove:
      kafka_.leaderless = static_cast<int>(fault.amount % 4);
      if (Mutant(MutantId::kLeaderAcknowledgesAlone)) {
        kafka_.LoseTail(kafka_.leaderless);
      }
      Heal(fault.length, [this] { kafka_.leaderless = -1; });
      return true;
    case FaultKind::kLostRequests:
      kafka_.lost_requests = share;
      Heal(fault.length, [this] { kafka_.lost_requests = 0; });
      return true;
    case FaultKind::kLostAnswers:
      kafka_.lost_answers = share;
      Heal(fault.length, [this] { kafka_.lost_answers = 0; });
      return true;
    case FaultKind::kSlowKafka:
      kafka_.latency_most = milliseconds(100 + fault.amount);
      Heal(fault.length, [this] { kafka_.latency_most = milliseconds(5); });
      return true;
    case FaultKind::kRefuse:
      kafka_.refused = share;
      Heal(fault.length, [this] { kafka_.refused = 0; });
      return true;
    case FaultKind::kFence:
      kafka_.fencing = true;
      return true;
    case FaultKind::kRotateCredentials:
      ++kafka_.credentials;
      return true;
    // Brokers accept these commit times when the fault is over: later ones are right.
    case FaultKind::kClockAhead:
      postgres_.SetClockAhead(SimKafka::kMostAhead + fault.length / 2);
      Heal(fault.length / 2, [this] { postgres_.SetClockAhead(Micros(0)); });
      return true;
    case FaultKind::kShortRetention:
      ShortenRetention(fault);
      return true;
    case FaultKind::kRefuseRecord:
      kafka_.to_be_refused = 1 + static_cast<int>(fault.amount % 3);
      Heal(fault.length, [this] { kafka_.Forgive(); });
      return true;
    case FaultKind::kFailIdleProducer:
      for (const auto& process : processes_) {
        if (process) {
          process->FailIdleProducer();
        }
      }
      return true;
    case FaultKind::kWedgeClient:
      for (const auto& process : processes_) {
        if (process) {
          process->WedgeClient();
        }
      }
      return true;
    case FaultKind::kStuckPartition:
      kafka_.leaderless = static_cast<int>(fault.amount % 4);
      Heal(fault.length, [this] { kafka_.leaderless = -1; });
      return true;
    case FaultKind::kSmallBatches: {
      const std::string topic = TopicOf(fault.amount % kTopicCount);
      // Below the size of a record, publishing is blocked until the limit is raised.
      kafka_.topic(topic).most_bytes = fault.amount % 2 == 0 ? 1'000 : 250;
      Heal(fault.length, [this, topic] { kafka_.topic(topic).most_bytes = SIZE_MAX; });
      return true;
    }
    case FaultKind::kDenyTopic: {
      const std::string topic = TopicOf(fault.amount % kTopicCount);
      kafka_.topic(topic).denied = true;
      Heal(fault.length, [this, topic] { kafka_.topic(topic).denied = false; });
      return true;
    }
    default:
      return false;
  }
}

// Often of the progress topic as well, which a relay refuses to read as long as it is so.
void Simulation::ShortenRetention(const Fault& fault) {
  kafka_.DeleteRecords();
  kafka_.deletes_records = true;
  Heal(fault.length, [this] { kafka_.deletes_records = false; });
  if (fault.amount % 3 == 0 && records_progress()) {
    context_.coverage.Count("the progress record is deleted");
    kafka_.DeleteProgress();
    kafka_.deletes_progress = true;
    Heal(fault.length, [this] {
      kafka_.DeleteProgress();
      kafka_.deletes_progress = false;
    });
  }
}

// --- with mode = "topics"

bool Simulation::ApplyToTopics(const Fault& fault) {
  const int number = static_cast<int>(fault.amount % 4);
  switch (fault.kind) {
    case FaultKind::kChangePartitions:
      kafka_.ChangePartitions(fault.amount % 4 == 3 ? std::string(kDeadLetterTopic)
                                                    : TopicOf(fault.amount % 4));
      return true;
    case FaultKind::kShrinkReplicas:
      kafka_.ShrinkReplicas(number);
      Heal(fault.length,
           [this, number, lost = fault.amount % 3 != 0] { kafka_.GrowReplicas(number, lost); });
      return true;
    case FaultKind::kAppendForeign:
      return kafka_.AppendForeign(fault.amount);
    case FaultKind::kChangeRouting:
      config_.route = IsMerged(RoutingOf(config_)) ? scenario_.config.route : MergedRoute();
      for (const auto& process : processes_) {
        if (process && fault.amount % 3 == 0) {
          process->Kill();
        } else if (process && fault.amount % 3 == 1) {
          process->Terminate();
        } else if (process) {
          process->Replace(Micros(0));
        }
      }
      return true;
    default:
      return false;
  }
}

// --- another cluster

// The address leads to another cluster, for a while or for good. Some relays do not see it: they
// are started afterwards.
bool Simulation::ApplyToCluster(const Fault& fault) {
  if (fault.kind != FaultKind::kAnotherCluster || exactly_once()) {
    return false;
  }
  if (fault.amount % 3 == 0) {
    KeepRelaysDown(milliseconds(100));
  }
  ChangeCluster(1, /*mirrored=*/fault.amount % 5 < 2);
  if (fault.amount % 2 == 0) {
    Heal(fault.length, [this] { ChangeCluster(0, /*mirrored=*/false); });
  }
  return true;
}

void Simulation::ChangeCluster(int cluster, bool mirrored) {
  gap_possible_ = true;
  kafka_.Become(cluster, mirrored);
  for (const auto& process : processes_) {
    if (process) {
      process->OnClusterChanged();
    }
  }
}

// --- while no relay runs

bool Simulation::Rewritten() {
  // An acceptance is lost with the relay until a record of the next generation is committed.
  const auto& record = kafka_.progress();
  // A stream from before may still record what it has read of the other WAL.
  const bool passed = record && record->frontier > rewritten_until_ &&
                      (!record->last.valid() || Find(record->last) != nullptr);
  if (passed || (record && record->generation > rewritten_generation_.value_or(0))) {
    rewritten_until_ = Lsn();
  }
  return rewritten_until_.valid();
}

const LogTransaction* Simulation::Find(const PublishedTransaction& transaction) const {
  const auto& log = postgres_.log().transactions();
  const auto found = std::find_if(log.begin(), log.end(), [&](const LogTransaction& other) {
    return other.commit_lsn == transaction.commit_lsn &&
           static_cast<uint32_t>(other.xid) == transaction.xid &&
           other.time == transaction.commit_time;
  });
  return found == log.end() ? nullptr : &*found;
}

void Simulation::KeepRelaysDown(Micros time) {
  kept_down_until_ = context_.now() + time;
  for (const auto& process : processes_) {
    if (process) {
      process->Kill();
    }
  }
}

// Only a record of progress shows a restarted relay what happened.
bool Simulation::ApplyUnseen(const Fault& fault) {
  if (!records_progress()) {
    return false;
  }
  if (fault.kind == FaultKind::kDenyProgress) {
    kafka_.topic(kProgressTopic).denied = true;
    kafka_.Disturb(fault.length);
    // A producer that has noticed refuses the next record itself, the others wait for the brokers.
    for (const auto& process : processes_) {
      if (process && fault.amount % 2 == 0) {
        process->LookUpAgain(std::string(kProgressTopic));
      }
    }
    Heal(fault.length, [this] { kafka_.topic(kProgressTopic).denied = false; });
    return true;
  }
  if (postgres_.power() != SimPostgres::Power::kUp || !postgres_.slot() || postgres_.slot()->lost ||
      Rewritten()) {
    return false;
  }
  switch (fault.kind) {
    case FaultKind::kRestoreUnseen:
    case FaultKind::kRestoreAndGrow:
      return RestoreUnseen(fault);
    case FaultKind::kFailOverUnseen:
      KeepRelaysDown(fault.length);
      FailOver(fault, /*with_slot=*/fault.amount % 3 != 0);
      if (fault.amount % 6 == 0) {
        postgres_.MakeSlot();
      }
      return true;
    case FaultKind::kAdvanceSlotUnseen:
      KeepRelaysDown(fault.length);
      gap_possible_ = true;
      workload_.CommitOne();
      if (fault.amount % 3 == 0) {
        postgres_.MoveSlot(postgres_.log().flushed());
        return true;
      }
      postgres_.DropSlot();
      if (fault.amount % 3 == 1) {
        postgres_.MakeSlot();
      }
      return true;
    default:
      return false;
  }
}

// --- transactions

bool Simulation::ApplyToTransactions(const Fault& fault) {
  if (!exactly_once()) {
    return false;
  }
  SimCoordinator& coordinator = kafka_.coordinator();
  switch (fault.kind) {
    case FaultKind::kHoldEndTxn:
      coordinator.hold_ends = 1 + static_cast<int>(fault.amount % 2);
      return true;
    case FaultKind::kLoseEndTxnAnswer:
      // More than can be sent before the commit is given up.
      coordinator.lose_answers = 1 + static_cast<int>(fault.amount % 6);
      return true;
    case FaultKind::kCoordinatorDown:
      coordinator.down = true;
      Heal(fault.length, [this] { kafka_.coordinator().down = false; });
      return true;
    case FaultKind::kExpireTransaction:
      coordinator.ExpireAll();
      return true;
    case FaultKind::kClaimElsewhere:
      coordinator.ClaimAll();
      return true;
    case FaultKind::kChangeSource:
      KillInPart(context_.now() + kLongestDown, /*other_settings=*/true);
      return true;
    case FaultKind::kSlowMarkers:
      coordinator.marker_delay = seconds(5);
      Heal(fault.length, [this] { kafka_.coordinator().marker_delay = Micros(0); });
      return true;
    default:
      return false;
  }
}

// Of Postgres and of the relay, at a step of a Kafka transaction.
bool Simulation::ApplyInTransaction(const Fault& fault) {
  if (!exactly_once()) {
    return false;
  }
  SimCoordinator& coordinator = kafka_.coordinator();
  switch (fault.kind) {
    case FaultKind::kCutInTransaction:
      coordinator.kill = [this] {
        postgres_.TerminateSender();
        network_.unreachable = true;
        Heal(kTcpGivesUp, [this] { network_.unreachable = false; });
      };
      coordinator.kill_at = fault.amount % 2 == 0 ? TxnStep::kAccepted : TxnStep::kAppended;
      return true;
    case FaultKind::kKillInTransaction:
      coordinator.kill = [this] { KeepRelaysDown(Micros(0)); };
      coordinator.kill_at =
          static_cast<TxnStep>(fault.amount % static_cast<uint32_t>(TxnStep::kCount));
      return true;
    default:
      return false;
  }
}

// Waits until a transaction is published in part.
void Simulation::KillInPart(MonoTime until, bool other_settings) {
  const auto& record = kafka_.progress();
  if (record && record->partial.valid()) {
    KeepRelaysDown(milliseconds(100));
    if (other_settings) {
      context_.coverage.Count("the settings change while a transaction is published in part");
      config_.source.message_prefixes.emplace_back("unused");
    }
  } else if (context_.now() < until) {
    context_.After(milliseconds(3),
                   [this, until, other_settings] { KillInPart(until, other_settings); });
  }
}

// The server gets the WAL of an earlier time, with the slot as it was then, and new work grows past
// the end of the WAL that was lost. Nothing shows this except the transactions themselves.
bool Simulation::RestoreUnseen(const Fault& fault) {
  const auto& record = kafka_.decided();
  const auto& log = postgres_.log().transactions();
  const size_t lag = 1 + fault.amount % 6;
  const auto& ancestors = postgres_.ancestors();
  const bool comparable = record && (record->last.valid() || !record->settled_before.valid());
  if (!comparable || record->timeline != postgres_.timeline() || log.size() <= lag) {
    return false;
  }
  const LogTransaction* const last = Find(record->last);
  Lsn end = log[log.size() - lag].commit_lsn;
  std::optional<LogTransaction> repeated;
  if (last != nullptr && fault.amount % 4 == 1) {
    end = last->end_lsn;  // nothing that was published is lost
  } else if (last != nullptr && last != &log.front() && fault.amount % 4 >= 2 &&
             BytesBetween(std::prev(last)->end_lsn, last->commit_lsn) > kLongestRow) {
    // Another transaction commits at the same position.
    repeated = *last;
    end = std::prev(last)->end_lsn;
  }
  if (!ancestors.empty() && end < ancestors.back().end) {
    return false;
  }
  if (fault.kind == FaultKind::kRestoreUnseen) {
    KeepRelaysDown(fault.length);
  }
  gap_possible_ = true;
  rewritten_until_ = EndOf(*record);
  rewritten_generation_ = record->generation;
  context_.Note("[pg] restored as of {}", end.ToString());
  postgres_.Restore(end, std::min(end, postgres_.slot()->on_disk), /*older_timeline=*/false);
  postgres_.AllowWrites();
  if (repeated) {
    workload_.CommitLike(*repeated, /*same_xid=*/fault.amount % 4 == 2);
  }
  for (uint32_t i = 0; i < fault.amount / 4 % 4; ++i) {
    workload_.CommitOne();
  }
  if (fault.amount % 5 == 0) {
    postgres_.Fill(10'000);
  }
  // Without the last published transaction, only times show it.
  const bool times_grow = fault.amount % 4 != 3 && !postgres_.clock_was_set_back();
  if (fault.kind == FaultKind::kRestoreUnseen && fault.amount % 7 == 6 && times_grow) {
    const Lsn fork = std::max(postgres_.sendable_end(), postgres_.standby_end());
    context_.Note("[pg] timeline {} forks at {}", postgres_.timeline() + 1, fork.ToString());
    postgres_.FailOver(fork, std::min(fork, postgres_.slot()->on_disk), /*with_slot=*/true);
  }
  return true;
}

}  // namespace walrelay::sim
