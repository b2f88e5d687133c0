// Nodes with quantised operands: products and moves.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "conformance_cases.h"
#include "conformance_codes.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

struct ConvolutionShape {
  const char* name;
  int64_t height, width, inputs, outputs, kernel_y, kernel_x, groups;
  Ints strides{1, 1};
  Ints dilations{1, 1};
  Ints pads{0, 0, 0, 0};
  AutoPad auto_pad = AutoPad::kExplicit;
};

const ConvolutionShape kConvolutions[] = {
    {"1x1", 7, 9, 13, 17, 1, 1, 1},
    {"1x1_wide", 5, 5, 64, 96, 1, 1, 1},
    {"1x1_one", 1, 1, 1, 1, 1, 1, 1},
    {"1x1_stride", 9, 9, 8, 24, 1, 1, 1, {2, 2}},
    {"1x1_groups", 6, 6, 12, 20, 1, 1, 4},
    {"3x3", 8, 8, 16, 16, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_odd_channels", 7, 5, 3, 11, 3, 3, 1, {2, 2}, {1, 1}, {0, 1, 1, 0}},
    {"3x3_dilated", 11, 12, 5, 6, 3, 3, 1, {1, 1}, {2, 3}, {2, 3, 2, 3}},
    {"3x3_groups", 8, 8, 12, 18, 3, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    // As many outputs as a vector has lanes.
    {"3x3_two_groups_of_8", 6, 5, 16, 16, 3, 3, 2, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_groups_of_8", 7, 9, 24, 24, 3, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_groups_of_8_stride", 9, 10, 56, 56, 3, 3, 7, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_groups_of_3_to_8", 6, 7, 15, 40, 3, 3, 5, {1, 1}, {1, 2}, {1, 1, 1, 1}},
    {"1x1_many_groups_of_8", 6, 7, 192, 192, 1, 1, 24},
    // Several become one.
    {"3x3_groups_of_4", 7, 6, 32, 32, 3, 3, 8, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_groups_of_2", 5, 6, 24, 24, 3, 3, 12, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_groups_of_2_to_4", 6, 5, 12, 24, 3, 3, 6, {1, 1}, {2, 1}, {1, 1, 1, 1}},
    {"depthwise_1x1", 6, 6, 19, 19, 1, 1, 19},
    {"3x3_deep", 3, 4, 260, 40, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_far_weights", 5, 6, 100, 100, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    // Winograd's tiles of 4 x 4: of whole vectors, and over the ends.
    {"3x3_tiles", 8, 8, 32, 32, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_tiles_over_ends", 11, 13, 37, 43, 3, 3, 1, {1, 1}, {1, 1}, {1, 0, 1, 2}},
    {"same_upper", 10, 9, 4, 8, 3, 3, 1, {2, 2}, {1, 1}, {0, 0, 0, 0}, AutoPad::kSameUpper},
    {"one_output_pixel", 5, 5, 6, 7, 5, 5, 1},
    {"depthwise_3x3", 9, 9, 24, 24, 3, 3, 24, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise_3x3_odd", 10, 7, 35, 35, 3, 3, 35, {2, 2}, {1, 1}, {0, 1, 1, 0}},
    {"depthwise_5x5", 12, 12, 16, 16, 5, 5, 16, {1, 1}, {1, 1}, {2, 2, 2, 2}},
    {"depthwise_5x5_stride", 13, 14, 40, 40, 5, 5, 40, {2, 2}, {1, 1}, {2, 2, 2, 2}},
    {"depthwise_7x7", 12, 12, 9, 9, 7, 7, 9, {1, 1}, {1, 1}, {3, 3, 3, 3}},
    {"depthwise_7x7_stride", 13, 11, 21, 21, 7, 7, 21, {2, 2}, {1, 1}, {3, 3, 3, 3}},
    {"depthwise_9x9", 12, 13, 37, 37, 9, 9, 37, {1, 1}, {1, 1}, {4, 4, 4, 4}},
    {"depthwise_11x11_stride", 14, 14, 21, 21, 11, 11, 21, {2, 2}, {1, 1}, {5, 5, 5, 5}},
    {"depthwise_line", 1, 70, 50, 50, 1, 31, 50, {1, 1}, {1, 1}, {0, 15, 0, 15}},
    {"depthwise_7x7_vectors", 11, 12, 37, 37, 7, 7, 37, {1, 1}, {1, 1}, {3, 3, 3, 3}},
    {"depthwise_pieces", 5, 83, 260, 260, 3, 3, 260, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise_pieces_stride", 4, 83, 100, 100, 5, 5, 100, {2, 2}, {1, 1}, {2, 2, 2, 2}},
    {"depthwise_narrow", 6, 1, 17, 17, 3, 3, 17, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"windows", 11, 13, 37, 29, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"windows_no_pads", 9, 8, 64, 80, 3, 3, 1},
    // What AMX has registers for: lines of several tiles, a panel of one vector, one of three, some outputs
    // of it.
    {"windows_long_lines", 4, 77, 64, 32, 3, 3, 1},
    {"windows_few_outputs", 5, 35, 48, 13, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"windows_taps_apart", 7, 23, 128, 42, 2, 2, 1, {2, 2}, {2, 3}, {1, 0, 0, 2}},
    {"windows_of_a_picture", 21, 45, 3, 70, 7, 7, 1, {2, 2}, {1, 1}, {3, 3, 3, 3}},
    {"depthwise_multiplier", 8, 8, 6, 18, 3, 3, 6, {1, 1}, {1, 1}, {1, 1, 1, 1}},
};

Case& AddConvolution(CaseList& list, const std::string& name, const ConvolutionShape& s, const Codes& codes) {
  const Shape weights{s.outputs, s.kernel_y, s.kernel_x, s.inputs / s.groups};
  Case& made =
      AddProduct(list, OpCode::kConv2d, name, Shape{2, s.height, s.width, s.inputs}, weights, 0, codes);
  auto& attrs = made.As<Conv2dAttrs>();
  attrs.strides = s.strides;
  attrs.dilations = s.dilations;
  attrs.pads = s.pads;
  attrs.auto_pad = s.auto_pad;
  attrs.groups = s.groups;
  return made;
}

void AddConvolutions(CaseList& list) {
  for (const ConvolutionShape& shape : kConvolutions) {
    const std::string name = shape.name;
    AddConvolution(list, name + "_i8", shape, {.bias = Bias::kAbsent});
    AddConvolution(list, name + "_i8_channels", shape, {.per_channel = true});
    AddConvolution(list, name + "_u8", shape, {.dtype = DType::kU8});
    AddConvolution(list, name + "_u8_middle", shape, {.dtype = DType::kU8, .weights_zero_point = 128});
    // Weights whose products with u8 16 bits hold two of.
    AddConvolution(list, name + "_i8_narrow", shape,
                   {.per_channel = true, .least_weight = -64.9, .most_weight = 64.9});
    AddConvolution(
        list, name + "_u8_narrow", shape,
        {.dtype = DType::kU8, .weights_zero_point = 128, .least_weight = -64, .most_weight = 64.9});
    Case& clamped = AddConvolution(list, name + "_clamped", shape, {.per_channel = true});
    clamped.As<Conv2dAttrs>().min = 0;
    clamped.As<Conv2dAttrs>().max = 0.9f;
    clamped.inputs[0].row_gap = 5;
    clamped.output_row_gap = 3;
  }
  // What takes less time by such tiles also where instructions multiply bytes.
  const ConvolutionShape many = {"", 24, 24, 64, 64, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  AddConvolution(list, "3x3_many_tiles", many, {.dtype = DType::kU8});
  const ConvolutionShape over_ends = {"", 22, 25, 65, 71, 3, 3, 1, {1, 1}, {1, 1}, {1, 0, 1, 2}};
  AddConvolution(list, "3x3_many_tiles_over_ends", over_ends, {.per_channel = true});
  // 64 times sums that fit 32 bits, then such that do not, of i8 and of u8 (64 times 60 million and more).
  const ConvolutionShape deep = {"", 8, 8, 512, 32, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  AddConvolution(list, "3x3_fitting_sums", deep, {.per_channel = true});
  AddConvolution(
      list, "3x3_long_sums_i8", deep,
      {.per_channel = true, .y_scale = 400, .least_weight = 100, .most_weight = 127, .largest = true});
  AddConvolution(
      list, "3x3_long_sums_u8", deep,
      {.dtype = DType::kU8, .y_scale = 400, .least_weight = 100, .most_weight = 127, .largest = true});
  const ConvolutionShape& plain = kConvolutions[5];
  AddConvolution(list, "f32_bias", plain, {.per_channel = true, .bias = Bias::kF32});
  AddConvolution(list, "other_bias", plain, {.per_channel = true, .bias = Bias::kOtherScale});
  const auto depthwise =
      std::find_if(std::begin(kConvolutions), std::end(kConvolutions),
                   [](const auto& shape) { return std::string_view(shape.name) == "depthwise_3x3"; });
  AddConvolution(list, "depthwise_other_bias", *depthwise, {.per_channel = true, .bias = Bias::kOtherScale});
  AddConvolution(list, "depthwise_large_bias", *depthwise, {.bias = Bias::kLarge, .y_scale = 100});
  AddConvolution(list, "f32_bias_u8", plain, {.dtype = DType::kU8, .bias = Bias::kF32});
  AddConvolution(list, "dead_channels", plain, {.per_channel = true, .dead = true});
  AddConvolution(list, "saturating", plain, {.per_channel = true, .y_scale = 0.004f});
  AddConvolution(list, "large_factor", plain, {.y_scale = 0.0001f});
  Case& one_code = AddConvolution(list, "one_code", plain, {});
  one_code.As<Conv2dAttrs>().min = one_code.As<Conv2dAttrs>().max = 0.25f;
  Case& mixed = AddConvolution(list, "mixed", plain, {});
  mixed.quantized_output = DType::kU8;
  mixed.falls_back = "codes of one dtype are multiplied into the same";
  AddConvolution(list, "huge_factor", plain, {.y_scale = 1e-6f}).falls_back = "XNNPACK's factors end at 256";
  AddConvolution(list, "f32_bias_large_factor", plain, {.bias = Bias::kF32, .y_scale = 0.00005f}).falls_back =
      "a unit of the products is larger than one of the output, to which the bias would be rounded";
  Case& dynamic = AddConvolution(list, "computed_weights_i8", plain, {});
  dynamic.inputs[1].constant = false;
  dynamic.falls_back = "XNNPACK packs the weights of a convolution before it runs";
}

void AddTransposed(CaseList& list) {
  struct Transposed {
    const char* name;
    int64_t inputs, outputs, kernel, groups;
    Ints strides{1, 1};
    Ints pads{0, 0, 0, 0};
    Ints output_pads{0, 0};
  };
  const Transposed kShapes[] = {
      {"i8_stride_1", 5, 7, 3, 1},
      {"i8_stride_2", 8, 6, 2, 1, {2, 2}},
      {"i8_stride_2_kernel_3", 6, 9, 3, 1, {2, 2}, {1, 1, 1, 1}, {1, 1}},
      {"i8_groups", 8, 12, 4, 4, {2, 2}, {1, 1, 1, 1}},
      {"i8_fours", 6, 8, 3, 1, {2, 2}, {1, 1, 1, 1}},
  };
  for (const Transposed& s : kShapes) {
    for (const DType dtype : {DType::kI8, DType::kU8}) {
      const bool is_signed = dtype == DType::kI8;
      const Shape weights{s.outputs, s.kernel, s.kernel, s.inputs / s.groups};
      Case& made =
          AddProduct(list, OpCode::kConvTranspose2d, std::string(is_signed ? "" : "u8_of_") + s.name,
                     Shape{2, 6, 5, s.inputs}, weights, 0, {.dtype = dtype, .per_channel = is_signed});
      auto& attrs = made.As<ConvTranspose2dAttrs>();
      attrs.strides = s.strides;
      attrs.pads = s.pads;
      attrs.output_pads = s.output_pads;
      attrs.groups = s.groups;
      attrs.max = is_signed ? 1.0f : kInfinity;
      made.inputs[0].row_gap = is_signed ? 3 : 0;
      made.output_row_gap = is_signed ? 5 : 0;
    }
  }
  for (const DType dtype : {DType::kI8, DType::kU8}) {
    const bool is_signed = dtype == DType::kI8;
    Case& small =
        AddProduct(list, OpCode::kConvTranspose2d, is_signed ? "i8_small" : "u8_small", Shape{2, 1, 1, 3},
                   Shape{5, 4, 4, 3}, 0, {.dtype = dtype, .per_channel = is_signed});
    auto& attrs = small.As<ConvTranspose2dAttrs>();
    attrs.strides = {4, 4};
    attrs.pads = {1, 1, 2, 2};
    small.falls_back = "XNNPACK miscounts the rows of a result smaller than its strides";
  }
}

void AddMatrixProducts(CaseList& list) {
  const auto fully = [&](const char* name, const Shape& x, int64_t inputs, int64_t outputs,
                         const Codes& codes) -> Case& {
    return AddProduct(list, OpCode::kFullyConnected, name, x, Shape{outputs, inputs}, 0, codes);
  };
  fully("i8_vector", Shape{37}, 37, 10, {});
  fully("i8_batch", Shape{5, 64}, 64, 33, {.per_channel = true});
  fully("i8_one", Shape{1, 1}, 1, 1, {.per_channel = true});
  fully("i8_deep", Shape{3, 1031}, 1031, 70, {.per_channel = true, .bias = Bias::kF32});
  fully("i8_rank_4", Shape{2, 3, 4, 15}, 15, 21, {.bias = Bias::kAbsent});
  fully("i8_tiles_of_rows", Shape{70, 128}, 128, 90, {.per_channel = true});
  // The largest sums of two products that 16 bits hold, and the next larger ones.
  for (const int weight : {-65, -64, 64, 65}) {
    const double code = weight < 0 ? weight - 0.5 : weight + 0.5;
    const std::string name =
        (weight < 0 ? "i8_sums_of_minus_" : "i8_sums_of_") + std::to_string(std::abs(weight));
    fully(name.c_str(), Shape{14, 64}, 64, 49,
          {.y_scale = 1.7f, .least_weight = code, .most_weight = code, .largest = true});
  }
  fully("u8_batch", Shape{5, 62}, 62, 33, {.dtype = DType::kU8});
  fully("u8_tiles_of_rows", Shape{3, 17, 160}, 160, 33, {.dtype = DType::kU8});
  fully("u8_rows", Shape{13, 16}, 16, 9, {.dtype = DType::kU8, .bias = Bias::kOtherScale});
  Case& strided = fully("i8_strided_clamped", Shape{2, 7, 15}, 15, 21, {.per_channel = true});
  strided.inputs[0].row_gap = 6;
  strided.output_row_gap = 5;
  strided.As<ClampAttrs>() = {0, 0.5f};
  for (const int64_t rows : {1, 2, 4, 5, 7, 9, 17})
    fully(("i8_rows_" + std::to_string(rows)).c_str(), Shape{rows, 21}, 21, 40, {.per_channel = true});

  const auto matmul = [&](const char* name, const Shape& x, const Shape& w, bool transposed,
                          Codes codes) -> Case& {
    codes.bias = Bias::kAbsent;
    Case& made = AddProduct(list, OpCode::kMatMul, name, x, w, transposed ? 0 : 1, codes);
    made.As<MatMulAttrs>().transpose_b = transposed;
    return made;
  };
  matmul("i8_weights", Shape{2, 5, 24}, Shape{24, 31}, false, {});
  matmul("i8_weights_channels", Shape{2, 5, 24}, Shape{24, 31}, false, {.per_channel = true});
  matmul("i8_weights_transposed", Shape{5, 23}, Shape{31, 23}, true, {.per_channel = true});
  matmul("u8_weights", Shape{2, 5, 24}, Shape{24, 31}, false, {.dtype = DType::kU8});
  matmul("u8_rows", Shape{2, 11, 23}, Shape{23, 70}, false, {.dtype = DType::kU8, .weights_zero_point = 128});
  matmul("i8_rows", Shape{2, 11, 275}, Shape{275, 70}, false, {.per_channel = true});
  matmul("i8_weights_fours", Shape{2, 5, 24}, Shape{24, 32}, false, {.per_channel = true});
  matmul("i8_vector", Shape{2, 5, 24}, Shape{24}, false, {});

  // Weights alone.
  const auto weights_only = [&](Case& made) {
    made.inputs[0] = F32({5, 24});
    made.quantized_output = DType::kInvalid;
    made.output_quantization = nullptr;
    if (made.inputs.size() > 2 && !made.inputs[2].absent) made.inputs[2] = Weights({31});
  };
  weights_only(fully("f32_weights_i8", Shape{5, 24}, 24, 31, {}));
  weights_only(fully("f32_weights_i8_channels", Shape{5, 24}, 24, 31, {.per_channel = true}));
  Case& clamped = fully("f32_weights_i8_clamped", Shape{5, 24}, 24, 31, {.bias = Bias::kAbsent});
  weights_only(clamped);
  clamped.As<ClampAttrs>() = {0, 0.5f};
  // Of a depth that kernels of ours do not take, which add the bias to real numbers.
  Case& masked = fully("f32_weights_i8_bias_of_masks", Shape{5, 23}, 23, 31, {.per_channel = true});
  weights_only(masked);
  masked.inputs[0] = F32({5, 23});
  masked.inputs[2] = Weights({31}, -3.4e38, -1e38);
  masked.falls_back = "in units of the sums the bias is beyond f32";
  Case& odd = fully("f32_weights_i8_odd", Shape{3, 13}, 13, 10, {.per_channel = true});
  weights_only(odd);
  odd.inputs[0] = F32({3, 13});
  odd.inputs[2] = Weights({10});
  weights_only(matmul("f32_weights_i8", Shape{5, 24}, Shape{24, 31}, false, {.per_channel = true}));
}

void AddMoves(CaseList& list) {
  const Quantization* const quantization = Quantized(0.05f, 3);
  const auto add = [&](OpCode op, const char* name, std::initializer_list<Argument> inputs) -> Case& {
    Case& made = list.Add(op, (std::string("codes_") + name).c_str(), inputs);
    made.quantized_output = made.inputs[0].dtype;
    made.output_quantization = quantization;
    return made;
  };
  const Argument i8 = CodesOf(DType::kI8, Shape{3, 5, 6}, quantization);
  const Argument u8 = CodesOf(DType::kU8, Shape{3, 5, 6}, quantization);
  add(OpCode::kReshape, "i8", {i8, Integers({5, 18})});
  add(OpCode::kFlatten, "u8", {u8});
  add(OpCode::kSqueeze, "i8", {CodesOf(DType::kI8, Shape{3, 1, 6}, quantization)}).As<AxesAttrs>().axes = {1};
  add(OpCode::kUnsqueeze, "i8", {i8}).As<AxesAttrs>().axes = {1};
  add(OpCode::kIdentity, "i8", {Strided(i8, 3)}).output_row_gap = 2;
  add(OpCode::kTranspose, "i8", {i8}).As<TransposeAttrs>().perm = {2, 0, 1};
  Case& concat = add(OpCode::kConcat, "i8", {i8, Strided(i8, 3)});
  concat.As<AxisAttrs>().axis = 2;
  concat.output_row_gap = 1;
  Case& split = add(OpCode::kSplit, "u8", {Strided(u8, 3)});
  split.As<SplitAttrs>().parts = 2;
  split.As<SplitAttrs>().axis = 2;
  split.outputs = 2;
  add(OpCode::kSlice, "i8", {Strided(i8, 3), Integers({1, 2}), Integers({3, 5}), Integers({0, 2})});
  Argument indices = F32({3});
  indices.dtype = DType::kI64;
  indices.values = {2, 0, -1};
  add(OpCode::kGather, "i8", {i8, indices});
  indices.shape = Shape{3, 1};
  add(OpCode::kGatherND, "i8", {i8, indices});
  indices.shape = Shape{1, 1, 3};
  add(OpCode::kGatherElements, "i8", {i8, indices});
  add(OpCode::kExpand, "i8", {CodesOf(DType::kI8, Shape{3, 1, 6}, quantization), Integers({3, 5, 6})});
  add(OpCode::kTile, "u8", {u8, Integers({2, 1, 3})});
  Case& codes = list.Add(OpCode::kToCodes, "codes_u8", {u8});
  codes.As<CastAttrs>().to = static_cast<int64_t>(DType::kU8);
  Argument plain = u8;
  plain.quantization = nullptr;
  add(OpCode::kFromCodes, "u8", {plain});
  Argument table = CodesOf(DType::kI8, Shape{256}, quantization);
  table.constant = true;
  add(OpCode::kLookup, "i8", {Strided(i8, 3), table}).output_row_gap = 2;
  add(OpCode::kLookup, "i8_long", {CodesOf(DType::kI8, Shape{3, 1024}, Quantized(0.3f, -7)), table});
  add(OpCode::kLookup, "u8_to_i8", {u8, table}).quantized_output = DType::kI8;
  add(OpCode::kLookup, "plain_to_i8", {plain, table}).quantized_output = DType::kI8;
  Argument computed = table;
  computed.constant = false;
  add(OpCode::kLookup, "computed_table", {i8, computed}).falls_back = "XNNPACK's step keeps the table";
  add(OpCode::kChannelShuffle, "i8", {Strided(i8, 3)}).As<GroupsAttrs>().groups = 2;
}

}  // namespace

void AddQuantizedCases(CaseList& list) {
  const size_t first = list.cases().size();
  AddConvolutions(list);
  AddTransposed(list);
  AddMatrixProducts(list);
  AddMoves(list);
  AddCodeCases(list);
  for (size_t i = first; i < list.cases().size(); ++i) {
    std::string& name = list.cases()[i].name;
    name.insert(name.find('_'), "_quantized");
  }
}

}  // namespace skiff::testing
