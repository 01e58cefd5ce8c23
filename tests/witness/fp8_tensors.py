"""Tensors in fp8 for the witness's selftest, and bugs of reading them."""

import numpy as np

import safetensors_file


class Fp8Tensors:
    """q, k and v in fp8 with scales of 0.5 to 2; every bug is one of what is read."""

    BUGS = ("q_scale_forgotten", "k_scale_forgotten", "v_scale_twice", "k_scale_of_next",
            "k_in_other_format", "v_next_byte")

    def draw(self):
        rng = np.random.default_rng(8)
        case = self.case
        self.bytes = {n: rng.integers(0, 0x50, getattr(self, n).shape, np.uint8)
                      | (rng.integers(0, 2, getattr(self, n).shape, np.uint8) << 7)
                      for n in "qkv"}
        shapes = {"q": (1, case.hq, 1), "k": (case.b, case.hkv, case.skv),
                  "v": (case.b, case.hkv, case.skv)}
        self.scale = {n: rng.uniform(0.5, 2, shapes[n]).astype(np.float32) for n in "qkv"}

    def read(self, bug):
        for n in "qkv":
            lane = "F8_" + (self.case.qlane if n == "q" else self.case.kvlane).upper()
            if bug == n + "_in_other_format":
                lane = {"F8_E4M3": "F8_E5M2", "F8_E5M2": "F8_E4M3"}[lane]
            data = np.roll(self.bytes[n], 1, -1) if bug == n + "_next_byte" else self.bytes[n]
            scale = self.scale[n]
            if bug == n + "_scale_of_next":
                scale = np.roll(scale, 1, 2)
            power = {n + "_scale_forgotten": 0, n + "_scale_twice": 2}.get(bug, 1)
            numbers = safetensors_file.values_of(data, lane) * scale[..., None] ** power
            setattr(self, n, numbers.astype(np.float32))

    def inputs(self):
        lanes = {"q": self.case.qlane, "k": self.case.kvlane, "v": self.case.kvlane}
        out = {n: ("F8_" + lanes[n].upper(), self.bytes[n]) for n in "qkv"}
        return {**out, **{n + "_scale": ("F32", self.scale[n]) for n in "qkv"}}
