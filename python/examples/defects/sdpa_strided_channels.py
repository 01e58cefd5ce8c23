"""torch's flash operator for CPUs, called as model code calls it: channels that do not
lie side by side are read as if they did. Its dispatcher never sends it such tensors."""
import torch

torch.manual_seed(0)
q, k, v = (torch.randn(1, 1, 4, 16) for _ in range(3))
apart = torch.full((1, 1, 4, 32), 1e3)
apart[..., ::2] = q
attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
dense, strided = attend(q, k, v)[0], attend(apart[..., ::2], k, v)[0]
print("largest difference between the same numbers, dense and strided:",
      (dense - strided).abs().max().item())
raise SystemExit(bool((dense != strided).any()))
