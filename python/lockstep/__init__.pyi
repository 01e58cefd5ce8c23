import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

from lockstep import ray as ray
from lockstep.call import Call as Call
from lockstep.checked import Checked as Checked
from lockstep.claims import Claim as Claim, InvarianceReport as InvarianceReport
from lockstep.errors import (
    Failed as Failed, LockstepError as LockstepError, Skipped as Skipped,
    Unsupported as Unsupported, UsageError as UsageError)
from lockstep.identified import FieldEvidence as FieldEvidence, Identified as Identified
from lockstep.report import Finding as Finding, Report as Report
from lockstep.tables import Tables as Tables

__version__: str

_F = TypeVar("_F", bound=Callable[..., Any])
_Framework = Literal["numpy", "torch", "jax"]
_Words = Sequence[str] | str
_Case = str | os.PathLike[str] | "Case"

class Case:
    def __init__(self, line: str) -> None: ...
    @property
    def canonical(self) -> str: ...
    @property
    def op(self) -> str: ...
    def inputs(self) -> dict[str, Any]: ...
    def expected(self) -> dict[str, Any]: ...
    def mask(self) -> Any: ...
    def segments(self) -> Any: ...
    def call(self, wants: Sequence[str] = (), lacks: Sequence[str] = (),
             framework: _Framework = "numpy") -> Call: ...

def cases(path: str | os.PathLike[str]) -> list[Case]: ...
def ids(q: Any, kv: Any = None, *, pad: int | None = None) -> str: ...

@overload
def kernel(function: _F, /) -> _F: ...
@overload
def kernel(*, op: _Words = ..., framework: _Framework = ..., device: str = ...,
           features: _Words = ..., profile: str = ...,
           wants: _Words = ..., lacks: _Words = ..., lanes: _Words = ...,
           splits: Sequence[int] = ..., name: str = ...,
           version: str = ...) -> Callable[[_F], _F]: ...

@overload
def autograd_kernel(function: _F, /, *, framework: Literal["torch", "jax"]) -> _F: ...
@overload
def autograd_kernel(*, framework: Literal["torch", "jax"], device: str = ...,
                    features: _Words = ..., profile: str = ...,
                    wants: _Words = ..., lanes: _Words = ..., name: str = ...,
                    version: str = ...) -> Callable[[_F], _F]: ...

def verify(kernel: Callable[..., Any] | str, cases: _Case | Sequence[_Case], *,
           profile: str | os.PathLike[str] | None = None, isolate: bool = True,
           budget: str | None = None, shard: str | None = None,
           seed: int | None = None, threads: int | None = None,
           draws: int | None = None, call_timeout: float | None = None,
           junit: str | None = None, receipt: str | None = None,
           options: Sequence[str] = (), op: _Words = ...,
           framework: _Framework = ..., device: str = ..., features: _Words = ...,
           wants: _Words = ..., lacks: _Words = ..., lanes: _Words = ...) -> Report: ...
def check(kernel: Callable[..., Any] | str, states: str | None = None, *,
          budget: str | None = None, options: Sequence[str] = ()) -> Checked: ...
def fuzz(kernel: Callable[..., Any] | str, op: str | None = None, *,
         budget: str = "10s", profile: str | os.PathLike[str] | None = None,
         seed: int | None = None, isolate: bool = True, findings: int | None = None,
         shrink: float | None = None, shard: str | None = None,
         corpus: str | None = None, out: str | None = None,
         call_timeout: float | None = None, options: Sequence[str] = (),
         framework: _Framework = ..., device: str = ..., features: _Words = ...,
         wants: _Words = ..., lacks: _Words = ..., lanes: _Words = ...) -> Report: ...
def bench(kernel: Callable[..., Any], cases: _Case | Sequence[_Case], *,
          repetitions: int = 20, profile: str | os.PathLike[str] | None = None,
          **facts: Any) -> list[dict[str, Any]]: ...
def invariance(kernel: Callable[..., Any] | str, cases: _Case | Sequence[_Case] | None = None,
               *, claims: _Words = "all", profile: str | os.PathLike[str] | None = None,
               isolate: bool | None = None, budget: str | None = None,
               seed: int | None = None, threads: int | None = None,
               call_timeout: float | None = None,
               junit: str | os.PathLike[str] | None = None,
               receipt: str | os.PathLike[str] | None = None, options: Sequence[str] = (),
               framework: _Framework = ..., device: str = ..., features: _Words = ...,
               wants: _Words = ..., lacks: _Words = ..., lanes: _Words = ...) -> InvarianceReport: ...
def identify(kernel: Callable[..., Any] | str, *, op: str | None = None,
             lane: Literal["f32", "bf16", "f16"] | None = None, isolate: bool | None = None,
             call_timeout: float | None = None, framework: _Framework = ...,
             device: str = ..., features: _Words = ...,
             wants: _Words = ..., lacks: _Words = ..., lanes: _Words = ...) -> Identified: ...
