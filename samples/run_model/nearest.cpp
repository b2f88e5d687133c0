#include "nearest.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

namespace {

/// Longer names are compared by their beginnings.
constexpr int kMostLetters = 100;

bool Same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// How many letters have to be changed, added, left out or swapped with their neighbour.
int EditDistance(const char* a, int a_length, const char* b, int b_length) {
  int rows[3][kMostLetters + 1];
  int* two_above = rows[0];
  int* above = rows[1];
  int* row = rows[2];
  for (int j = 0; j <= b_length; ++j) row[j] = j;
  for (int i = 1; i <= a_length; ++i) {
    std::swap(two_above, above);
    std::swap(above, row);
    row[0] = i;
    for (int j = 1; j <= b_length; ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (Same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && Same(a[i - 1], b[j - 2]) && Same(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b_length];
}

}  // namespace

Nearest::Nearest(const char* name, int length)
    : name_(name), length_(std::min(length, kMostLetters)), least_(std::max(length_ / 3, 1) + 1) {}

void Nearest::Offer(const char* known) {
  const auto length = static_cast<int>(strnlen(known, kMostLetters));
  const bool begins = length >= length_ && std::equal(name_, name_ + length_, known, Same);
  if (longer_ == nullptr && begins && length_ > 1) longer_ = known;
  // One letter of one is all of it.
  if (std::min(length, length_) < 2 && !(begins && length == length_)) return;
  const int distance = EditDistance(name_, length_, known, length);
  if (distance >= least_) return;
  least_ = distance;
  found_ = known;
}

void Nearest::Print() const {
  const char* const meant = found_ != nullptr ? found_ : longer_;
  if (meant != nullptr) std::fprintf(stderr, " (did you mean '%s'?)", meant);
}
