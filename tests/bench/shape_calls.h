/// Calls whose shapes change, and the ways to serve them. One round of calls with a size that was not there
/// for long: it is new, it comes again, then the size before it, then it again. Every way makes the same
/// calls, and between two calls of one way all others make one, so that none finds its memory warmer than the
/// others do.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "run/opened_model.h"

namespace skiff::bench {

/// Sizes of all Symbols, and inputs of these sizes.
struct SizedCall {
  std::vector<int64_t> sizes;
  NamedTensors inputs;
};

/// Up to `count` different sizes within the contract, `most` where it has no end. Throws Error where there
/// are fewer than four, so that a size could not be long ago.
std::vector<SizedCall> DrawCalls(const Model& model, size_t count, int64_t most);

enum class CallKind { kNew, kSame, kBefore, kBack };
inline constexpr CallKind kRound[] = {CallKind::kNew, CallKind::kSame, CallKind::kBefore, CallKind::kBack};
inline constexpr size_t kRoundCalls = sizeof(kRound) / sizeof(kRound[0]);

/// What calls are timed with, in nanoseconds: the wall's clock, or the time that this thread had a processor,
/// which on a busy machine leaves out what others took.
using Clock = uint64_t (*)();
uint64_t ThreadNanoseconds();

/// One way to serve the calls.
class Way {
 public:
  /// A Session that keeps `kept` shapes; 0: a new Session for each call.
  Way(std::string name, const std::vector<uint8_t>& file, int kept, Clock clock);

  void Call(const SizedCall& call, CallKind kind);

  const std::string& name() const { return name_; }
  const PlanData& first_plan() const { return opened_.data().signatures[0].plans[0]; }
  const Model& model() { return opened_.model(); }
  /// In microseconds, in the order of the rounds.
  const std::vector<double>& times(CallKind kind) const { return times_[static_cast<size_t>(kind)]; }
  void Forget();

 private:
  std::string name_;
  OpenedModel opened_;
  SessionOptions options_;
  bool anew_;
  Clock clock_;
  std::unique_ptr<Session> session_;
  std::vector<double> times_[kRoundCalls];
};

/// The calls of round number `round`, each made by every way in turn.
void RunRound(size_t round, const std::vector<SizedCall>& calls, const std::vector<Way*>& ways);

/// By how many bytes the resident memory of a process grows, at its peak, that opens the file and makes
/// rounds of calls in this way. Forks; call it while there is one thread.
uint64_t PeakBytes(const std::vector<uint8_t>& file, int kept, const std::vector<SizedCall>& calls,
                   size_t rounds);

}  // namespace skiff::bench
