"""The nets of pictures.py as quantisers write them: weights and nearly all results go through codes of 8 bits. For compare.py."""
import numpy as np
import pictures
from net import Net

# Of a result's codes. A sum that lies half way between two may become either, and what follows sees it.
STEP = 0.04


class IntegerNet(Net):
    def __init__(self, seed):
        super().__init__(seed)
        self.codes, self.zero_points = self.pick((np.int8, (0, 3, -5)), (np.uint8, (128, 120, 100)))

    def weights(self, *shape):
        """As codes, with a scale for each output or one for all."""
        if len(shape) != 4:
            return super().weights(*shape)
        numbers = (self.numbers.normal(size=shape) / np.prod(shape[1:]) ** 0.5).astype(np.float32)
        each = self.chance(0.5)
        largest = np.abs(numbers).max((1, 2, 3), keepdims=True) if each else np.abs(numbers).max()
        scales = np.float32(largest / 127 + 1e-6)
        inputs = [self.const(np.clip(np.rint(numbers / scales), -127, 127), np.int8), self.const(scales.reshape(-1) if each else scales),
                  self.const(np.zeros(shape[0] if each else ()), np.int8)]
        return self.node("DequantizeLinear", inputs, axis=0) if each else self.node("DequantizeLinear", inputs)

    def rounded(self, value):
        grid = [self.const(self.pick(0.75, 1, 1.25) * STEP), self.const(self.pick(*self.zero_points), self.codes)]
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [value, *grid]), *grid])


def draw(seed):
    return pictures.draw(seed, IntegerNet(seed))
