// TFLite_Detection_PostProcess: boxes from their encodings, and the best of them that do not overlap: the
// regular way in each class, the fast way all together, by each anchor's best score.
#include <algorithm>
#include <numeric>

#include "import/suppression.h"
#include "import/tflite/flex_options.h"
#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

struct Detection {
  int64_t anchors = 0;
  int64_t classes = 0;
  int64_t classes_per_row = 0;  ///< Of the fast way.
  bool regular = false;
  double scales[4] = {};  ///< y, x, height, width.
  Suppression rule;
};

/// Of classes, and of rows.
constexpr int64_t kMost = 1 << 16;
constexpr int64_t kMostAnchors = 1 << 22;

Detection Read(const TfliteBuilder& b) {
  const FlexOptions options(b);
  Detection d;
  d.classes = options.Int("num_classes", 1, kMost);
  d.regular = options.Flag("use_regular_nms", false);
  d.rule.most = options.Int("max_detections", 1, kMost);
  d.classes_per_row = options.Int("max_classes_per_detection", 1, kMost);
  if (d.rule.most * d.classes_per_row > kMost)
    b.Invalid("it finds {} times {} boxes", d.rule.most, d.classes_per_row);
  d.rule.places = d.regular ? d.rule.most * d.classes_per_row : d.rule.most;
  d.rule.most_of_class =
      d.regular ? options.Int("detections_per_class", 1, TfliteBuilder::kMaxWindowNumber, 100) : d.rule.most;
  d.rule.least_score = options.Real("nms_score_threshold");
  d.rule.most_overlap = options.Real("nms_iou_threshold");
  if (!(d.rule.most_overlap > 0 && d.rule.most_overlap <= 1))
    b.Invalid("its option 'nms_iou_threshold' is {}", d.rule.most_overlap);
  const char* const names[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
  for (int i = 0; i < 4; ++i) d.scales[i] = options.Real(names[i]);
  return d;
}

struct Decoded {
  ValueId corners = kNoValue;  ///< [anchors, (ymin, xmin, ymax, xmax)].
  Boxes boxes;
};

/// In f64, as LiteRT computes it: rounded to f32 at the same two places, the boxes are bit by bit LiteRT's,
/// and so is which of them overlap. The CPU has kernels for it; GPUs of phones have no f64.
Decoded Decode(TfliteBuilder& b, const Detection& d) {
  const auto wide = [&](const char* suffix, size_t input, int64_t first) {
    const ValueId rows = EmitReshape(b, fmt::format("{}_rows", suffix).c_str(),
                                     b.Real("real", b.Input(input)), {d.anchors, -1});
    return b.CastTo(suffix, EmitSlice(b, fmt::format("{}_pair", suffix).c_str(), rows, 1, first, first + 2),
                    DType::kF64);
  };
  const auto scale = [&](const char* suffix, int first) {
    return b.Constant(suffix, MakeConstant(DType::kF64, Shape{2}, {d.scales[first], d.scales[first + 1]}));
  };
  const ValueId size = wide("anchor_size", 2, 2);
  const ValueId shift =
      EmitMul(b, "shift", EmitDiv(b, "offset", wide("place", 0, 0), scale("place_scale", 0)), size);
  const ValueId centre =
      b.CastTo("centre_f32", EmitAdd(b, "centre", shift, wide("anchor", 2, 0)), DType::kF32);
  const ValueId growth =
      b.Emit("growth", OpCode::kExp, {EmitDiv(b, "log_growth", wide("size", 0, 2), scale("size_scale", 2))});
  const ValueId whole =
      EmitMul(b, "grown", EmitMul(b, "half", growth, b.Scalar("one_half", DType::kF64, 0.5)), size);
  const ValueId half = b.CastTo("half_f32", whole, DType::kF32);
  Decoded decoded;
  const ValueId low = EmitSub(b, "low", centre, half);
  const ValueId high = EmitAdd(b, "high", centre, half);
  decoded.corners = b.Emit("corners", OpCode::kConcat, {low, high}, AxisAttrs{1});
  Boxes& boxes = decoded.boxes;
  boxes.low = EmitTranspose(b, "low_columns", low, {1, 0});
  boxes.high = EmitTranspose(b, "high_columns", high, {1, 0});
  ReduceAttrs sides;
  sides.axes = {0};
  sides.keep_dims = false;
  boxes.areas = b.Emit("areas", OpCode::kReduceProd, {EmitSub(b, "extents", boxes.high, boxes.low)}, sides);
  return decoded;
}

/// As LiteRT has it: one picture, and a box and scores for each anchor.
void CheckShapes(const TfliteBuilder& b, int64_t anchors) {
  const auto check = [&](size_t input, const std::vector<int64_t>& expected) {
    const ValueId x = b.Input(input);
    const auto rank = static_cast<int>(expected.size());
    if (b.KnowsRank(x) && !b.HasRank(x, rank))
      b.Invalid("its input {} has rank {}; {} was expected", input, b.RankOf(x), rank);
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t wanted = expected[static_cast<size_t>(axis)];
      const int64_t extent = b.ExtentOf(x, axis).value_or(wanted);
      if (wanted >= 0 && extent != wanted)
        b.Invalid("its input {} is {} long along axis {}; {} was expected", input, extent, axis, wanted);
    }
  };
  check(0, {1, anchors, -1});
  check(1, {1, anchors, -1});
  check(2, {anchors, 4});
}

