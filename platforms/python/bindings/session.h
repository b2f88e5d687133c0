/// A Session as Python uses it: one thread at a time, with arrays that outlive what they came from.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "platforms/python/bindings/model.h"
#include "skiff/session.h"

namespace skiff::python {

/// What Python calls skiff._skiff.ThreadPool.
struct PoolHandle {
  std::shared_ptr<ThreadPool> pool;
};

/// The Session with all that its memory depends on. Views of its outputs share it, so that it lives as long
/// as they do.
struct SessionCore {
  SharedModel model;
  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<SessionCore> state_of;  ///< Whose variables these are.
  std::unique_ptr<Session> session;
  SignatureInfo signature;
  /// Whether another shape, or another value that decides a shape, may move what outputs lie in.
  bool may_move = false;
  bool decided_by_values = false;
  /// By output: whether only the run tells its shape, and any run may move it.
  std::vector<bool> counted;
  /// Sessions that share variables take turns.
  std::shared_ptr<std::atomic<bool>> busy = std::make_shared<std::atomic<bool>>(false);
  std::atomic<int> views{0};
  /// Where those views lie.
  std::vector<TensorView> shown;
  /// What was bound and has views, as the input that is an output has.
  std::vector<Borrowed> retired;

  struct Input {
    Borrowed bound;       ///< The caller's memory, or that of input(); empty where the Session has a copy.
    bool pinned = false;  ///< Stays when a call does not give it.
    bool given = false;   ///< In this call.
    Shape shape;
  };
  std::vector<Input> inputs;
};

class SessionHandle {
 public:
  SessionHandle(const ModelHandle& model, nb::handle options, nb::object outputs_type);

  nb::object Call(const nb::args& arrays, const nb::kwargs& named);
  nb::object RunNamed(const nb::dict& named, bool copy);
  void Cancel();
  /// `has_tail`: 16 readable bytes are known to follow.
  void Bind(nb::handle input, nb::handle array, bool has_tail);
  nb::dict State() const;
  void SetState(const nb::dict& values);
  void ResetState();
  nb::dict Memory() const;
  nb::list Profile() const;
  nb::dict Facts() const;
  void Close();
  bool closed() const { return !core_; }
  nb::object Tap(const std::string& name) const;

 private:
  SessionCore& core() const;
  /// The arrays of a call, by input. All are there before one is set, which may write what another shows.
  using Arrays = std::vector<Borrowed>;

  void Take(SessionCore& core, size_t index, nb::handle array, Arrays& arrays);
  void TakeNamed(SessionCore& core, PyObject* name, nb::handle array, Arrays& arrays);
  void Set(SessionCore& core, size_t index, Borrowed borrowed);
  void BindAt(SessionCore& core, size_t index, Borrowed borrowed);
  void Run(SessionCore& core, Arrays arrays);
  nb::object Collect(const std::shared_ptr<SessionCore>& core, bool copy);

  std::shared_ptr<SessionCore> core_;
  std::vector<nb::object> input_names_;  ///< Interned: a keyword is most often the same object.
  nb::object output_names_;
  nb::object outputs_type_;
  uint64_t last_run_ns_ = UINT64_MAX;  ///< Of shapes no larger than these.
};

void BindSession(nb::module_& module);

}  // namespace skiff::python
