/// The name that was likely meant, for messages about one that there is not; as the tool finds it.
#pragma once

class Nearest {
 public:
  /// Of a name of `length` letters, which outlives this.
  Nearest(const char* name, int length);
  /// One of the names that there are, which outlives this as well.
  void Offer(const char* known);
  /// Prints " (did you mean 'x'?)" to standard error; nothing where none is near.
  void Print() const;

 private:
  const char* const name_;
  const int length_;
  int least_;  ///< Fewer letters than these differ in what is found next.
  const char* found_ = nullptr;
  const char* longer_ = nullptr;  ///< The first that begins with the name.
};
