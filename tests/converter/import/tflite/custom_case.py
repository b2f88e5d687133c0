"""Cases of custom operators, for make_custom_cases.py: a function takes a Case and returns its outputs' tensors, with what
they hold where LiteRT cannot tell."""
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from case_builder import Case
from flatbuffers import flexbuffers
from tflite_writer import run

CASES = {}


def run_litert(data, values):
    interpreter = run(data, values)
    return [interpreter.get_tensor(port["index"]) for port in interpreter.get_output_details()]


def add(name, function, forms="f32", runner=run_litert):
    for form in forms.split():
        CASES[f"{name}_{form}"] = (function, form, runner)


def custom(c, name, inputs, outputs, options):
    """Adds a custom operator. `options`: bytes, or a dict, which becomes a FlexBuffer."""
    if name not in c.model.codes:
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
        code.customCode, code.version = name, 1
        c.model.codes[name] = len(c.model.table.operatorCodes)
        c.model.table.operatorCodes.append(code)
    operator = schema.OperatorT()
    operator.opcodeIndex = c.model.codes[name]
    operator.inputs, operator.outputs = inputs, outputs
    data = options if isinstance(options, bytes) else bytes(flexbuffers.Dumps(options))
    operator.customOptions = np.frombuffer(data, np.uint8)
    c.graph.table.operators.append(operator)


def build(function, name, form, runner):
    """The file, the inputs and the expected outputs."""
    case = Case(name, form)
    outputs, expected = function(case)
    data = case.finish(outputs)
    if not isinstance(expected, list):
        results = runner(data, case.values)
        expected = expected(results) if expected else results
    return data, case.values, expected
