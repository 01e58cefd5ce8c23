"""The public kernels, and what is known of their findings: read by
scripts/judge_public_kernels.py."""
import dataclasses
import re

FORWARD = ("foreign-attention-f32.cases",)
FORWARD_BF16 = ("foreign-attention-bf16.cases",)
FORWARD_F16 = ("foreign-attention-f16.cases",)
SCAN = ("foreign-scan.cases",)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """`lines` of its corpora, each `rounds` times with other data, and `drawn` cases are
    judged; `only` words are in a line. `more` lines show what no line of a corpus does."""
    name: str
    library: str
    spec: str
    corpora: tuple
    lane: str = "f32"
    op: str = "attention_forward"
    lines: int = 1000
    drawn: int = 0
    only: tuple = ()
    rounds: int = 1
    more: tuple = ()


# A NaN in one row of queries, and sums over a tile of 32 and a rest; one query without
# a key, in blocks of 512; a NaN in a late token.
SPECIAL = tuple(f"attention_forward sq=33 skv={skv} d=64 lane={{lane}} fill=normal:1+"
                f"q.special:0.001 seed=1" for skv in (37, 50))
LONELY = ("attention_forward sq=1 skv=512 d=64 lane={lane} mask=random:0 seed=1",)
LATE = ("mamba3_scan t=65 n=64 p=64 lane={lane} fill=normal:1+v.special:0.001 seed=2",)


def python(file, function):
    return f"py:python/examples/{file}.py:{function}"


def _pair(name, library, file, function, **numbers):
    """A kernel in f32 and in bf16."""
    for lane, corpora in (("f32", FORWARD), ("bf16", FORWARD_BF16)):
        yield Kernel(f"{name}_{lane}", library, python(file, f"{function}_{lane}"), corpora,
                     lane, **numbers)


def _half(name, library, file, function, **numbers):
    """The same kernel in f16."""
    return Kernel(f"{name}_f16", library, python(file, f"{function}_f16"), FORWARD_F16, "f16",
                  **numbers)


def _planners(name, library, file, *functions):
    """What makes tables of masks."""
    for function in functions:
        yield Kernel(name + function.removeprefix("plan"), library, python(file, function),
                     ("block_plan.cases",), op="block_plan", drawn=2000)


KERNELS = (
    Kernel("numpy_f32", "numpy", python("numpy_attention", "attend"), FORWARD, drawn=6000),
    *_pair("sdpa", "torch", "torch_sdpa", "attend", drawn=8000),
    _half("sdpa", "torch", "torch_sdpa", "attend", drawn=2000),
    *_pair("flex_eager", "torch", "torch_flex", "eager", drawn=3000, more=SPECIAL),
    _half("flex_eager", "torch", "torch_flex", "eager", drawn=1000),
    *_pair("flex_compiled", "torch", "torch_flex_compiled", "compiled", lines=50,
           more=LONELY),
    Kernel("jax_nn_f32", "jax", python("jax_attention", "attend_f32"), FORWARD, lines=80),
    *_pair("splash", "jax", "jax_splash", "attend", lines=50),
    Kernel("tokamax_xla_f32", "tokamax", python("tokamax_attention", "xla_f32"), FORWARD,
           lines=80),
    Kernel("tokamax_xla_bf16", "tokamax", python("tokamax_attention", "xla_bf16"),
           FORWARD_BF16, "bf16", lines=80),
    Kernel("tokamax_chunked_f32", "tokamax", python("tokamax_attention", "chunked_f32"),
           FORWARD, lines=80),
    *_pair("tokamax_triton", "tokamax", "tokamax_triton", "stable", lines=60),
    Kernel("tokamax_triton_capped_f32", "tokamax", python("tokamax_triton", "capped_f32"),
           FORWARD, lines=60, only=("cap=",)),
    *_pair("ggml", "ggml-python", "ggml_attention", "attend", drawn=2000),
    Kernel("ggml_style_c", "", "so:build/public/ggml_style.so", FORWARD, drawn=2000),
    Kernel("mamba3_triton_f32", "mamba-ssm", python("mamba3_triton", "siso_f32"), SCAN,
           "f32", "mamba3_scan", rounds=2, more=LATE),
    Kernel("mamba3_triton_bf16", "mamba-ssm", python("mamba3_triton", "siso_bf16"), SCAN,
           "bf16", "mamba3_scan", rounds=2, more=LATE),
    Kernel("mamba3_jax_f32", "mamba3-jax", python("mamba3_jax_siso", "siso_f32"), SCAN,
           "f32", "mamba3_scan", drawn=900),
    *_planners("flex_block_mask", "torch", "torch_block_mask", "plan", "plan_adjusted"),
    *_planners("splash_mask_info", "jax", "jax_mask_info", "plan"),
    *_planners("splash_mask_info", "jax", "jax_mask_info_ways", "plan_whole"),
    *_planners("tokamax_flat_list", "tokamax", "tokamax_flat_list", "plan"),
)