/// LiteRT leaves rows behind the last as they were in memory; here they are zeros.
void BuildDetection(TfliteBuilder& b) {
  if (b.output_count() != 4) b.Invalid("it has {} outputs; 4 were expected", b.output_count());
  Detection d = Read(b);
  const auto columns = b.ExtentOf(b.Input(1), 2);
  const auto anchors = b.ExtentOf(b.Input(2), 0);
  if (!columns || !anchors)
    b.Unsupported("has an open number of anchors or classes; convert the net with fixed shapes");
  if (*anchors < 1 || *anchors > kMostAnchors)
    b.Invalid("it has {} anchors; a number from 1 to {} was expected", *anchors, kMostAnchors);
  if (*columns != d.classes && *columns != d.classes + 1)
    b.Invalid("it has scores of {} classes; {} were expected, or one more", *columns, d.classes);
  CheckShapes(b, *anchors);
  d.anchors = *anchors;
  const Decoded decoded = Decode(b, d);
  const ValueId all = EmitReshape(b, "all_scores", b.Real("real_scores", b.Input(1)), {d.anchors, *columns});
  const ValueId scores =
      SliceAxis(b, "scores", all, 1, *columns - d.classes, 0);  // The first may be no object.
  ReduceAttrs best;
  best.axes = {1};
  const ValueId compared =
      EmitTranspose(b, "scores_of_classes",
                    d.regular ? scores : b.Emit("best", OpCode::kReduceMax, {scores}, best), {1, 0});
  const Taken found = SuppressOverlaps(b, d.rule, decoded.boxes, compared);

  const ValueId anchor_count = b.ConstantInts("anchors", {d.anchors});
  const ValueId anchor = b.Emit("anchor", OpCode::kMod, {found.places, anchor_count}, ModAttrs{});
  ValueId classes = EmitUnsqueeze(b, "class", EmitDiv(b, "class_of_row", found.places, anchor_count), {1});
  ValueId found_scores = kNoValue;
  const int64_t known = d.regular ? 1 : std::min(d.classes_per_row, d.classes);
  if (d.regular) {
    const ValueId flat = EmitReshape(b, "flat", compared, {-1});
    found_scores = EmitUnsqueeze(
        b, "score", b.Emit("score_of_row", OpCode::kGather, {flat, found.places}, AxisAttrs{0}), {1});
  } else {
    const ValueId rows = b.Emit("score_rows", OpCode::kGather, {scores, anchor}, AxisAttrs{0});
    const std::vector<ValueId> top = b.EmitAll({"score", "class_of_score"}, OpCode::kTopK,
                                               {rows, b.ConstantInts("top", {known})}, TopKAttrs{});
    found_scores = top[0];
    classes = top[1];
  }
  std::vector<int64_t> rows(static_cast<size_t>(d.rule.places));
  std::iota(rows.begin(), rows.end(), 0);
  const ValueId row = EmitReshape(b, "row", b.ConstantInts("rows", rows), {d.rule.places, 1, 1});
  const ValueId used = b.Emit("used", OpCode::kLess, {row, found.count});
  const ValueId zero = b.Scalar("zero", DType::kF32, 0);
  const int64_t width = d.regular ? 1 : d.classes_per_row;
  const auto output = [&](const char* suffix, size_t i, ValueId value, int64_t size) {
    const auto name = [&](const char* step) { return fmt::format("{}_{}", suffix, step); };
    value = EmitReshape(b, name("cells").c_str(), value, {d.rule.places, -1, size});
    value = b.Emit(name("used").c_str(), OpCode::kWhere, {used, value, zero});
    if (size > 1)
      value = b.Emit(name("of_classes").c_str(), OpCode::kExpand,
                     {value, b.ConstantInts("per_class", {d.rule.places, known, size})});
    value = PadAxis(b, name("padded").c_str(), value, 1, 0, width - known);
    std::vector<int64_t> target = {1, d.rule.places * width};
    if (size > 1) target.push_back(size);
    b.OutputValue(EmitReshape(b, suffix, value, target), i);
  };
  output("boxes", 0, b.Emit("found_boxes", OpCode::kGather, {decoded.corners, anchor}, AxisAttrs{0}), 4);
  output("classes", 1, b.CastTo("found_classes", classes, DType::kF32), 1);
  output("scores", 2, found_scores, 1);
  b.OutputValue(EmitReshape(b, "count", b.CastTo("count_f32", found.count, DType::kF32), {1}), 3);
}

constexpr TfliteCustomOp kRows[] = {{"TFLite_Detection_PostProcess", BuildDetection}};

}  // namespace

std::span<const TfliteCustomOp> TfliteDetectionOps() { return kRows; }

}  // namespace skiff
