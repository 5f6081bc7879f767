#include "postgres/login_pause.h"

#include <gmock/gmock.h>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

class LoginPauseTest : public ::testing::Test {
 protected:
  // Tries the login as long as the pauses allow it, once a second; returns the number of attempts.
  int AttemptsIn(seconds time) {
    int attempts = 0;
    for (const auto end = now_ + time; now_ < end; now_ += seconds(1)) {
      for (int connection = 0; connection < 3; ++connection) {
        if (pause_.Check("login", now_).ok()) {
          ++attempts;
          pause_.OnRefused("login", Error(ErrorCode::kPostgresLogin, "no"), now_);
        }
      }
    }
    return attempts;
  }

  LoginPause::Time now_{seconds(100)};
  LoginPause pause_;
};

TEST_F(LoginPauseTest, RefusedLoginsOfAllConnectionsBackOffToTwoAMinute) {
  EXPECT_LE(AttemptsIn(seconds(60)), 7);
  EXPECT_LE(AttemptsIn(seconds(600)), 20);
  EXPECT_GE(AttemptsIn(seconds(600)), 19);
}

TEST_F(LoginPauseTest, RefusalIsRepeatedMeanwhile) {
  pause_.OnRefused("login", Error(ErrorCode::kPostgresLogin, "no such user"), now_);
  EXPECT_THAT(pause_.Check("login", now_),
              HasError(ErrorCode::kPostgresLogin, "no such user; the"));
  EXPECT_TRUE(pause_.Check("other", now_).ok());
}

TEST_F(LoginPauseTest, AcceptedLoginEndsThePauses) {
  AttemptsIn(seconds(600));
  pause_.OnAccepted("login");
  EXPECT_TRUE(pause_.Check("login", now_).ok());
  EXPECT_TRUE(pause_.Check("login", now_).ok());
}

TEST_F(LoginPauseTest, OneConnectionTriesAfterAPause) {
  pause_.OnRefused("login", Error(ErrorCode::kPostgresLogin, "no"), now_);
  now_ += seconds(1);
  EXPECT_TRUE(pause_.Check("login", now_).ok());
  EXPECT_FALSE(pause_.Check("login", now_).ok());
}

}  // namespace
}  // namespace walrelay
