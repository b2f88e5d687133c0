#include "import/problems.h"

#include "graph/counted.h"
#include "graph/error.h"

namespace skiff {
namespace {

/// Places named in one line.
constexpr size_t kNamesInMessage = 3;

}  // namespace

void Problems::Add(const std::string& what, const std::string& remedy, const std::string& name) {
  const auto [place, added] = problems_.try_emplace(what);
  Problem& problem = place->second;
  if (added) order_.push_back(what);
  problem.remedy = remedy;
  ++problem.count;
  if (problem.names.size() < kNamesInMessage) problem.names.push_back("'" + name + "'");
}

void Problems::Throw() const {
  if (problems_.empty()) return;
  const size_t count = problems_.size();
  std::string message = fmt::format("the model uses {} that Skiff cannot import:", Counted(count, "thing"));
  for (const std::string& what : order_) {
    const Problem& problem = problems_.at(what);
    message += fmt::format("\n  - {} ({}: {}{}).{}{}", what, Counted(problem.count, "time"),
                           fmt::join(problem.names, ", "), AndMore(problem.count, problem.names.size()),
                           problem.remedy.empty() ? "" : " ", problem.remedy);
  }
  throw Error(StatusCode::kUnsupported, message);
}

}  // namespace skiff
