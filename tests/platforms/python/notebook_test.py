"""The notebooks of samples/notebooks: their code runs here as it stands, and in a kernel where nbclient is installed."""

import ast
import importlib.util
import json

import pytest

from conftest import SOURCE_DIR

NOTEBOOKS = sorted((SOURCE_DIR / "samples" / "notebooks").glob("*.ipynb"))
#: What must be installed beside the package.
NEEDS = {"from_torch.ipynb": ["torch", "onnx"]}


def installed(path):
    for package in NEEDS.get(path.name, []):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


def run_cell(source, name, variables):
    """Runs a cell; what a notebook would show of its last line is made, too."""
    tree = ast.parse(source, name)
    shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), variables)
    if shown is not None:
        value = eval(compile(ast.Expression(shown.value), name, "eval"), variables)
        return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)
    return None


def test_there_are_four():
    assert {path.name for path in NOTEBOOKS} == {"eager_and_graph.ipynb", "from_torch.ipynb", "open_shapes.ipynb", "quantised.ipynb"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_code_runs(path, tmp_path, monkeypatch):
    installed(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKIFF_SOURCE_DIR", str(SOURCE_DIR))
    variables = {"__name__": "__main__"}
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    shown = [run_cell("".join(cell["source"]), f"{path.name}[{i}]", variables) for i, cell in enumerate(cells)]
    assert any(shown) and all(not cell["outputs"] for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_in_a_kernel(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    installed(path)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    monkeypatch.setenv("SKIFF_SOURCE_DIR", str(SOURCE_DIR))
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
