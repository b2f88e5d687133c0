// skiff quantize
#include <memory>

#include "cli/commands.h"
#include "cli/quantize_options.h"
#include "cli/quantize_run.h"

namespace skiff::cli {
namespace {

constexpr const char* kQuantizeFooter =
    "The net is optimised as by 'skiff convert', runs on the inputs of --calibrate, and is rounded by what "
    "was "
    "seen: products, and what lies between them, compute on integers; its inputs and outputs stay floats. "
    "'skiff parity IN OUT.skiff --max-error 0.1' compares the two afterwards.\n"
    "Example, a classifier of photographs:\n"
    "  skiff quantize mobilenet.onnx -o mobilenet_i8.skiff --calibrate photos/ \\\n"
    "    --image-size 224x224 --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225";

}  // namespace

void AddQuantize(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "quantize", "Turn a float .onnx or .tflite model into a smaller, faster .skiff file of integers");
  auto arguments = std::make_shared<QuantizeArguments>();
  AddQuantizeOptions(*command, *arguments);
  command->footer(kQuantizeFooter);
  command->callback([command, arguments, &exit_code] {
    CheckQuantizeOptions(*command, *arguments);
    exit_code = RunQuantize(*arguments);
  });
}

}  // namespace skiff::cli
