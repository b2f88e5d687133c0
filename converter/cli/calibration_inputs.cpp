#include "cli/calibration_inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "cli/session_options.h"
#include "files/input_type.h"
#include "files/tensor_files.h"
#include "graph/counted.h"
#include "graph/error.h"
#include "run/model_sizes.h"

namespace skiff::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTensors[] = {".npy", ".pb", ".bin"};
constexpr const char* kPictures[] = {".jpg", ".jpeg", ".png"};

/// What calls are read from, before it is known which calls are taken.
struct CallFiles {
  std::map<std::string, std::string> files;  ///< By input.
  int64_t rows = -1;                         ///< Of files that hold several calls; -1: they hold one.
};

/// A call: whose, and which row of it; -1 where that is the only one.
struct Place {
  size_t of;
  int64_t row;
};

/// At most so many, evenly spread, of the calls of all that have so many rows (-1: they are one call). Rows
/// are counted and not listed: a tensor without elements may have very many.
std::vector<Place> Spread(const std::vector<int64_t>& rows, size_t most) {
  std::vector<uint64_t> ends;
  uint64_t total = 0;
  for (const int64_t own : rows) ends.push_back(total += own < 0 ? 1 : static_cast<uint64_t>(own));
  const uint64_t count = std::min<uint64_t>(total, most);
  std::vector<Place> places;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = i * total / count;
    const auto of = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
    const uint64_t begin = of == 0 ? 0 : ends[of - 1];
    places.push_back({of, rows[of] < 0 ? -1 : static_cast<int64_t>(at - begin)});
  }
  return places;
}

bool HasExtension(const fs::path& path, std::span<const char* const> extensions) {
  std::string own = path.extension().string();
  std::transform(own.begin(), own.end(), own.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(extensions.begin(), extensions.end(), own) != extensions.end();
}

std::vector<fs::path> Sorted(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with(".")) entries.push_back(entry.path());
  }
  if (error) Throw(StatusCode::kIo, "{}: {}", folder.string(), error.message());
  // input_10 comes behind input_9.
  std::sort(entries.begin(), entries.end(), [](const fs::path& a, const fs::path& b) {
    const std::string left = a.filename().string();
    const std::string right = b.filename().string();
    const auto digits = [](const std::string& text, size_t at) {
      const size_t end = text.find_first_not_of("0123456789", at);
      return (end == std::string::npos ? text.size() : end) - at;
    };
    for (size_t i = 0, j = 0; i < left.size() && j < right.size();) {
      const size_t m = digits(left, i);
      const size_t n = digits(right, j);
      if (m > 0 && n > 0 && m != n) return m < n;
      if (left[i] != right[j]) return left[i] < right[j];
      ++i;
      ++j;
    }
    return left.size() < right.size();
  });
  return entries;
}

/// How many calls a tensor holds, each a row of its first axis; -1 where it is one call.
int64_t RowsOf(const Shape& shape, const PortInfo& port) {
  const bool extra = shape.rank() == port.shape.rank() + 1;
  const bool longer =
      shape.rank() == port.shape.rank() && shape.rank() > 0 && port.shape[0] == 1 && shape[0] != 1;
  if (!extra && !longer) return -1;
  for (int axis = 1; axis < shape.rank(); ++axis) {
    const int64_t wanted = port.shape[extra ? axis - 1 : axis];
    if (wanted >= 0 && wanted != shape[axis]) return -1;
  }
  return shape[0];
}

int64_t RowsOf(const std::string& file, const PortInfo& port) {
  return file.ends_with(".npy") ? RowsOf(ReadTensor(file, port).shape(), port) : -1;
}

TensorData RowOf(const TensorData& all, const PortInfo& port, int64_t row) {
  Shape shape = all.shape();
  if (shape.rank() == port.shape.rank()) {
    shape[0] = 1;
  } else {
    shape = Shape();
    for (int axis = 1; axis < all.shape().rank(); ++axis) shape.Append(all.shape()[axis]);
  }
  const auto bytes = static_cast<size_t>(ElementBytes(all.dtype(), shape.elements()));
  return {all.dtype(), shape, static_cast<const char*>(all.data()) + static_cast<size_t>(row) * bytes};
}

/// Of all inputs of a call, which must agree. `source_of` names where an input's tensor is from.
template <class Rows, class Source>
int64_t CommonRows(Span<const PortInfo> ports, const Rows& rows_of, const Source& source_of) {
  int64_t rows = -1;
  for (const PortInfo& port : ports) {
    const int64_t own = rows_of(port);
    if (&port != &ports[0] && own != rows)
      Throw(StatusCode::kInvalidArgument, "{}: has {}, and {} has {}; the first axes must be equally long",
            source_of(port), Counted(static_cast<uint64_t>(std::max<int64_t>(own, 1)), "call"),
            source_of(ports[0]), std::max<int64_t>(rows, 1));
    rows = own;
  }
  return rows;
}