# Whose claims are tried (docs/invariance.md).
CLAIMANTS = ("numpy_f32", "sdpa_f32", "sdpa_bf16", "flex_eager_f32", "flex_eager_bf16")


@dataclasses.dataclass(frozen=True)
class Defect:
    """A finding is this defect if its kernel's name begins with one of `kernels` and
    `case` is found in its line. `public`: where it is known, in public."""
    title: str
    script: str
    kernels: tuple = ()
    case: str = "$^"
    public: str = ""

    def explains(self, kernel, finding):
        return kernel.startswith(self.kernels) and re.search(self.case, finding["case"])


def _script(name):
    return f"python/examples/defects/{name}.py"


DEFECTS = (
    Defect("A run without tokens exports memory that nobody wrote, and its neighbour's token",
           _script("mamba3_triton_empty_run"), ("mamba3_triton",),
           r" cu=(\S*,)?(\d+),\2(,|\s|$)", "state-spaces/mamba, pull request 920"),
    Defect("A NaN in a token reaches the tokens before it in its chunk",
           _script("mamba3_triton_nan_back"), ("mamba3_triton",), r"special|poison"),
    Defect("A NaN in a late token reaches those before it in its chunk (mamba3-jax)",
           _script("mamba3_jax_nan_back"), ("mamba3_jax",), r"special|poison"),
    Defect("A NaN in one row of a bf16 product shows in the row before it (oneDNN, AMX)",
           _script("onednn_bf16_nan_row"), ("flex_eager_bf16",),
           r"poison|special|huge|inf|nan|rows:", "oneapi-src/oneDNN, issue 5717"),
    Defect("Compiled for one query: where no block of keys is visible, o is not written",
           _script("flex_compiled_decode"), ("flex_compiled",), r" sq=1 "),
    Defect("Packed runs are separated by exp(-30), not by 0",
           _script("mamba3_jax_leaks"), ("mamba3_jax",), r" cu="),
    Defect("Keys that pad the last tile are masked before the softcap, and count",
           _script("ggml_softcap_padding"), ("ggml_f32",), r"^(?!.* mask).* cap=",
           "ggml-org/llama.cpp, pull request 29034"),
    Defect("A row that sees no key, and whose sink is -inf, is NaN",
           _script("ggml_sink_empty_row"), ("ggml",), r" sinklogit=\S*-inf"),
    Defect("Cut to shorter lengths, a BlockMask has indices compared with counts",
           _script("flex_adjust"), ("flex_block_mask_adjusted",), r"",
           "pytorch/pytorch, issue 139117 and pull request 188208"),
    Defect("Tables of a mask without partial tiles, or without tiles, in shards of queries",
           _script("splash_shards"), ("splash_mask_info",), r" q_shards="),
    Defect("A tile of queries that sees no key is in no list, and its output never written",
           _script("tokamax_flat_list_unwritten"), ("tokamax_flat_list",), r""),
    Defect("Triton's interpreter cuts f32 off to bf16; the adapter rounds as GPUs do",
           _script("triton_interpreter_bf16")),
    Defect("bf16 products of subnormal numbers are 0 (oneDNN, AMX); the profiles say so",
           _script("onednn_bf16_subnormals")),
    Defect("local_window_size with fewer queries than keys", _script("tokamax_local_window")),
    Defect("Up to a softcap of 60 weights have no maximum, and overflow in f16",
           _script("tokamax_f16_weights")),
    Defect("Channels that do not lie side by side are read as if they did; the adapter hands "
           "over none, as the dispatcher does", _script("sdpa_strided_channels"), ("sdpa",),
           r"strides=q:\S*/[2-9]\b"),
    Defect("-inf is added to a masked score, which makes NaN of one that overflowed; the "
           "adapter leaves such cases aside", _script("sdpa_additive_mask")),
    Defect("exp(0) is 1 - 5.3e-5 in bf16, and lse of an empty row is 0; the profile says so",
           _script("sdpa_bf16_exp")),
    Defect("The lse of bf16 tensors is bf16", _script("jax_lse_bf16")),
)
