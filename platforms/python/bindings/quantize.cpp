// Quantising: the options are the tool's, the inputs and the score may be Python's.

#include "cli/calibration_inputs.h"
#include "cli/print.h"
#include "cli/quantize_source.h"
#include "platforms/python/bindings/options.h"
#include "platforms/python/bindings/support.h"
#include "platforms/python/bindings/tools.h"

namespace skiff::python {
namespace {

/// `read` gets the float net, and returns a list of dictionaries, each the inputs of one call or of several.
std::vector<NamedTensors> ReadCalls(const nb::object& read, const SharedModel& floats, size_t samples) {
  std::vector<NamedTensors> given;
  const SignatureInfo signature = floats->signature();
  {
    const Locked locked;
    try {
      for (const nb::handle call : nb::cast<nb::list>(read(ModelHandle{floats})))
        given.push_back(ToTensors(nb::cast<nb::dict>(call), signature.inputs));
    } catch (nb::python_error& error) {
      ThrowAsError(error);
    }
  }
  return cli::SplitCalls(given, signature.inputs, samples);
}

double Score(const nb::object& score, const std::vector<uint8_t>& file) {
  const Locked locked;
  try {
    return nb::cast<double>(score(nb::bytes(file.data(), file.size())));
  } catch (nb::python_error& error) {
    ThrowAsError(error);
  }
}

nb::dict Quantize(const nb::dict& given, const nb::object& read, const nb::object& score,
                  nb::object progress) {
  const cli::QuantizeArguments arguments = ToQuantizeArguments(given);
  cli::QuantizeWork work;
  work.convert = ToConvertOptions(arguments, given);
  work.place = Get<std::string>(given, "place");
  work.measure_layers = Get<bool>(given, "measure_layers");
  work.progress = ProgressOf(std::move(progress));
  if (!read.is_none())
    work.calls = [&](const SharedModel& floats) { return ReadCalls(read, floats, arguments.samples); };
  if (!score.is_none()) work.score = [&](const std::vector<uint8_t>& file) { return Score(score, file); };
  const auto name = Get<std::string>(given, "name");
  cli::Quantized quantized;
  Remarks remarks;
  std::string facts;
  std::string text;
  std::string page;
  {
    const Unlocked unlocked;
    quantized = cli::Quantize(arguments, work);
    remarks = RemarksOn(*quantized.file);
    std::vector<std::string>& notes = quantized.result.notes;
    if (cli::IsDrawn(arguments.calibrate)) notes.insert(notes.begin(), cli::kDrawnNote);
    cli::Json json = cli::QuantizeJson(quantized.result, quantized.sizes, quantized.measure);
    json["source"] = json["file"] = name;
    facts = JsonText(cli::JsonDocument("quantize", json));
    text = cli::Visible(cli::QuantizeText(quantized.result, quantized.sizes, quantized.measure));
    page = cli::QuantizePage(arguments, quantized, name, name);
  }
  nb::dict result;
  result["file"] = nb::bytes(quantized.file->file.data(), quantized.file->file.size());
  result["remarks"] = ToTuple(remarks);
  result["facts"] = facts;
  result["text"] = text;
  result["page"] = page;
  result["beyond"] = quantized.beyond;
  return result;
}

}  // namespace

void BindQuantize(nb::module_& module) {
  module.def("quantize", &Quantize, nb::arg("options"), nb::arg("calls").none(), nb::arg("score").none(),
             nb::arg("progress").none());
}

}  // namespace skiff::python
