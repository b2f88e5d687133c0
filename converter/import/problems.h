/// What a model uses that cannot be imported: collected, and told all at once.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace skiff {

class Problems {
 public:
  /// `what` is one line of the message, which names some of the places (`name`); the remedy is a sentence.
  void Add(const std::string& what, const std::string& remedy, const std::string& name);
  /// Throws Error (kUnsupported) where there are some.
  void Throw() const;

 private:
  struct Problem {
    std::vector<std::string> names;
    size_t count = 0;
    std::string remedy;
  };

  std::vector<std::string> order_;
  std::map<std::string, Problem> problems_;
};

}  // namespace skiff
