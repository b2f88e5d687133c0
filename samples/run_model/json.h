/// Writes JSON as it comes, two spaces deeper in each level; what was begun has to be ended.
#pragma once

#include <cstdint>
#include <cstdio>

class JsonWriter {
 public:
  explicit JsonWriter(std::FILE* to) : to_(to) {}
  /// In an object each value has a key, in an array none (null).
  void Begin(const char* key, char bracket);
  void End(char bracket);
  /// Bytes that are no UTF-8 are replaced.
  void Text(const char* key, const char* text);
  void Integer(const char* key, int64_t number);
  void Unsigned(const char* key, uint64_t number);
  /// NaN and infinities, which JSON does not have, are the strings "nan", "inf" and "-inf".
  void Real(const char* key, double number);
  void Flag(const char* key, bool value);

 private:
  void Key(const char* key);
  void Quoted(const char* text);

  std::FILE* const to_;
  int depth_ = 0;
  bool first_ = true;  ///< Nothing is in the innermost brackets yet.
};
