#include "verify/base/trade_words.h"

#include <algorithm>
#include <cctype>

namespace lockstep::verify {
namespace {

using enum WordFor;

constexpr const char* kEights =
    "fp8 is a lane of q, k and v: kvlane=e4m3 qlane=e4m3 (docs/cases.md)";
constexpr const char* kNoTolerance =
    "there is no tolerance: --profile says what arithmetic the kernel has "
    "(docs/which-profile.md)";

constexpr TradeWord kTable[] = {
    {kOp,
     "attention attn sdpa scaled_dot_product_attention flash_attention "
     "flash_attn flash fa2 fa3 flex_attention mha gqa mqa attention_fwd "
     "attn_fwd splash",
     "attention_forward", ""},
    {kOp,
     "attention_bwd attn_bwd attention_grad attention_gradients "
     "flash_attention_bwd",
     "attention_backward", ""},
    {kOp,
     "merge merge_state merge_states merge_attn_states combine cascade "
     "ring_attention lse_merge",
     "attention_merge", ""},
    {kOp, "mamba mamba3 selective_scan ssm", "mamba3_scan", ""},
    {kOp, "mamba2 ssd mamba_chunk_scan", "ssd_scan", "Mamba-2"},
    {kOp, "mamba_step selective_state_update decode", "mamba3_step", ""},
    {kOp, "block_mask blockmask mask_info create_block_mask", "block_plan", ""},

    {kKey, "dtype type precision data_type", "lane",
     "lane=f32, lane=bf16 or lane=f16"},
    {kKey, "q_len qlen seq_len_q seqlen_q query_length len_q max_seqlen_q",
     "sq", ""},
    {kKey,
     "kv_len k_len kvlen seqlen_k seqlen_kv seq_len_kv key_length len_k "
     "max_seqlen_k",
     "skv", ""},
    {kKey, "seq_len seqlen seq sequence_length length", "sq",
     "queries; keys are skv"},
    {kKey, "seq_len seqlen seq sequence_length length tokens", "t", "tokens"},
    {kKey, "heads num_heads n_heads nheads num_attention_heads q_heads", "hq",
     "query heads; key heads are hkv"},
    {kKey, "heads num_heads n_heads nheads", "h", ""},
    {kKey, "kv_heads num_kv_heads n_kv_heads nheads_k num_key_value_heads",
     "hkv", ""},
    {kKey, "groups num_groups ngroups n_groups group", "hkv",
     "a group has hq / hkv query heads"},
    {kKey, "groups num_groups ngroups n_groups", "g", ""},
    {kKey, "head_dim headdim dim head_size d_head d_k", "d", ""},
    {kKey, "head_dim headdim dim head_size d_head d_v channels", "p",
     "channels"},
    {kKey, "d_state dstate state state_size", "n", "state"},
    {kKey, "head_dim_v headdim_v v_dim d_v dim_v", "dv", ""},
    {kKey, "batch batch_size bsz bs n", "b", ""},
    {kKey,
     "softcap soft_cap logit_cap logits_cap logits_soft_cap "
     "attn_logit_softcapping",
     "cap", "cap=50"},
    {kKey, "softmax_scale sm_scale qk_scale", "scale", ""},
    {kKey, "is_causal causal", "mask=causal", ""},
    {kKey,
     "window window_size sliding_window local_window_size sliding local "
     "window_left",
     "mask=window", "mask=causal&window:LEFT,RIGHT, -1 of others is inf"},
    {kKey, "attn_mask attention_mask dense_mask", "mask=dense",
     "mask=dense:FILE.npy"},
    {kKey,
     "segment_ids segments seg doc_ids document_ids doc_id cu_seqlens varlen "
     "packed",
     "q_seg", "with kv_seg: runs:3,5 or file:PATH"},
    {kKey, "segment_ids segments doc_ids seq_idx", "seg", "runs:3,5"},
    {kKey, "cu_seqlens", "cu", "cu=0,3,8"},
    {kKey, "pad pad_id padding_id pad_token_id padding_idx", "valid_kv",
     "counts of tokens; ids with padding: lockstep ids FILE --pad ID"},
    {kKey, "padding padding_mask key_padding_mask lengths seqused_k",
     "valid_kv", "keys that exist, one number a batch row"},
    {kKey, "sink s_aux sinks attention_sink sink_logits", "sinklogit",
     "a learned logit a head; first keys that all see are mask=sink:N"},
    {kKey, "q_offset position cache_position query_offset", "align",
     "the position of query 0, or br"},
    {kKey, "random_seed rng manual_seed", "seed", ""},
    {kKey, "block_size block_q", "bq", ""},
    {kKey, "block_k block_kv", "bk", ""},
    {kKey, "dropout dropout_p attn_dropout", "",
     "dropout is not supported: judge the kernel with dropout off "
     "(docs/faq.md)"},
    {kKey, "alibi alibi_slopes bias attn_bias rel_pos score_mod", "",
     "additive biases such as ALiBi are not supported (docs/faq.md)"},
    {kKey, "block_table page_table paged page_size kv_cache block_tables",
     "page",
     "keys in a page, and a table of your own: page=16:pool=64:file:PATH"},
    {kKey, "rope rotary rotary_dim theta", "",
     "rotary embeddings are not part of the op: the inputs are what q and k "
     "are after them (docs/faq.md)"},
    {kKey, "atol rtol tol tolerance", "", kNoTolerance},

    {kMaskTerm,
     "sliding sliding_window local band banded window_size swa "
     "sliding_window_attention",
     "window", "window:LEFT,RIGHT"},
    {kMaskTerm, "tril lower_triangular autoregressive triangular is_causal",
     "causal", ""},
    {kMaskTerm, "none no all bidirectional dense_full noncausal", "full", ""},
    {kMaskTerm, "prefix_lm prefixlm", "prefix", "prefix:LENGTH"},
    {kMaskTerm, "chunk block_diagonal chunked_causal", "chunked",
     "chunked:SIZE"},
    {kMaskTerm, "streaming sinks attention_sink", "sink",
     "causal&window:LEFT,0|sink:TOKENS"},
    {kMaskTerm, "document doc documents packed segments segment_ids varlen",
     "q_seg", "documents are keys of the case: q_seg=runs:3,5 kv_seg=runs:3,5"},
    {kMaskTerm, "file npy array", "dense", "dense:FILE.npy"},
    {kMaskTerm, "alibi bias rel_pos", "",
     "additive biases such as ALiBi are not supported (docs/faq.md)"},

    {kLane, "float32 fp32 float single", "f32", ""},
    {kLane, "bfloat16 bfp16", "bf16", ""},
    {kLane, "float16 fp16 half", "f16", ""},
    {kLane, "fp8 f8 float8 float8_e4m3fn float8_e5m2", "", kEights},
    {kLane, "int8", "",
     "int8 is not supported: judge the kernel on inputs in bf16 (docs/faq.md)"},
    {kLane, "float64 fp64 double f64", "",
     "binary64 is not supported: judge the kernel in f32 (docs/faq.md)"},
    {kLane, "tf32", "f32",
     "tf32 is how products round: operand_qk and operand_v of a profile"},

    {kProfile, "f32 fp32 float32 float numpy cpu", "cpu-f32", ""},
    {kProfile, "bf16 bfloat16 flash flash_attention triton", "flash-bf16",
     "docs/which-profile.md"},
    {kProfile, "gpu cuda h100 hopper a100 ampere tensor_core", "mma-bf16",
     "docs/which-profile.md"},
    {kProfile, "exact bits bitwise", "exact-f32", ""},
    {kProfile, "tpu pallas splash", "splash-bf16", "docs/which-profile.md"},
    {kProfile, "tf32", "cpu-f32",
     "with operand_qk = tf32 and operand_v = tf32, docs/which-profile.md"},
    {kProfile, "mamba mamba3 scan", "scan-f32", ""},
    {kProfile, "fp16 f16 float16 half", "flash-f16", "docs/which-profile.md"},
    {kProfile, "fp8 e4m3 e5m2", "", kEights},

    {kVerb, "help", "--help", ""},
    {kVerb, "version", "--version", ""},
    {kVerb, "test check judge run validate compare", "verify", ""},
    {kVerb, "benchmark perf time profile speed", "bench", ""},
    {kVerb, "minimize minimise reduce bisect", "shrink", ""},
    {kVerb, "why diagnose debug cause", "explain", ""},
    {kVerb, "doctor info machine config", "env", ""},
    {kVerb, "ls cases profiles mutants", "list", ""},
    {kVerb, "dump save write", "export", ""},
    {kVerb, "completion man", "",
     "completions and the man page are files of an installation, and of "
     "pages/ of a build (README.md)"},
    {kVerb, "corpus", "fuzz", "--corpus FILE; small sets are made no more"},

    {kOption, "atol rtol tol tolerance", "", kNoTolerance},
    {kOption, "v version", "--version", "of lockstep alone"},
    {kOption, "kernel module target so library py", "--candidate",
     "py:FILE.py:FUNCTION or so:PATH"},
    {kOption, "dtype precision", "", "the number type is lane= of a case line"},
    {kOption, "device gpu cuda", "",
     "a kernel moves its inputs to its device itself (docs/gpu.md)"},
    {kOption, "case file", "--cases", ""},
    {kOption, "timeout", "--call-timeout", ""},
    {kOption, "jobs j num_threads nthreads", "--threads", ""},
    {kOption, "output out o report", "--json", "--junit, --html, --receipt"},
    {kOption, "html", "",
     "pages are of verify, replay, invariance, selftest and plan; bench has "
     "--json"},
    {kOption, "sarif", "--junit", "or --json; SARIF is written no more"},
    {kOption, "iterations iters n trials num_cases max_examples", "--budget",
     "--budget 1000cases"},
    {kOption, "duration seconds time", "--budget", "--budget 60s"},
};

// As the table has them.
std::string Plain(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);
  std::string plain;
  for (const char c : word.substr(0, 64)) {
    plain +=
        c == '-'
            ? '_'
            : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

bool HasWord(std::string_view words, std::string_view word) {
  for (size_t at = 0; at <= words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::string InTrade(WordFor place, std::string_view word,
                    std::span<const std::string_view> known) {
  const std::string plain = Plain(word);
  if (plain.empty() || plain.find(' ') != plain.npos) return "";
  for (const TradeWord& row : kTable) {
    if (row.place != place || !HasWord(row.words, plain)) continue;
    const std::string_view nearest = row.nearest;
    if (nearest.empty()) return row.hint;
    // "mask=causal" is a value of the key mask.
    const std::string_view name = nearest.substr(0, nearest.find('='));
    const bool here = known.empty() || std::find(known.begin(), known.end(),
                                                 name) != known.end();
    if (!here) continue;
    const std::string hint = row.hint;
    return "nearest is '" + std::string(nearest) + "'" +
           (hint.empty() ? "" : " (" + hint + ")");
  }
  return "";
}

}  // namespace lockstep::verify
