#include "checkpoint/stream/ordered_work.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "weights/parallel.h"

namespace lanewise {
namespace {

class Runner {
 public:
  Runner(int most_in_flight, MemoryBudget& memory, const std::atomic<bool>* cancel,
         const NextPiece& next)
      : most_in_flight_(most_in_flight), memory_(memory), cancel_(cancel), next_(next) {}

  void Work() {
    while (std::optional<Dealt> dealt = Deal()) {
      absl::StatusOr<Rest> rest = dealt->piece.work();
      if (!rest.ok()) {
        Fail(dealt->index, rest.status());
        Return(dealt->piece.memory);
        continue;
      }
      Hand(*dealt, *std::move(rest));
    }
  }

  absl::Status Result() const { return failed_ ? status_ : absl::OkStatus(); }

 private:
  struct Dealt {
    std::int64_t index = 0;    // among all
    std::int64_t in_lane = 0;  // among its lane's
    Piece piece;
  };

  struct Made {
    std::int64_t index = 0;
    std::int64_t in_lane = 0;
    std::int64_t memory = 0;
    Rest rest;
  };

  struct Lane {
    std::int64_t dealt = 0;
    bool writing = false;  // a thread writes
    std::deque<Made> unwritten;
    bool committing = false;  // a thread commits
    std::int64_t next = 0;    // to commit
    std::map<std::int64_t, Made> ready;
  };

  // The next piece, its memory taken. Threads wait here in turn, so that an earlier piece never
  // waits for what a later one holds.
  std::optional<Dealt> Deal() {
    const std::lock_guard one_dealer(deal_);
    {
      std::unique_lock lock(mutex_);
      landed_.wait(lock, [&] { return failed_ || in_flight_ < most_in_flight_; });
      if (failed_ || ended_) return std::nullopt;
    }
    if (cancel_ != nullptr && *cancel_) {
      Fail(dealt_, absl::CancelledError("interrupted"));
      return std::nullopt;
    }
    absl::StatusOr<std::optional<Piece>> piece = next_();
    if (!piece.ok()) {
      Fail(dealt_, piece.status());
      return std::nullopt;
    }
    if (!piece->has_value()) {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      return std::nullopt;
    }
    if (!memory_.Take((*piece)->memory)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    ++in_flight_;
    Dealt dealt = {dealt_++, lanes_[(*piece)->lane].dealt++, **std::move(piece)};
    return dealt;
  }

  void Hand(const Dealt& dealt, Rest rest) {
    std::unique_lock lock(mutex_);
    Lane& lane = lanes_[dealt.piece.lane];
    Made made = {dealt.index, dealt.in_lane, dealt.piece.memory, std::move(rest)};
    if (made.rest.write) {
      lane.unwritten.push_back(std::move(made));
    } else {
      lane.ready.emplace(dealt.in_lane, std::move(made));
    }
    WriteWaiting(lane, lock);
    CommitReady(lane, lock);
  }

  // Writes what waits in the lane, unless another thread does.
  void WriteWaiting(Lane& lane, std::unique_lock<std::mutex>& lock) {
    if (lane.writing) return;
    lane.writing = true;
    while (!failed_ && !lane.unwritten.empty()) {
      Made made = std::move(lane.unwritten.front());
      lane.unwritten.pop_front();
      lock.unlock();
      absl::Status status = made.rest.write();
      made.rest.write = nullptr;
      if (!status.ok()) {
        Fail(made.index, std::move(status));
        made.rest.commit = nullptr;  // what it held goes before its memory counts as free
        Return(made.memory);
      }
      lock.lock();
      if (made.rest.commit) lane.ready.emplace(made.in_lane, std::move(made));
    }
    lane.writing = false;
  }

  // Commits what is ready in the lane, unless another thread does.
  void CommitReady(Lane& lane, std::unique_lock<std::mutex>& lock) {
    if (lane.committing) return;
    lane.committing = true;
    while (!failed_ && !lane.ready.empty() && lane.ready.begin()->first == lane.next) {
      Made made = std::move(lane.ready.begin()->second);
      lane.ready.erase(lane.ready.begin());
      lock.unlock();
      absl::Status status = made.rest.commit();
      made.rest.commit = nullptr;  // what it held goes before its memory counts as free
      if (!status.ok()) Fail(made.index, std::move(status));
      Return(made.memory);
      lock.lock();
      ++lane.next;
    }
    lane.committing = false;
  }

  void Return(std::int64_t memory) {
    memory_.GiveBack(memory);
    {
      const std::lock_guard lock(mutex_);
      --in_flight_;
    }
    landed_.notify_one();
  }

  void Fail(std::int64_t index, absl::Status status) {
    {
      const std::lock_guard lock(mutex_);
      failed_ = true;
      if (index < failed_index_) {
        failed_index_ = index;
        status_ = std::move(status);
      }
    }
    memory_.Close();
    landed_.notify_all();
  }

  const int most_in_flight_;
  MemoryBudget& memory_;
  const std::atomic<bool>* const cancel_;
  const NextPiece& next_;

  std::mutex deal_;
  std::int64_t dealt_ = 0;  // changed with both locked

  std::mutex mutex_;  // for what follows; taken after deal_
  std::condition_variable landed_;
  std::map<std::size_t, Lane> lanes_;
  int in_flight_ = 0;
  bool ended_ = false;
  bool failed_ = false;
  std::int64_t failed_index_ = std::numeric_limits<std::int64_t>::max();
  absl::Status status_;
};

}  // namespace

absl::Status RunOrdered(int threads, int most_in_flight, MemoryBudget& memory,
                        const std::atomic<bool>* cancel, const NextPiece& next) {
  Runner runner(most_in_flight, memory, cancel, next);
  const std::function<void(std::int64_t)> work = [&](std::int64_t) { runner.Work(); };
  std::vector<std::thread> others = StartThreads(threads, work);
  runner.Work();
  for (std::thread& other : others) other.join();
  return runner.Result();
}

}  // namespace lanewise
