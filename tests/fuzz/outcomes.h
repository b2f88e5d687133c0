/// Counts what became of damaged files, by the kind of error, and prints it.
#pragma once

#include <cctype>
#include <cstdio>
#include <map>
#include <string>

namespace skiff::testing {

class Outcomes {
 public:
  /// `message` is an error's text, or "" for a clean run. Names and numbers are blanked, so that kinds
  /// remain.
  void Add(const std::string& message) {
    ++total_;
    ++kinds_[message.empty() ? "ran" : Kind(message)];
  }
  int total() const { return total_; }
  int ran() const {
    const auto found = kinds_.find("ran");
    return found == kinds_.end() ? 0 : found->second;
  }
  int Matching(const std::string& part) const {
    int count = 0;
    for (const auto& [kind, n] : kinds_) count += kind.find(part) != std::string::npos ? n : 0;
    return count;
  }
  size_t kinds() const { return kinds_.size(); }

  void Print(const char* title) const {
    std::printf("%s: %d files\n", title, total_);
    for (const auto& [kind, count] : kinds_) std::printf("%7d  %s\n", count, kind.c_str());
  }

 private:
  static std::string Kind(const std::string& message) {
    std::string kind;
    bool quoted = false;
    for (const char c : message) {
      if (c == '\n') break;
      const bool opens =
          kind.empty() || kind.back() == ' ' || kind.back() == '(';  // Not the one in "model's".
      if (c == '\'' && (quoted || opens)) {
        quoted = !quoted;
        continue;
      }
      if (quoted || static_cast<unsigned char>(c) >= 0x80 || !std::isprint(static_cast<unsigned char>(c)))
        continue;
      if (std::isdigit(static_cast<unsigned char>(c))) {
        if (kind.empty() || kind.back() != '#') kind += '#';
      } else {
        kind += c;
      }
    }
    return kind.substr(0, 110);
  }

  int total_ = 0;
  std::map<std::string, int> kinds_;
};

}  // namespace skiff::testing
