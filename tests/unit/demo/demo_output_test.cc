#include "demo/demo_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "fakes/captured_stream.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DemoOutputTest : public ::testing::Test {
 protected:
  std::string Shown() const { return captured_.Text(); }
  static PublishedEvent Event(Micros latency = Micros(1'500)) {
    return {.committed = WallTime(std::chrono::sys_days(std::chrono::year(2026) / 11 / 20)) +
                         std::chrono::hours(8) + Micros(123),
            .latency = latency,
            .topic = "orders",
            .partition = 1,
            .offset = 7,
            .key = "customer-1",
            .headers = {{"id", "53072873-0887"}, {"event_type", "OrderPlaced"}}};
  }
  static Verdict Good() { return {.committed = 10, .rolled_back = 2, .records = 11, .keys = 3}; }

  testing::CapturedStream captured_{stdout};
  DemoOutput output_;
  DeliveryTimes times_;
};

TEST_F(DemoOutputTest, EventIsOneLine) {
  output_.Event(Event());
  EXPECT_THAT(Shown(), HasSubstr("08:00:00.000 +1.5 ms "));
  EXPECT_THAT(Shown(), HasSubstr(" orders[1]@7 "));
  EXPECT_THAT(Shown(), HasSubstr("customer-1 "));
  EXPECT_THAT(Shown(), HasSubstr("OrderPlaced      53072873\n"));
}

TEST_F(DemoOutputTest, NoEscapeSequencesWithoutATerminal) {
  output_.Title("title");
  output_.Note("note");
  output_.Event(Event());
  output_.Summary(Good(), 5, 1, times_);
  EXPECT_THAT(Shown(), Not(HasSubstr("\033")));
}

// Also for events from the user's own database.
TEST_F(DemoOutputTest, HostileEventIsEscaped) {
  PublishedEvent event = Event();
  for (std::string* text :
       {&event.topic, &event.key, &event.headers[0].second, &event.headers[1].second}) {
    *text = "a\nb\x1b[2Jc";
  }
  output_.Event(event);
  EXPECT_EQ(Shown().find_first_of("\n\x1b"), Shown().size() - 1) << Shown();
}

TEST_F(DemoOutputTest, EventWithoutATimeIsShown) {
  PublishedEvent event;
  output_.Event(event);
  EXPECT_THAT(Shown(), HasSubstr("[0]@0"));
}

TEST_F(DemoOutputTest, SummaryOfASuccessfulRunHasNoFailure) {
  output_.Summary(Good(), 5, 1, times_);
  EXPECT_THAT(Shown(), HasSubstr("5 transactions committed 10 events; 1 rollbacks discarded 2"));
  EXPECT_THAT(Shown(), HasSubstr("ok     every committed event is in Kafka: 10 of 10, 0 lost"));
  EXPECT_THAT(Shown(), Not(HasSubstr("FAILED")));
}

TEST_F(DemoOutputTest, SummaryNamesEachFailure) {
  for (size_t Verdict::*fault :
       {&Verdict::lost, &Verdict::phantoms, &Verdict::disordered, &Verdict::damaged}) {
    const testing::CapturedStream captured(stdout);
    Verdict verdict = Good();
    verdict.*fault = 1;
    output_.Summary(verdict, 5, 1, times_);
    EXPECT_THAT(captured.Text(), HasSubstr("FAILED"));
  }
}

TEST_F(DemoOutputTest, DuplicatesAreReportedAndAreNoFailure) {
  Verdict verdict = Good();
  verdict.duplicates = 4;
  output_.Summary(verdict, 5, 1, times_);
  EXPECT_THAT(Shown(), HasSubstr("duplicates after the SIGKILL: 4 of 11 records"));
  EXPECT_THAT(Shown(), Not(HasSubstr("FAILED")));
}

TEST_F(DemoOutputTest, LatenciesOfTheOutageAreSeparate) {
  for (int i = 1; i <= 100; ++i) {
    times_.Add(WallTime(), std::chrono::milliseconds(i));
  }
  times_.OutageBegan(WallTime(std::chrono::seconds(1)));
  times_.Add(WallTime(std::chrono::seconds(1)), std::chrono::milliseconds(700));
  output_.Summary(Good(), 5, 1, times_);
  EXPECT_THAT(Shown(), HasSubstr("p50 51.0 ms, p99 100.0 ms, max 100.0 ms (100 events)"));
  EXPECT_THAT(
      Shown(),
      HasSubstr("nothing was published for 700.0 ms; events that waited: 1, the longest 700.0 ms"));
}

TEST_F(DemoOutputTest, LinesFitIntoAHundredColumns) {
  PublishedEvent event = Event(std::chrono::milliseconds(152));
  event.topic = "outbox.event.payment";
  event.offset = 1234;
  event.key = "account-of-customer-9";
  event.headers[1].second = "PaymentRequested";
  output_.Header();
  output_.Event(event);
  times_.OutageBegan(WallTime(std::chrono::seconds(1)));
  times_.Add(WallTime(), std::chrono::milliseconds(152));
  times_.Add(WallTime(std::chrono::seconds(1)), std::chrono::milliseconds(152));
  output_.Summary({.committed = 1234, .rolled_back = 123, .records = 1250, .keys = 20}, 999, 999,
                  times_);
  output_.NextSteps("/walrelay");
  std::istringstream shown(Shown());
  for (std::string line; std::getline(shown, line);) {
    EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST_F(DemoOutputTest, WithoutEventsThereAreNoLatencies) {
  output_.Summary({}, 0, 0, times_);
  EXPECT_THAT(Shown(), Not(HasSubstr("p50")));
}

}  // namespace
}  // namespace walrelay