class Folder {
 public:
  Folder(std::string folder, const ModelSignature& signature, const SymbolSizes& sizes)
      : folder_(std::move(folder)), ports_(signature.info().inputs), sizes_(sizes), closed_(sizes) {
    closed_.sizes = ClosedSizes(signature, sizes, 1);
    for (size_t i = 0; i < closed_.sizes.size(); ++i) {
      if (sizes.sizes[i] < 0 && closed_.symbols[i].min <= 1) closed_.sizes[i] = 1;
    }
  }

  std::vector<CallFiles> Find() {
    std::error_code error;
    if (!fs::is_directory(folder_, error))
      Throw(StatusCode::kIo,
            "--calibrate {}: {}; expected a folder with inputs, or random:N for N random ones", folder_,
            fs::exists(folder_, error) ? "is no folder" : "there is no such folder");
    Add(folder_);
    for (const fs::path& entry : Sorted(folder_)) {
      if (fs::is_directory(entry, error)) Add(entry);
    }
    if (calls_.empty() && !without_rows_.empty())
      Throw(StatusCode::kInvalidArgument,
            "--calibrate {}: {} has no rows; expected one for each call, and one call at least", folder_,
            without_rows_);
    if (calls_.empty())
      Throw(StatusCode::kInvalidArgument,
            "--calibrate {}: holds no inputs; looked, there and in the folders in it, for {}", folder_,
            Wanted());
    return std::move(calls_);
  }

  NamedTensors Read(const CallFiles& call, int64_t row) {
    NamedTensors inputs;
    for (const PortInfo& port : ports_) {
      const std::string& file = call.files.at(port.name);
      // Raw elements state no shape: open dimensions are 1, of one call.
      const SymbolSizes& sizes = file.ends_with(".bin") ? closed_ : sizes_;
      inputs[port.name] = row < 0 ? ReadInput(file, port, sizes) : RowOfFile(file, port, row);
    }
    return inputs;
  }

 private:
  /// The rows of a file are asked for one after the other, and it is read once for all of them.
  TensorData RowOfFile(const std::string& file, const PortInfo& port, int64_t row) {
    auto& [last_file, last] = last_[port.name];
    if (last_file != file) {
      last = ReadTensor(file, port);
      last_file = file;
    }
    TensorData one = RowOf(last, port, row);
    CheckInputType(file, one, port, sizes_);
    return one;
  }

  std::string Wanted() const {
    const bool picture = ports_.size() == 1 && ports_[0].image.channels != 0;
    if (picture) return "pictures (.jpg, .png) and tensors (.npy, .pb, .bin)";
    if (ports_.size() == 1)
      return "tensors (.npy, .pb, .bin); for pictures the net needs image settings (--image-size and so on)";
    return fmt::format("a tensor (.npy, .pb, .bin) for each of the inputs {}", PortNames(ports_));
  }

  void Add(const fs::path& folder) {
    if (ports_.size() != 1) {
      CallFiles call;
      const std::vector<std::string> files = FindInputFiles(folder.string(), ports_);
      for (size_t i = 0; i < ports_.size(); ++i) {
        if (files[i].empty()) return;
        call.files[ports_[i].name] = files[i];
      }
      return AddRows(call);
    }
    for (const fs::path& entry : Sorted(folder)) {
      const bool picture = ports_[0].image.channels != 0 && HasExtension(entry, kPictures);
      const bool output = entry.filename().string().starts_with("output");
      if (picture || (HasExtension(entry, kTensors) && !output))
        AddRows({{{ports_[0].name, entry.string()}}, -1});
    }
  }

  void AddRows(CallFiles call) {
    call.rows = CommonRows(
        ports_, [&](const PortInfo& port) { return RowsOf(call.files.at(port.name), port); },
        [&](const PortInfo& port) { return call.files.at(port.name); });
    if (call.rows == 0) without_rows_ = call.files.begin()->second;
    if (call.rows != 0) calls_.push_back(std::move(call));
  }

  const std::string folder_;
  const Span<const PortInfo> ports_;
  const SymbolSizes& sizes_;
  SymbolSizes closed_;
  std::vector<CallFiles> calls_;
  std::string without_rows_;                                        ///< A file of no call.
  std::map<std::string, std::pair<std::string, TensorData>> last_;  ///< File and tensor, by input.
};

