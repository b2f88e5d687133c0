/// From a source to a quantised model: what the tool and the languages that embed it share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/candidate.h"
#include "cli/quantize_options.h"
#include "cli/quantize_report.h"

namespace skiff::cli {

/// What the options do not say.
struct QuantizeWork {
  ConvertOptions convert;
  /// Where the file goes, as ConvertFileTo() puts it there; "": it stays in memory.
  std::string output;
  /// Beside it lie the candidates that --score reads; `output` where there is one.
  std::string place;
  /// What lies in memory instead of in --calibrate: calls of the float net, which is given to read them by.
  std::function<std::vector<NamedTensors>(const std::shared_ptr<OpenedModel>& floats)> calls;
  /// Instead of --score: how good a candidate is, of which the file's bytes are given.
  std::function<double(const std::vector<uint8_t>& file)> score;
  bool measure_layers = false;                            ///< Also without --report.
  std::function<void(const std::string& step)> progress;  ///< A comma ends the step's name.
};

struct Quantized {
  std::unique_ptr<ConvertedFile> file;  ///< Its bytes are here where they stayed in memory.
  QuantizeResult result;
  QuantizedSizes sizes;
  std::string measure;              ///< Of the error, for people and reports; "score" of a score.
  std::vector<std::string> beyond;  ///< Each budget that is not kept, as a sentence.
};

/// Throws Error, and CLI::ValidationError where options do not go together.
Quantized Quantize(const QuantizeArguments& arguments, const QuantizeWork& work);

/// The page of --report. `source` and `file`: as it calls them.
std::string QuantizePage(const QuantizeArguments& arguments, const Quantized& quantized,
                         const std::string& source, const std::string& file);

/// What is said of random inputs.
inline constexpr const char* kDrawnNote =
    "the net is calibrated with random inputs: ranges of real ones are others; use the result to try things "
    "out, and inputs as they will occur (--calibrate FOLDER) for the one that counts";

}  // namespace skiff::cli
