#include "checkpoint/stream/ordered_work.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

// Earlier pieces take longer, so that they come out of order.
void Linger(int i) { std::this_thread::sleep_for(std::chrono::microseconds(300 - 100 * (i % 4))); }

class OrderedWorkTest : public testing::TestWithParam<int> {};

TEST_P(OrderedWorkTest, CommitsInOrderWithinALaneAndHoldsTheBudget) {
  constexpr int kPieces = 120, kLanes = 3;
  constexpr std::int64_t kMemory = 100;
  MemoryBudget memory(kMemory);
  std::vector<int> committed[kLanes];
  std::atomic<int> committing[kLanes] = {};
  std::atomic<std::int64_t> held = 0, most = 0;
  std::atomic<int> in_flight = 0, most_in_flight = 0;
  int next = 0;
  const absl::Status status =
      RunOrdered(GetParam(), 5, memory, nullptr, [&]() -> absl::StatusOr<std::optional<Piece>> {
        if (next == kPieces) return std::nullopt;
        const int i = next++;
        Piece piece;
        piece.lane = static_cast<std::size_t>(i % kLanes);
        piece.memory = 10 + i % 40;
        piece.work = [&, i, bytes = piece.memory]() -> absl::StatusOr<Commit> {
          most = std::max<std::int64_t>(most, held += bytes);
          most_in_flight = std::max<int>(most_in_flight, ++in_flight);
          Linger(i);
          return Commit([&, i, bytes] {
            EXPECT_EQ(++committing[i % kLanes], 1) << "two commits in one lane";
            committed[i % kLanes].push_back(i);
            --committing[i % kLanes];
            held -= bytes;
            --in_flight;
            return absl::OkStatus();
          });
        };
        return piece;
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_LE(most, kMemory);
  EXPECT_LE(most_in_flight, 5);
  for (int lane = 0; lane < kLanes; ++lane) {
    ASSERT_EQ(committed[lane].size(), static_cast<std::size_t>(kPieces / kLanes));
    for (int i = 0; i < kPieces / kLanes; ++i) EXPECT_EQ(committed[lane][i], i * kLanes + lane);
  }
}

// A write waits for no earlier piece: the first piece of each lane ends last of its round.
TEST_P(OrderedWorkTest, WritesOneAtATimeInALaneAndBeforeTheirCommits) {
  constexpr int kPieces = 120, kLanes = 3;
  MemoryBudget memory(1000);
  std::vector<int> committed[kLanes];
  std::atomic<bool> written[kPieces] = {};
  std::atomic<int> writing[kLanes] = {};
  std::atomic<int> early = 0;  // writes that an earlier piece of the lane had not had yet
  int next = 0;
  const absl::Status status =
      RunOrdered(GetParam(), 12, memory, nullptr, [&]() -> absl::StatusOr<std::optional<Piece>> {
        if (next == kPieces) return std::nullopt;
        const int i = next++;
        const int lane = i % kLanes;
        Piece piece;
        piece.lane = static_cast<std::size_t>(lane);
        piece.work = [&, i, lane]() -> absl::StatusOr<Rest> {
          if (i / kLanes % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          const auto write = [&, i, lane] {
            EXPECT_EQ(++writing[lane], 1) << "two writes in one lane";
            if (i >= kLanes && !written[i - kLanes]) ++early;
            written[i] = true;
            --writing[lane];
            return absl::OkStatus();
          };
          return Rest(write, [&, i, lane] {
            EXPECT_TRUE(written[i]) << "piece " << i << " was committed before it was written";
            committed[lane].push_back(i);
            return absl::OkStatus();
          });
        };
        return piece;
      });
  EXPECT_TRUE(status.ok()) << status;
  for (int lane = 0; lane < kLanes; ++lane) {
    ASSERT_EQ(committed[lane].size(), static_cast<std::size_t>(kPieces / kLanes));
    for (int i = 0; i < kPieces / kLanes; ++i) EXPECT_EQ(committed[lane][i], i * kLanes + lane);
  }
  if (GetParam() > 2) {
    EXPECT_GT(early, 0) << "every write waited for the pieces before it";
  }
}

TEST_P(OrderedWorkTest, AFailedWriteIsTheErrorAndIsNotCommitted) {
  MemoryBudget memory(1000);
  int next = 0;
  std::atomic<int> committed = 0;
  const absl::Status status =
      RunOrdered(GetParam(), 8, memory, nullptr, [&]() -> absl::StatusOr<std::optional<Piece>> {
        const int i = next++;
        if (i == 1000) return std::nullopt;
        return Piece{0, 1, [&committed, i] {
                       return Rest(
                           [i] { return i == 20 ? absl::DataLossError("20") : absl::OkStatus(); },
                           [&committed, i] {
                             committed = std::max<int>(committed, i);
                             return absl::OkStatus();
                           });
                     }};
      });
  EXPECT_EQ(status, absl::DataLossError("20"));
  EXPECT_LT(committed, 20);
  EXPECT_LT(next, 60) << "it went on dealing";
}

TEST_P(OrderedWorkTest, APieceLargerThanTheBudgetPassesAlone) {
  MemoryBudget memory(10);
  std::atomic<int> in_flight = 0;
  int next = 0, done = 0;
  const absl::Status status =
      RunOrdered(GetParam(), 8, memory, nullptr, [&]() -> absl::StatusOr<std::optional<Piece>> {
        if (next++ == 20) return std::nullopt;
        Piece piece;
        piece.memory = 1000;
        piece.work = [&]() -> absl::StatusOr<Commit> {
          EXPECT_EQ(++in_flight, 1);
          return Commit([&] {
            ++done;
            --in_flight;
            return absl::OkStatus();
          });
        };
        return piece;
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(done, 20);
}

// Of several failures the first one by order is told, whoever comes first.
TEST_P(OrderedWorkTest, TheEarliestFailureIsTheError) {
  for (const bool in_commit : {false, true}) {
    MemoryBudget memory(1000);
    int next = 0;
    std::atomic<int> late_commits = 0;
    const absl::Status status =
        RunOrdered(GetParam(), 8, memory, nullptr, [&]() -> absl::StatusOr<std::optional<Piece>> {
          const int i = next++;
          if (i == 1000) return std::nullopt;
          Piece piece;
          piece.work = [&, i]() -> absl::StatusOr<Commit> {
            Linger(i);
            const absl::Status fault =
                i >= 20 ? absl::DataLossError(std::to_string(i)) : absl::OkStatus();
            if (!in_commit && !fault.ok()) return fault;
            return Commit([&, i, fault] {
              if (i > 20) ++late_commits;
              return fault;
            });
          };
          return piece;
        });
    EXPECT_EQ(status, absl::DataLossError("20"));
    EXPECT_EQ(late_commits, 0);
    EXPECT_LT(next, 40) << "it went on dealing";
  }
}

TEST_P(OrderedWorkTest, AFailingDealerEndsIt) {
  MemoryBudget memory(1000);
  int next = 0;
  const absl::Status status =
      RunOrdered(GetParam(), 8, memory, nullptr, [&]() -> absl::StatusOr<std::optional<Piece>> {
        if (next++ == 7) return absl::InternalError("no more");
        return Piece{0, 1, [] { return Commit([] { return absl::OkStatus(); }); }};
      });
  EXPECT_EQ(status, absl::InternalError("no more"));
}

TEST_P(OrderedWorkTest, CancelEndsIt) {
  MemoryBudget memory(1000);
  std::atomic<bool> cancel = false;
  int next = 0;
  const absl::Status status =
      RunOrdered(GetParam(), 8, memory, &cancel, [&]() -> absl::StatusOr<std::optional<Piece>> {
        if (next++ == 50) cancel = true;
        return Piece{0, 1, [] { return Commit([] { return absl::OkStatus(); }); }};
      });
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_LT(next, 60);
}

INSTANTIATE_TEST_SUITE_P(Threads, OrderedWorkTest, testing::Values(1, 2, 7));

}  // namespace
}  // namespace lanewise
