base = cpu-f32
name = numpy
max = two_pass
splits = 1
masked_nan_safe = no
nan = unspecified