def parametrize(*cases: _Case, profile: str | None = None, isolate: bool = True,
                claims: _Words = (), **facts: Any) -> Callable[[_F], _F]: ...

def attention_forward(
    q: Any, k: Any, v: Any, *, scale: float | None = None,
    softcap: float | None = None, mask: str = "full", align: str | int = "tl",
    dense_mask: Any = None, q_segments: Any = None, kv_segments: Any = None,
    valid_q: Any = None, valid_kv: Any = None, sink: Any = None,
    p: Literal["f32", "bf16", "f16"] | None = None, order: Literal["chain", "amx", "ampere", "hopper"] = "chain",
    split: int = 1, threads: int = 0) -> tuple[Any, Any]: ...
def attention_backward(
    q: Any, k: Any, v: Any, o: Any, lse: Any, do: Any, *, dlse: Any = None,
    grad: Literal["f32", "bf16", "f16"] | None = None, scale: float | None = None,
    softcap: float | None = None, mask: str = "full", align: str | int = "tl",
    dense_mask: Any = None, q_segments: Any = None, kv_segments: Any = None,
    valid_q: Any = None, valid_kv: Any = None, sink: Any = None,
    p: Literal["f32", "bf16", "f16"] | None = None, threads: int = 0
    ) -> tuple[Any, Any, Any, Any]: ...
def attention_merge(
    o_parts: Any, lse_parts: Any, *, base: Literal["e", "2"] = "e",
    out: Literal["f32", "bf16", "f16"] | None = None, threads: int = 0) -> tuple[Any, Any]: ...
def mamba3_scan(
    q: Any, k: Any, v: Any, *, a: Any, dt: Any, tau: Any, vartheta: Any = None,
    bq: Any = None, bk: Any = None, d: Any = None, z: Any = None, psi: Any = None,
    zeta: Any = None, phi: Any = None, norm_weight: Any = None, carry: Any = None,
    segments: Any = None, cu_seqlens: Any = None,
    variant: Literal["siso", "mimo"] = "siso", reduce: bool = False,
    norm_epsilon: float | None = None, rotated: Literal["f32", "bf16", "f16"] = "f32",
    threads: int = 0) -> tuple[Any, tuple[Any, Any, Any, Any]]: ...
def mamba3_scan_backward(
    q: Any, k: Any, v: Any, dy: Any, *, a: Any, dt: Any, tau: Any, vartheta: Any = None,
    bq: Any = None, bk: Any = None, d: Any = None, z: Any = None, psi: Any = None,
    zeta: Any = None, phi: Any = None, norm_weight: Any = None, carry: Any = None,
    dcarry: Any = None, grad: Literal["f32", "bf16", "f16"] | None = None, segments: Any = None,
    cu_seqlens: Any = None, variant: Literal["siso", "mimo"] = "siso",
    reduce: bool = False, norm_epsilon: float | None = None,
    rotated: Literal["f32", "bf16", "f16"] = "f32", threads: int = 0) -> dict[str, Any]: ...
def mamba3_step(
    q: Any, k: Any, v: Any, *, carry: Any, a: Any, dt: Any, tau: Any,
    vartheta: Any = None, bq: Any = None, bk: Any = None, d: Any = None, z: Any = None,
    psi: Any = None, zeta: Any = None, phi: Any = None, norm_weight: Any = None,
    variant: Literal["siso", "mimo"] = "siso", reduce: bool = False,
    norm_epsilon: float | None = None, rotated: Literal["f32", "bf16", "f16"] = "f32",
    threads: int = 0) -> tuple[Any, tuple[Any, Any, Any, Any]]: ...
def ssd_scan(
    q: Any, k: Any, v: Any, *, a: Any, dt: Any, d: Any = None, z: Any = None,
    carry: Any = None, segments: Any = None, cu_seqlens: Any = None, threads: int = 0
    ) -> tuple[Any, Any]: ...
@overload
def block_plan(mask: str, *, sq: int, skv: int, hq: int = 1, bq: int = 256,
               bk: int = 256, dialect: str = "shrunk", q_seg: str | None = None,
               kv_seg: str | None = None, dtype: str | None = None, **keys: Any
               ) -> Tables: ...
@overload
def block_plan(mask: str, *, sq: int, skv: int, hq: int = 1, bq: int = 256,
               bk: int = 256, dialect: str = "shrunk", q_seg: Any, kv_seg: Any = None,
               pad: int | None = None, dtype: str | None = None, **keys: Any
               ) -> Tables | list[Tables]: ...
def to_block_mask(rows: Tables | Sequence[Tables], device: Any = "cpu") -> Any: ...
