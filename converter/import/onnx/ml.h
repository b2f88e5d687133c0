/// What the classifiers and regressors of ai.onnx.ml share: scores, classes, attributes in two forms.
#pragma once

#include <string>
#include <vector>

#include "import/onnx/builder.h"

namespace skiff {

/// The classes of a classifier: integers, or texts, in whose place a net has their numbers 0, 1, ...
struct OnnxClasses {
  std::vector<int64_t> numbers;  ///< What the first output says of each class.
  std::vector<std::string> names;

  int64_t count() const { return static_cast<int64_t>(numbers.size()); }
  bool are_texts = false;
};
/// Attributes classlabels_<integers> and classlabels_strings. Throws where there is none, or there are both.
OnnxClasses ClassesOf(const OnnxBuilder& b, const char* integers = "classlabels_ints");

/// Floating-point x of a model that counts in f32 whatever its input is, unless that is f64.
ValueId EmitFeatures(OnnxBuilder& b, ValueId x);

/// A list of numbers: an attribute of floats, or `<name>_as_tensor`. Empty where there is neither.
std::vector<double> NumbersOf(const OnnxBuilder& b, const std::string& name);

/// How many elements: throws kInvalidModel naming the attribute where it is another one.
void CheckCount(const OnnxBuilder& b, const char* name, size_t count, size_t expected, const char* what);

/// Attribute post_transform (or the given number of it, from version 5 on) of scores [rows, classes].
ValueId EmitPostTransform(OnnxBuilder& b, ValueId scores, const std::string& transform);

/// Scores [rows, 2] from the one, [rows, 1], of the second class: 1 - s and s where it is a share, else -s
/// and s. Of the transforms LOGISTIC (of -s and s) and PROBIT count, as in onnxruntime.
ValueId EmitTwoClasses(OnnxBuilder& b, ValueId score, bool shares, const std::string& transform);

/// Output 0, the classes that `index` [rows] stands for, and output 1, the scores.
void OutputClasses(OnnxBuilder& b, const OnnxClasses& classes, ValueId index, ValueId scores);
/// How far, in f64 and squared, each row of x [rows, features] is from each of y [others, features]. From
/// products, which need no memory for differences; in f64 what cancels does not show.
ValueId EmitSquaredDistances(OnnxBuilder& b, ValueId x, ValueId y);
/// The number of the largest score of each row.
ValueId EmitBestClass(OnnxBuilder& b, ValueId scores);

}  // namespace skiff