/// Elements of which no range is made: layers that see them stay float.
class NotFinite {
 public:
  void Look(const CallFiles& call, int64_t row, const NamedTensors& inputs) {
    for (const auto& [name, tensor] : inputs) {
      const bool real = tensor.dtype() == DType::kF32 || tensor.dtype() == DType::kF16;
      if (!real || HasExtension(call.files.at(name), kPictures)) continue;
      const std::vector<double> numbers = tensor.ToDoubles();
      const auto count =
          std::count_if(numbers.begin(), numbers.end(), [](double number) { return !std::isfinite(number); });
      if (count == 0 || tensors_++ > 0) continue;
      first_ = fmt::format("{}{}: {} of {} elements of input '{}' are NaN or infinite", call.files.at(name),
                           row < 0 ? "" : fmt::format(", call {}", row), count, numbers.size(), name);
    }
  }
  /// "" where there were none.
  std::string Text() const {
    if (tensors_ == 0) return "";
    return first_ +
           (tensors_ == 1 ? "" : fmt::format(", and some of {}", Counted(tensors_ - 1, "other input"))) +
           "; layers that see them are not quantised";
  }

 private:
  std::string first_;
  size_t tensors_ = 0;
};

constexpr std::string_view kDrawn = "random:";

std::vector<NamedTensors> Draw(const std::string& source, const ModelSignature& signature,
                               const SymbolSizes& sizes, const InputRanges& ranges, size_t most) {
  const std::string text = source.substr(kDrawn.size());
  size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const char* const behind = text.data() + text.size();
  RandomRange range;
  const bool has_range = error == std::errc() && end != behind;
  if (error != std::errc() || count < 1 || count > 100000 ||
      (has_range && (*end != ':' || !ParseRandomRange({end + 1, behind}, &range) || range.low == range.high)))
    Throw(StatusCode::kInvalidArgument,
          "--calibrate {}: expected random:N or random:N:LOW..HIGH, for example random:16:0..255", source);
  const InputSources sources{{}, fmt::format("random:1{}", end), ranges};
  std::vector<NamedTensors> calls;
  for (size_t i = 0; i < std::min(count, most); ++i)
    calls.push_back(ReadCallInputs(sources, signature, sizes, {kTellingSize, "--dim"}, nullptr, i));
  return calls;
}

}  // namespace

std::vector<std::string> CalibrationFiles(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  // What is no folder is told of when it is read.
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry.depth() > 0) entry.disable_recursion_pending();
    if (HasExtension(entry->path(), kTensors) || HasExtension(entry->path(), kPictures))
      files.push_back(entry->path().string());
  }
  return files;
}

bool IsDrawn(const std::string& source) { return source.starts_with(kDrawn); }

std::vector<NamedTensors> SplitCalls(const std::vector<NamedTensors>& given, Span<const PortInfo> ports,
                                     size_t most) {
  std::vector<int64_t> rows;
  for (size_t i = 0; i < given.size(); ++i) {
    rows.push_back(CommonRows(
        ports, [&](const PortInfo& port) { return RowsOf(given[i].at(port.name).shape(), port); },
        [&](const PortInfo& port) { return fmt::format("input '{}' of call {}", port.name, i); }));
  }
  std::vector<NamedTensors> calls;
  for (const Place& place : Spread(rows, most)) {
    calls.push_back(given[place.of]);
    if (place.row < 0) continue;
    for (const PortInfo& port : ports)
      calls.back()[port.name] = RowOf(given[place.of].at(port.name), port, place.row);
  }
  return calls;
}

std::vector<NamedTensors> ReadCalibration(const std::string& source, const ModelSignature& signature,
                                          const SymbolSizes& sizes, const InputRanges& ranges, size_t most,
                                          const std::function<void(const std::string& step)>& progress) {
  if (IsDrawn(source)) return Draw(source, signature, sizes, ranges, most);
  if (signature.info().inputs.empty())
    Throw(StatusCode::kInvalidArgument,
          "--calibrate {}: the net has no inputs that files could hold; say how many calls it is to have: "
          "random:N",
          source);
  if (!ranges.empty())
    Throw(StatusCode::kInvalidArgument,
          "--input-range {}: is for random inputs, and --calibrate {} names a folder", ranges.begin()->first,
          source);
  Folder folder(source, signature, sizes);
  const std::vector<CallFiles> files = folder.Find();
  std::vector<int64_t> rows;
  for (const CallFiles& call : files) rows.push_back(call.rows);
  std::vector<NamedTensors> calls;
  NotFinite not_finite;
  for (const Place& place : Spread(rows, most)) {
    const CallFiles& call = files[place.of];
    if (progress) progress(fmt::format("read inputs, {}", call.files.begin()->second));
    calls.push_back(folder.Read(call, place.row));
    not_finite.Look(call, place.row, calls.back());
  }
  PrintNote(not_finite.Text());
  return calls;
}

}  // namespace skiff::cli
