// Operators that move elements: the integers stay what they are.
#include "tests/converter/quantized/operator_cases.h"

namespace skiff::testing {
namespace {

using Position = std::vector<int64_t>;

/// The integer at a position of an input.
int64_t At(const Operands& o, size_t input, const Position& position) {
  int64_t element = 0;
  for (size_t axis = 0; axis < position.size(); ++axis)
    element = element * o.shape(input)[static_cast<int>(axis)] + position[axis];
  return o.inputs[input].ToInts()[static_cast<size_t>(element)];
}

using Source = int64_t (*)(const Operands& o, const Position& at);

/// The results have one shape; `source` gives the element at a position of one.
Expectation Moved(const Shape& shape, Source source) {
  return [shape, source](const Operands& o) -> Expected {
    Stored moved{shape, {}};
    for (int64_t i = 0; i < shape.elements(); ++i) {
      Position at(static_cast<size_t>(shape.rank()));
      int64_t rest = i;
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        at[static_cast<size_t>(axis)] = rest % shape[axis];
        rest /= shape[axis];
      }
      moved.elements.push_back(source(o, at));
    }
    return moved;
  };
}

/// The same elements in the same order.
Expectation Kept(const Shape& shape) {
  return [shape](const Operands& o) -> Expected { return Stored{shape, o.inputs[0].ToInts()}; };
}

void AddCopies(CaseTable& table) {
  table.push_back(
      {"Reshape_u8",
       "input x: u8[2, 3, 4] {scale=0.1, zero_point=9} const s: i64[2] = [6, -1] y = Reshape(x, s)",
       Kept({6, 4})});
  table.push_back({"Flatten_i8", "input x: i8[2, 3, 4] {scale=0.1, zero_point=9} y = Flatten(x) {axis=1}",
                   Kept({2, 12})});
  table.push_back(
      {"Squeeze_i16", "input x: i16[2, 1, 4] {scale=0.1} y = Squeeze(x) {axes=[1]}", Kept({2, 4})});
  table.push_back({"Unsqueeze_u16",
                   "input x: u16[2, 4] {scale=0.1, zero_point=40000} y = Unsqueeze(x) {axes=[1]}",
                   Kept({2, 1, 4})});
  table.push_back({"Identity_i32", "input x: i32[2, 4] {scale=0.1} y = Identity(x)", Kept({2, 4})});
  table.push_back(
      {"Identity_channels", "input x: i8[4, 2] {scale=[0.1, 0.2], axis=1} y = Identity(x)", Kept({4, 2})});
  table.push_back(
      {"ToCodes_u8", "input x: u8[2, 4] {scale=0.1, zero_point=9} y = ToCodes(x) {to=u8}", Kept({2, 4})});
  table.push_back({"ToCodes_channels", "input x: i8[4, 2] {scale=[0.1, 0.2], axis=1} y = ToCodes(x) {to=i8}",
                   Kept({4, 2})});
  table.push_back(
      {"FromCodes_i16", "input x: i16[2, 4] y: i16 {scale=0.1, zero_point=-7} = FromCodes(x)", Kept({2, 4})});
  table.push_back({"FromCodes_channels",
                   "input x: i32[2, 4] y: i32 {scale=[0.1, 0.3], axis=0} = FromCodes(x)", Kept({2, 4})});
}

/// Negative codes count from the table's end.
int64_t LookedUp(const Operands& o, const Position& at) {
  const int64_t code = At(o, 0, at);
  return At(o, 1, {code < 0 ? code + 256 : code});
}

void AddLookups(CaseTable& table) {
  table.push_back({"Lookup_i8",
                   "input x: i8[20, 30] {scale=0.1, zero_point=9} const t: u8[256] {scale=0.5} = seed 3 "
                   "y = Lookup(x, t)",
                   Moved({20, 30}, LookedUp)});
  table.push_back({"Lookup_u8_plain",
                   "input x: u8[20, 30] const t: i8[256] {scale=0.5} = seed 4 y = Lookup(x, t)",
                   Moved({20, 30}, LookedUp)});
}

void AddRearrangements(CaseTable& table) {
  const Source turned = [](const Operands& o, const Position& at) { return At(o, 0, {at[1], at[2], at[0]}); };
  table.push_back({"Transpose_u8",
                   "input x: u8[2, 3, 4] {scale=0.1, zero_point=9} y = Transpose(x) {perm=[2, 0, 1]}",
                   Moved({4, 2, 3}, turned)});
  table.push_back({"Transpose_channels",
                   "input x: i8[2, 3, 4] {scale=[0.1, 0.2, 0.3], axis=1} y = Transpose(x) {perm=[2, 0, 1]}",
                   Moved({4, 2, 3}, turned)});
  table.push_back({"ChannelShuffle_i8", "input x: i8[5, 6] {scale=0.1} y = ChannelShuffle(x) {groups=2}",
                   Moved({5, 6}, [](const Operands& o, const Position& at) {
                     return At(o, 0, {at[0], at[1] % 2 * 3 + at[1] / 2});
                   })});
  table.push_back(
      {"ReverseSequence_u8",
       "input x: u8[4, 3, 2] {scale=0.1, zero_point=9} const n: i64[3] = [3, 1, 4] y = ReverseSequence(x, n)",
       Moved({4, 3, 2}, [](const Operands& o, const Position& at) {
         const int64_t length = o.inputs[1].ToInts()[static_cast<size_t>(at[1])];
         return At(o, 0, {at[0] < length ? length - 1 - at[0] : at[0], at[1], at[2]});
       })});
}

void AddPieces(CaseTable& table) {
  table.push_back({"Concat_i8",
                   "input a: i8[2, 3] {scale=0.1, zero_point=4} input b: i8[2, 1] {scale=0.1, zero_point=4} "
                   "input c: i8[2, 2] {scale=0.1, zero_point=4} y = Concat(a, b, c) {axis=1}",
                   Moved({2, 6}, [](const Operands& o, const Position& at) {
                     if (at[1] < 3) return At(o, 0, at);
                     return at[1] < 4 ? At(o, 1, {at[0], 0}) : At(o, 2, {at[0], at[1] - 4});
                   })});
  table.push_back({"Split_u8",
                   "input x: u8[3, 8] {scale=0.1, zero_point=9} a, b = Split(x, _) {axis=1, parts=2}",
                   Moved({3, 4}, [](const Operands& o, const Position& at) {
                     return At(o, 0, {at[0], at[1] + 4 * static_cast<int64_t>(o.output)});
                   })});
  table.push_back(
      {"Slice_i8",
       "input x: i8[5, 9] {scale=0.1} const s: i64[2] = [4, 1] const e: i64[2] = [-9, 8] const a: i64[2] = "
       "[0, 1] const t: i64[2] = [-2, 3] y = Slice(x, s, e, a, t)",
       Moved({3, 3}, [](const Operands& o, const Position& at) {
         return At(o, 0, {4 - 2 * at[0], 1 + 3 * at[1]});
       })});
}

void AddRepeats(CaseTable& table) {
  table.push_back({"Expand_u8",
                   "input x: u8[3, 1] {scale=0.1, zero_point=9} const s: i64[3] = [2, 3, 4] y = Expand(x, s)",
                   Moved({2, 3, 4}, [](const Operands& o, const Position& at) {
                     return At(o, 0, {at[1], 0});
                   })});
  table.push_back({"Tile_i8", "input x: i8[3, 2] {scale=0.1} const n: i64[2] = [2, 3] y = Tile(x, n)",
                   Moved({6, 6}, [](const Operands& o, const Position& at) {
                     return At(o, 0, {at[0] % 3, at[1] % 2});
                   })});
  table.push_back(
      {"Gather_i8",
       "input x: i8[3, 5, 2] {scale=0.1, zero_point=-4} const i: i64[2, 2] = [4, 0, -1, 2] y = Gather(x, i) "
       "{axis=1}",
       Moved({3, 2, 2, 2}, [](const Operands& o, const Position& at) {
         const int64_t index = At(o, 1, {at[1], at[2]});
         return At(o, 0, {at[0], index < 0 ? index + 5 : index, at[3]});
       })});
  table.push_back({"GatherElements_u8",
                   "input x: u8[4, 3] {scale=0.1, zero_point=9} const i: i64[2, 3] = [3, 0, 2, 1, -1, 0] y = "
                   "GatherElements(x, i) {axis=0}",
                   Moved({2, 3}, [](const Operands& o, const Position& at) {
                     const int64_t index = At(o, 1, at);
                     return At(o, 0, {index < 0 ? index + 4 : index, at[1]});
                   })});
  table.push_back(
      {"GatherND_i16",
       "input x: i16[4, 3, 2] {scale=0.1} const i: i64[3, 2] = [3, 0, 1, 2, 0, 1] y = GatherND(x, i)",
       Moved({3, 2}, [](const Operands& o, const Position& at) {
         return At(o, 0, {At(o, 1, {at[0], 0}), At(o, 1, {at[0], 1}), at[1]});
       })});
}

}  // namespace

void AddMoveCases(CaseTable& table) {
  AddCopies(table);
  AddLookups(table);
  AddRearrangements(table);
  AddPieces(table);
  AddRepeats(table);
}

}  // namespace skiff::testing
