"""Masks as drawn in the specification."""

PATTERNS = (
    ("sq=2 skv=5 mask=causal", "x.... xx..."),
    ("sq=2 skv=5 mask=causal align=br", "xxxx. xxxxx"),
    ("sq=5 skv=2 mask=causal", "x. xx xx xx xx"),
    ("sq=5 skv=2 mask=causal align=br", ".. .. .. x. xx"),
    ("sq=4 skv=1 mask=window:inf,1 align=br", ". . x x"),
    ("sq=4 skv=4 mask=window:1,0", "x... xx.. .xx. ..xx"),
    ("sq=4 skv=4 mask=chunked:2", "x... xx.. ..x. ..xx"),
    ("sq=4 skv=4 mask=prefix:2", "xx.. xx.. xxx. xxxx"),
    ("sq=4 skv=6 mask=causal align=2", "xxx... xxxx.. xxxxx. xxxxxx"),
    ("sq=6 skv=4 mask=window:1,1", "xx.. xxx. .xxx ..xx ...x ...."),
    ("sq=1 skv=6 mask=sink:1 q_seg=ids:0*1 kv_seg=ids:0*2,1,0*3", "x..x.."),
    ("sq=2 skv=4 mask=full valid_q=1 valid_kv=3", "xxx. ...."),
)
