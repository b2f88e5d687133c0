/// Names of things that must not share one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

namespace skiff {

/// Names that are taken one after the other; NAME_2, NAME_3, ... where one is gone.
class DistinctNames {
 public:
  DistinctNames() = default;
  explicit DistinctNames(std::set<std::string> taken) : taken_(std::move(taken)) {}

  /// `wanted`, or `other` with a number where that is taken.
  std::string Take(const std::string& wanted, const std::string& other);
  std::string Take(const std::string& wanted) { return Take(wanted, wanted); }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int>
      numbers_;  ///< The last of each name: of thousands of one name none counts from the beginning.
};

}  // namespace skiff
