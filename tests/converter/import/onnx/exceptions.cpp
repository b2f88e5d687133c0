// Cases of the ONNX suites that are out of scope, with the reason. A case that starts to import must leave
// this list, and a row that matches no case must go.
#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "tests/converter/import/onnx/cases.h"

namespace skiff {
namespace {

constexpr auto kUnsupported = OnnxCaseStatus::kUnsupported;
constexpr auto kDiffers = OnnxCaseStatus::kDiffers;
constexpr auto kRounded = OnnxCaseStatus::kRounded;
constexpr auto kPasses = OnnxCaseStatus::kPasses;

struct Exception {
  const char* pattern;  ///< Of "suite/name", shell style.
  OnnxCaseStatus::Kind kind;
  const char* reason;
};

constexpr const char* kAttentionSteps = "numbers the steps as before the correction that caps before masking";
constexpr const char* kFourDecimals = "the expected output was written down with four decimals";
constexpr const char* kPi = "expects numbers computed with pi = 3.1415; bodies take 3.14159";
constexpr const char* kRandom = "random numbers differ between implementations by design";
constexpr const char* kString = "there are no string tensors on a device";
constexpr const char* kTraining = "training is out of scope";
constexpr const char* kWraps = "expects wrapping around where the specification says saturate";

constexpr Exception kExceptions[] = {
    // Only in the newer release, or told apart from the older one's rows, which follow.
    {"node-1.20/test_blackmanwindow*", kPasses, "has the right pi"},
    {"node-1.20/test_hammingwindow*", kPasses, "has the right pi"},
    {"node-1.20/test_hannwindow*", kPasses, "has the right pi"},
    {"node-1.20/test_ai_onnx_ml_label_encoder_*", kUnsupported, kString},
    {"node-1.20/test_attention_*_expanded", kPasses, "is made of other operators"},
    {"node-1.20/test_attention_*_qk_matmul_bias*", kDiffers, kAttentionSteps},
    {"node-1.20/test_attention_*_qk_matmul_softcap", kDiffers, kAttentionSteps},
    {"node-1.20/test_averagepool_2d_ceil_last_window_starts_on_pad", kRounded, kFourDecimals},
    {"node-1.20/test_equal_string*", kUnsupported, kString},
    {"node-1.20/test_image_decoder_*", kUnsupported, "compressed images are decoded before the graph"},
    {"node-1.20/test_l2normalization_axis_0", kDiffers, "divides 0 by 0 where the specification says 0"},
    {"node-1.20/test_qlinearmatmul_*_int8_*", kDiffers, kWraps},
    {"node-1.20/test_regex_*", kUnsupported, kString},
    {"node-1.20/test_string_*", kUnsupported, kString},

    {"node/test_adagrad*", kUnsupported, kTraining},
    {"node/test_adam*", kUnsupported, kTraining},
    {"node/test_batchnorm_*_training_mode", kUnsupported, kTraining},
    {"node/test_bernoulli*", kDiffers, kRandom},
    {"node/test_blackmanwindow*", kDiffers, kPi},
    {"node/test_cast*_FLOAT_to_BFLOAT16*", kDiffers, "stands as f32, not rounded"},
    {"node/test_cast*STRING*", kUnsupported, kString},
    {"node/test_gridsample_bicubic", kRounded, kFourDecimals},
    {"node/test_hammingwindow*", kDiffers, kPi},
    {"node/test_hannwindow*", kDiffers, kPi},
    {"node/test_momentum*", kUnsupported, kTraining},
    {"node/test_nesterov_momentum", kUnsupported, kTraining},
    {"node/test_resize_downsample_scales_*_align_corners", kDiffers,
     "expects extent * scale before rounding as the resized length; the specification and PyTorch use the "
     "rounded one"},
    {"node/test_roialign_aligned_*", kRounded, kFourDecimals},
    {"node/test_strnormalizer_*", kUnsupported, kString},
    {"node/test_training_dropout*", kUnsupported, kTraining},
    {"simple/test_gradient_*", kUnsupported, kTraining},
    {"simple/test_strnorm_*", kUnsupported, kString},
};

struct FrozenCases {
  const char* pattern;  ///< Of the name, shell style.
  const char* reason;
  int first = 1;  ///< Of the inputs that are made constants.
};

constexpr FrozenCases kFrozen[] = {
    {"test_affine_grid_*_expanded", "branches for pictures and for volumes return different ranks"},
    {"test_col2im*", "the image's and the block's shape are weights of a convolution"},
    {"test_dft*", "the length and the axis decide the matrix of the transform"},
    {"test_if_opt", "one branch returns nothing: the condition must be known", 0},
    {"test_loop13_seq", "each iteration adds a larger tensor: the trip count must be known", 0},
    {"test_loop16_seq_none", "each iteration adds a larger tensor: the trip count must be known", 0},
    {"test_reduce_*", "axes are attributes: the rank of the result depends on them"},
    {"test_resize_tf_crop_and_resize*", "the region is an attribute"},
    {"test_sequence_insert_at_front", "positions decide what a sequence holds"},
    {"test_split_to_sequence_1", "the size of the parts decides how many there are"},
    {"test_squeeze*", "axes are attributes: the rank of the result depends on them"},
    {"test_stft*", "the frame's length and step decide the matrix of the transform"},
    {"test_unsqueeze*", "axes are attributes: the rank of the result depends on them"},
};

const FrozenCases* FrozenRow(const OnnxCase& test) {
  const auto* row = std::find_if(std::begin(kFrozen), std::end(kFrozen), [&](const FrozenCases& cases) {
    return fnmatch(cases.pattern, test.name.c_str(), 0) == 0;
  });
  return row == std::end(kFrozen) ? nullptr : row;
}

/// Whether the row is about the case. Rows of a suite are about its newer release too.
bool Matches(const Exception& row, const OnnxCase& test) {
  const std::string older = test.suite.substr(0, test.suite.find("-1.20"));
  return fnmatch(row.pattern, (test.suite + "/" + test.name).c_str(), 0) == 0 ||
         fnmatch(row.pattern, (older + "/" + test.name).c_str(), 0) == 0;
}

}  // namespace

OnnxCaseStatus StatusOf(const OnnxCase& test) {
  const auto* row = std::find_if(std::begin(kExceptions), std::end(kExceptions),
                                 [&](const Exception& e) { return Matches(e, test); });
  return row == std::end(kExceptions) ? OnnxCaseStatus{} : OnnxCaseStatus{row->kind, row->reason};
}

const char* WhyFrozen(const OnnxCase& test) {
  const FrozenCases* row = FrozenRow(test);
  return row == nullptr ? nullptr : row->reason;
}

int FirstFrozenInput(const OnnxCase& test) {
  const FrozenCases* row = FrozenRow(test);
  return row == nullptr ? 1 : row->first;
}

std::vector<std::string> UnusedExceptions(const std::vector<OnnxCase>& cases) {
  std::vector<std::string> unused;
  for (const Exception& row : kExceptions) {
    const std::string suite(row.pattern, std::strchr(row.pattern, '/'));
    const bool present =
        std::any_of(cases.begin(), cases.end(), [&](const OnnxCase& test) { return test.suite == suite; });
    if (present &&
        std::none_of(cases.begin(), cases.end(), [&](const OnnxCase& test) { return Matches(row, test); })) {
      unused.emplace_back(row.pattern);
    }
  }
  return unused;
}

}  // namespace skiff
