#!/usr/bin/env python3
"""Compares what Skiff makes of scikit-learn's models with scikit-learn itself.

usage: compare_sklearn.py path/to/skiff [--only TEXT] [--rows 300] [--keep FOLDER]
       compare_sklearn.py path/to/skiff --measure path/to/run_server [--trees 500] [--threads 1]

Needs the Python packages scikit-learn and skl2onnx (and onnxruntime for --measure), best in a virtual environment; the
build and the tests do without them. Each model is trained here, on numbers drawn from a fixed seed, written by skl2onnx
with zipmap off (and k-NN's distances as CDist), converted by `skiff convert`, and run on rows that it was not trained on, with each backend and in one
call and row by row. A row of the table is a model: how many labels differ, how far the largest of the other numbers is
off (of the largest number, where that is above 1), and whether that is within 1e-5. Exit code 1 where one is not.

--measure prints the time of a forest of so many trees beside onnxruntime's, for several numbers of rows: medians of
interleaved rounds. Nothing else should be busy on the machine.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import onnx.helper
    from skl2onnx import to_onnx
    from sklearn import (ensemble, linear_model, naive_bayes, neighbors, neural_network, pipeline, preprocessing, svm, tree)
    from sklearn.impute import SimpleImputer
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

BACKENDS = ("xnnpack", "reference")
_make_attribute = onnx.helper.make_attribute


def make_attribute(key, value, *rest, **others):
    """skl2onnx 1.20 hands on integers of NumPy and truths, which onnx does not take."""
    if isinstance(value, list):
        value = [element.item() if isinstance(element, np.generic) else element for element in value]
        value = [int(element) if isinstance(element, bool) else element for element in value]
    return _make_attribute(key, value, *rest, **others)


onnx.helper.make_attribute = make_attribute
LIMIT = 1e-5


def scaled(model):
    return pipeline.make_pipeline(preprocessing.StandardScaler(), model)


def classifiers():
    """By name: a model, and how many classes it learns to tell apart."""
    seed = {"random_state": 1}
    models = {
        "decision_tree": tree.DecisionTreeClassifier(**seed),
        "random_forest": ensemble.RandomForestClassifier(60, **seed),
        "extra_trees": ensemble.ExtraTreesClassifier(30, **seed),
        "gradient_boosting": ensemble.GradientBoostingClassifier(n_estimators=40, **seed),
        "hist_gradient_boosting": ensemble.HistGradientBoostingClassifier(max_iter=40, **seed),
        "ada_boost": ensemble.AdaBoostClassifier(n_estimators=20, **seed),
        "bagging": ensemble.BaggingClassifier(n_estimators=8, **seed),
        "logistic_regression": scaled(linear_model.LogisticRegression()),
        "sgd": scaled(linear_model.SGDClassifier(loss="log_loss", **seed)),
        "ridge": scaled(linear_model.RidgeClassifier()),
        "linear_svc": scaled(svm.LinearSVC(**seed)),
        "svc_rbf": scaled(svm.SVC()),
        "svc_poly": scaled(svm.SVC(kernel="poly")),
        "svc_sigmoid": scaled(svm.SVC(kernel="sigmoid")),
        "svc_linear_probability": scaled(svm.SVC(kernel="linear", probability=True, **seed)),
        "svc_probability": scaled(svm.SVC(probability=True, **seed)),
        "nu_svc": scaled(svm.NuSVC(nu=0.2)),
        "knn": scaled(neighbors.KNeighborsClassifier(5)),
        "knn_cdist": scaled(neighbors.KNeighborsClassifier(5)),
        "mlp": scaled(neural_network.MLPClassifier((24, 12), max_iter=60, **seed)),
        "gaussian_nb": naive_bayes.GaussianNB(),
        "bernoulli_nb": pipeline.make_pipeline(preprocessing.Binarizer(threshold=0.1), naive_bayes.BernoulliNB()),
        "multinomial_nb": pipeline.make_pipeline(preprocessing.MinMaxScaler(clip=True), naive_bayes.MultinomialNB()),
        "normalized_l2": pipeline.make_pipeline(preprocessing.Normalizer("l2"), linear_model.LogisticRegression()),
        "normalized_l1": pipeline.make_pipeline(preprocessing.Normalizer("l1"), linear_model.LogisticRegression()),
        "imputed": pipeline.make_pipeline(SimpleImputer(), tree.DecisionTreeClassifier(**seed)),
        "voting": ensemble.VotingClassifier([("a", tree.DecisionTreeClassifier(max_depth=4, **seed)),
                                             ("b", naive_bayes.GaussianNB())], voting="soft",
                                            flatten_transform=False),
    }
    for name, model in models.items():
        yield name, model


def regressors():
    seed = {"random_state": 1}
    yield "linear_regression", linear_model.LinearRegression()
    yield "ridge_regression", scaled(linear_model.Ridge())
    yield "lasso", linear_model.Lasso(alpha=0.01)
    yield "decision_tree_regression", tree.DecisionTreeRegressor(**seed)
    yield "random_forest_regression", ensemble.RandomForestRegressor(40, **seed)
    yield "gradient_boosting_regression", ensemble.GradientBoostingRegressor(n_estimators=40, **seed)
    yield "hist_gradient_boosting_regression", ensemble.HistGradientBoostingRegressor(max_iter=40, **seed)
    yield "svr", scaled(svm.SVR())
    yield "svr_linear", scaled(svm.SVR(kernel="linear"))
    yield "knn_regression", scaled(neighbors.KNeighborsRegressor(4))
    yield "knn_cdist_regression", scaled(neighbors.KNeighborsRegressor(4))
    yield "mlp_regression", scaled(neural_network.MLPRegressor(hidden_layer_sizes=(16,), max_iter=80, **seed))


class Skiff:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder

    def convert(self, onnx, most):
        model = self.folder / "model.skiff"
        self.call("convert", onnx, "-o", model, "--dim", f"n=1..{most}")
        return model

    def run(self, model, x, backend):
        out = self.folder / "out"
        out.mkdir(exist_ok=True)
        for old in out.iterdir():
            old.unlink()
        np.save(self.folder / "x.npy", x)
        self.call("run", model, "-i", f"x={self.folder / 'x.npy'}", "-o", out, "--backend", backend)
        return {file.stem: np.load(file) for file in out.glob("*.npy")}

    def call(self, *arguments):
        done = subprocess.run([self.tool, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError((done.stderr or done.stdout).strip())


def export(name, model, folder, classifier):
    last = model.steps[-1][1] if isinstance(model, pipeline.Pipeline) else model
    options = {}
    if classifier and not isinstance(last, svm.LinearSVC):
        options["zipmap"] = False
    if "cdist" in name:
        options["optim"] = "cdist"  # Else distances are a Scan.
    # For LinearSVC skl2onnx supposes an option that it refuses then, unless there is an entry.
    options = {id(model if "optim" not in options and options else last): options}
    x = np.zeros((1, model.n_features_in_), np.float32)
    proto = to_onnx(model, initial_types=None, X=x, options=options, target_opset={"": 18, "ai.onnx.ml": 3})
    proto.graph.input[0].name, old = "x", proto.graph.input[0].name
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    for node in proto.graph.node:
        for i, name in enumerate(node.input):
            if name == old:
                node.input[i] = "x"
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def expected_of(model, x, classifier):
    """Labels, and the numbers beside them."""
    if not classifier:
        return None, model.predict(x)
    if hasattr(model, "predict_proba"):
        return model.predict(x), model.predict_proba(x)
    return model.predict(x), None


def compare(outputs, labels, numbers):
    """How many labels differ, and how far the numbers are off."""
    wrong, off = 0, 0.0
    for got in outputs.values():
        if got.dtype.kind in "iu":
            wrong = int((got.reshape(-1) != labels).sum()) if labels is not None else wrong
        elif numbers is not None:
            got = got.reshape(np.shape(numbers))
            off = max(off, float(np.abs(got - numbers).max() / max(1.0, np.abs(numbers).max())))
    return wrong, off


def check(skiff, folder, name, model, train, test, classifier):
    (x, y), model = train, model.fit(*train)
    onnx = export(name, model, folder, classifier)
    converted = skiff.convert(onnx, len(test))
    labels, numbers = expected_of(model, test, classifier)
    wrong, off = 0, 0.0
    for backend in BACKENDS:
        results = [compare(skiff.run(converted, test, backend), labels, numbers)]
        one = slice(3, 4)
        results.append(compare(skiff.run(converted, test[one], backend), None if labels is None else labels[one],
                               None if numbers is None else numbers[one]))
        wrong, off = max([wrong] + [r[0] for r in results]), max([off] + [r[1] for r in results])
    good = wrong == 0 and off <= LIMIT
    print(f"{name:40} {wrong:6} {off:10.1e}  {'good' if good else 'OFF'}", flush=True)
    return good


def check_all(arguments, folder):
    draw = np.random.default_rng(7)
    skiff = Skiff(arguments.skiff, folder)
    rows, features = 400, 12
    x = draw.normal(size=(rows + arguments.rows, features)).astype(np.float32)
    good = True
    print(f"{'model':40} {'labels':>6} {'numbers':>10}")
    for classes in (2, 3):
        noise = draw.normal(size=len(x))
        y = np.digitize(x[:, 0] + x[:, 1] * x[:, 2] + 0.2 * noise, np.linspace(-1, 1, classes + 1)[1:-1])
        for name, model in classifiers():
            if arguments.only in f"{name}_{classes}":
                good &= guarded(skiff, folder, f"{name}_{classes}", model, x, y, rows, True)
    y = x[:, 0] * 2 + np.sin(x[:, 1]) + 0.1 * draw.normal(size=len(x))
    for name, model in regressors():
        if arguments.only in name:
            good &= guarded(skiff, folder, name, model, x, y, rows, False)
    return good


def guarded(skiff, folder, name, model, x, y, rows, classifier):
    try:
        return check(skiff, folder, name, model, (x[:rows], y[:rows]), x[rows:], classifier)
    except Exception as error:  # What one model cannot do is a row of the table.
        print(f"{name:40} {type(error).__name__}: {str(error)[:1000]}", flush=True)
        return False


def measure(arguments, folder):
    import onnxruntime as ort
    draw = np.random.default_rng(7)
    x = draw.normal(size=(3000, 30)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(int)
    model = ensemble.RandomForestClassifier(arguments.trees, random_state=1).fit(x, y)
    onnx = export("forest", model, folder, True)
    skiff = Skiff(arguments.skiff, folder)
    options = ort.SessionOptions()
    options.intra_op_num_threads = arguments.threads
    session = ort.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
    print(f"{arguments.trees} trees, {sum(e.tree_.node_count for e in model.estimators_)} nodes, "
          f"{arguments.threads} threads")
    for rows in (1, 8, 100, 1000, 10000):
        given = draw.normal(size=(rows, 30)).astype(np.float32)
        inputs = folder / "inputs"
        inputs.mkdir(exist_ok=True)
        np.save(inputs / "x.npy", given)
        server = subprocess.Popen([arguments.measure, onnx, "--dim", f"n={rows}", "--inputs", inputs, "--threads",
                                   str(arguments.threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        server.stdout.readline()
        times = max(1, 20000 // rows // 20)
        ours, theirs = [], []
        for _ in range(11):
            server.stdin.write(f"run {times}\n")
            server.stdin.flush()
            ours.append(statistics.median(int(word) * 1e-6 for word in server.stdout.readline().split()))
            one = []
            for _ in range(times):
                begin = time.perf_counter_ns()
                session.run(None, {"x": given})
                one.append((time.perf_counter_ns() - begin) * 1e-6)
            theirs.append(statistics.median(one))
        server.stdin.close()
        server.wait()
        ratio = statistics.median(a / b for a, b in zip(ours, theirs))
        print(f"{rows:6} rows: Skiff {statistics.median(ours):9.3f} ms, onnxruntime "
              f"{statistics.median(theirs):9.3f} ms, ratio {ratio:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skiff")
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--measure")
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        if arguments.measure:
            return measure(arguments, folder)
        sys.exit(0 if check_all(arguments, folder) else 1)


if __name__ == "__main__":
    main()
