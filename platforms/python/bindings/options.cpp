#include "platforms/python/bindings/options.h"

#include <algorithm>

namespace skiff::python {
namespace {

template <class T>
void Take(const nb::dict& given, const char* name, T& to) {
  if (given.contains(name)) to = Get<T>(given, name);
}

void TakeConversion(const nb::dict& given, cli::ConvertArguments& to) {
  Take(given, "signatures", to.signatures);
  Take(given, "shapes", to.shapes);
  Take(given, "dims", to.dims);
  Take(given, "buckets", to.buckets);
  Take(given, "constants", to.fixed_inputs);
  Take(given, "state", to.states);
  Take(given, "no_xnnpack", to.no_xnnpack);
  Take(given, "disable_passes", to.disabled_passes);
  Take(given, "dump_after", to.dump_after);
  Take(given, "strip", to.strip);
  Take(given, "copy_state", to.copy_state);
  Take(given, "labels", to.labels);
  Take(given, "image_size", to.image.size);
  Take(given, "image_mean", to.image.mean);
  Take(given, "image_std", to.image.deviation);
  Take(given, "image_scale", to.image.scale);
  Take(given, "image_channels", to.image.channels);
  Take(given, "image_fit", to.image.fit);
  Take(given, "image_resize", to.image.resize);
  Take(given, "image_filter", to.image.filter);
  Take(given, "image_fill", to.image.fill);
}

}  // namespace

cli::ConvertArguments ToConvertArguments(const nb::dict& given) {
  cli::ConvertArguments arguments;
  TakeConversion(given, arguments);
  return arguments;
}

cli::QuantizeArguments ToQuantizeArguments(const nb::dict& given) {
  cli::QuantizeArguments arguments;
  CLI::App parser;
  cli::AddQuantizeStep(parser, arguments);
  auto words = Get<std::vector<std::string>>(given, "quantize");
  std::reverse(words.begin(), words.end());  // As CLI11 takes them.
  parser.parse(words);
  TakeConversion(given, arguments);
  Take(given, "source", arguments.source);
  return arguments;
}

ConvertOptions ToConvertOptions(const cli::ConvertArguments& arguments, const nb::dict& given) {
  ConvertOptions options = cli::ToConvertOptions(arguments);
  Take(given, "label_list", options.labels);
  if (Get<std::string>(given, "target") == "vulkan") options.targets = {Target::kVulkan};
  return options;
}

cli::ParityArguments ToParityArguments(const nb::dict& given) {
  cli::ParityArguments arguments;
  TakeConversion(given, arguments);
  Take(given, "source", arguments.source);
  Take(given, "model", arguments.model);
  Take(given, "inputs", arguments.inputs.others);
  Take(given, "expected", arguments.expected);
  Take(given, "backends", arguments.backends);
  return arguments;
}

}  // namespace skiff::python
