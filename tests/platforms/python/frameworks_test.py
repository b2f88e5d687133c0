"""From Keras, TensorFlow and JAX, as far as they are installed; what is said where they are not."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import skiff


def needs(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


@pytest.mark.parametrize(
    ("call", "hidden", "install"),
    [
        ("from_keras(object())", "keras", "pip install keras"),
        ("from_tf(object())", "tensorflow", "pip install tensorflow"),
        ("from_jax(object(), ())", "jax", "pip install jax"),
        ("from_jax(object(), ())", "jax2onnx", "pip install jax"),
    ],
)
def test_without_the_package_the_message_says_what_to_install(call, hidden, install):
    code = (
        f"import sys; sys.modules[{hidden!r}] = None\n"
        "import skiff\n"
        f"try:\n    skiff.{call}\nexcept skiff.Unsupported as error:\n    print(error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert install in result.stdout and call.split("(")[0] in result.stdout, result


@needs("tensorflow", "keras")
def test_keras():
    import keras

    net = keras.Sequential(
        [keras.Input((8, 8, 3), name="image"), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(5)]
    )
    x = np.random.default_rng(1).normal(size=(2, 8, 8, 3)).astype(np.float32)
    for model in (skiff.from_keras(net), skiff.convert(net)):
        np.testing.assert_allclose(model(x)[0], net(x), rtol=1e-4, atol=1e-5)
    with pytest.raises(skiff.InvalidArgument, match="has no attribute 'fast'"):
        skiff.from_keras(net, export_options={"fast": True})
    with pytest.raises(skiff.InvalidArgument, match="takes a keras.Model, got int"):
        skiff.from_keras(1)


@needs("tensorflow")
def test_tensorflow(tmp_path):
    import tensorflow as tf

    class Net(tf.Module):
        def __init__(self):
            self.w = tf.Variable(np.random.default_rng(1).normal(size=(20, 3)).astype(np.float32))

        @tf.function(input_signature=[tf.TensorSpec([None, 20], tf.float32, "x")])
        def score(self, x):
            return {"scores": tf.nn.softmax(x @ self.w)}

        @tf.function(input_signature=[tf.TensorSpec([None, 20], tf.float32, "x")])
        def largest(self, x):
            return {"largest": tf.argmax(x @ self.w, 1)}

    net = Net()
    x = np.random.default_rng(2).normal(size=(4, 20)).astype(np.float32)
    expected = net.score(x)["scores"]
    tf.saved_model.save(net, tmp_path / "saved", signatures={"score": net.score})
    plain = tf.function(lambda x: tf.nn.softmax(x @ net.w))
    for model in (
        skiff.from_tf(net),
        skiff.from_tf(net.score),
        skiff.from_tf(tmp_path / "saved"),
        skiff.from_tf(plain, [tf.TensorSpec([None, 20], tf.float32)], dims={}),
    ):
        session = model.session("score" if "score" in model.signatures else None)
        np.testing.assert_allclose(session(x)[0], expected, rtol=1e-4, atol=1e-6)
    both = skiff.from_tf(net)
    assert sorted(both.signatures) == ["largest", "score"]
    np.testing.assert_array_equal(both.session("largest")(x).largest, net.largest(x)["largest"])
    with pytest.raises(skiff.InvalidArgument, match="no input_signature"):
        skiff.from_tf(plain)
    with pytest.raises(skiff.InvalidArgument, match="got int"):
        skiff.from_tf(1)


@needs("jax", "jax2onnx")
def test_jax():
    import jax
    import jax.numpy as jnp

    w = np.random.default_rng(1).normal(size=(20, 3)).astype(np.float32)

    def net(x):
        return jax.nn.softmax(jnp.tanh(x) @ w)

    x = np.random.default_rng(2).normal(size=(4, 20)).astype(np.float32)
    np.testing.assert_allclose(skiff.from_jax(net, x)(x)[0], net(x), rtol=1e-4, atol=1e-6)
    opened = skiff.from_jax(net, (x,), polymorphic_shapes=["batch, 20"], dims={"batch": (1, 8)})
    for n in (1, 4, 8):
        np.testing.assert_allclose(opened(x[:1].repeat(n, 0))[0], net(x[:1].repeat(n, 0)), rtol=1e-4, atol=1e-6)
    with pytest.raises(skiff.InvalidArgument, match="2 extents"):
        skiff.from_jax(net, x[0], polymorphic_shapes=["batch, 20"])
    with pytest.raises(skiff.InvalidArgument, match="entries for 1 inputs"):
        skiff.from_jax(net, x, polymorphic_shapes=[])
