/// The operations that a shape rule needs of an extent type, for concrete extents. The converter overloads
/// the same names for expressions (graph/dim.h); there, SameExtent is false only where two are never equal:
/// the device asks again, with numbers, at every new shape.
#pragma once

#include <cstdint>

namespace skiff {

inline bool IsKnown(int64_t) { return true; }
inline int64_t KnownValue(int64_t extent) { return extent; }

inline int64_t FloorDivide(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}
inline int64_t CeilDivide(int64_t a, int64_t b) { return -FloorDivide(-a, b); }
inline int64_t MaxExtent(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t MinExtent(int64_t a, int64_t b) { return a < b ? a : b; }
inline bool SameExtent(int64_t a, int64_t b) { return a == b; }
/// What two extents that are broadcast with each other give, when neither is known to be 1.
inline int64_t BroadcastExtent(int64_t a, int64_t) { return a; }

/// Products and sums of extents from a file may not wrap around; these say so instead.
inline bool MultiplyOverflows(int64_t a, int64_t b, int64_t* product) {
  return __builtin_mul_overflow(a, b, product);
}

/// a + b and a * b of extents, or of numbers from a file; false when known numbers do not fit.
template <class D>
bool CheckedAdd(const D& a, const D& b, D* sum) {
  int64_t known = 0;
  if (!IsKnown(a) || !IsKnown(b)) {
    *sum = a + b;
    return true;
  }
  if (__builtin_add_overflow(KnownValue(a), KnownValue(b), &known)) return false;
  *sum = D(known);
  return true;
}
template <class D>
bool CheckedMultiply(const D& a, const D& b, D* product) {
  int64_t known = 0;
  if (!IsKnown(a) || !IsKnown(b)) {
    *product = a * b;
    return true;
  }
  if (MultiplyOverflows(KnownValue(a), KnownValue(b), &known)) return false;
  *product = D(known);
  return true;
}

inline bool IsPositive(int64_t number) { return number > 0; }

/// Whether two extents can be broadcast with each other: at some size, where they are open.
template <class D>
bool CanBroadcast(const D& a, const D& b) {
  return SameExtent(a, b) || SameExtent(a, D(1)) || SameExtent(b, D(1));
}

/// Whether a number can be taken as an extent; a symbolic one must be provable, or leaves a guard.
template <class D>
bool IsNonNegative(const D& number) {
  return IsKnown(number) ? KnownValue(number) >= 0 : SameExtent(MaxExtent(number, D(0)), number);
}

}  // namespace skiff
