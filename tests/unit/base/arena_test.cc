#include "base/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "fakes/allocation_counter.h"

namespace walrelay {
namespace {

constexpr size_t kBlock = 16 * 1024;
constexpr size_t kLargestSmall = kBlock / 4;  // larger pieces get their own block

class ArenaTest : public ::testing::Test {
 protected:
  // Of a thousand calls of `row`, after the first.
  template <typename Row>
  static uint64_t AllocationsInSteadyState(const Row& row) {
    row();
    return testing::AllocationsDuring([&] {
      for (int i = 0; i < 1'000; ++i) {
        row();
      }
    });
  }
  // Allocates `size` bytes and fills them with the number of the piece.
  void Take(size_t size) {
    char* bytes = arena_.Allocate(size);
    std::memset(bytes, static_cast<char>(pieces_.size()), size);
    pieces_.emplace_back(bytes, size);
  }
  void Clear() {
    arena_.Clear();
    pieces_.clear();
  }
  void ExpectEveryPieceAsWritten() const {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      EXPECT_TRUE(pieces_[i] == std::string(pieces_[i].size(), static_cast<char>(i)))
          << "piece " << i;
    }
  }

  Arena arena_;
  std::vector<std::string_view> pieces_;
};

TEST_F(ArenaTest, PiecesStayValidUntilClear) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 250; ++i) {
    Take(random() % (2 * kLargestSmall));
  }
  ExpectEveryPieceAsWritten();
}

TEST_F(ArenaTest, PiecesDoNotOverlap) {
  for (const size_t size :
       {size_t{1}, kLargestSmall, kLargestSmall, kLargestSmall, kLargestSmall - 1, size_t{1},
        kLargestSmall + 1, size_t{0}, kBlock, kBlock + 1, size_t{1}}) {
    Take(size);
  }
  ExpectEveryPieceAsWritten();
}

TEST_F(ArenaTest, ZeroBytesAllocateANonNullPointer) {
  EXPECT_NE(arena_.Allocate(0), nullptr);
  EXPECT_NE(Arena().Allocate(0), nullptr);
}

TEST_F(ArenaTest, SteadyStateAllocatesNothing) {
  const auto row = [this] {
    for (int i = 0; i < 10; ++i) {
      arena_.Allocate(kLargestSmall);
    }
    arena_.Clear();
  };
  EXPECT_EQ(AllocationsInSteadyState(row), 0u);
}

TEST_F(ArenaTest, SteadyStateOfLargePiecesAllocatesNothing) {
  const auto row = [this] {
    arena_.Allocate(10);
    arena_.Allocate(size_t{500} << 10);
    arena_.Allocate(10);
    arena_.Clear();
  };
  EXPECT_EQ(AllocationsInSteadyState(row), 0u);
}

TEST_F(ArenaTest, ClearMakesMemoryReusable) {
  const char* first = arena_.Allocate(100);
  arena_.Clear();
  EXPECT_EQ(arena_.Allocate(100), first);
}

TEST_F(ArenaTest, ClearReleasesALargePiece) {
  arena_.Allocate(1);
  const size_t before = testing::LiveBytes();
  arena_.Allocate(size_t{64} << 20);
  EXPECT_GE(testing::LiveBytes(), before + (size_t{64} << 20));
  arena_.Clear();
  EXPECT_LT(testing::LiveBytes(), before + kBlock);
}

}  // namespace
}  // namespace walrelay
