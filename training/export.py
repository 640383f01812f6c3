"""Writes a trained adapter as a GGUF: `python training/export.py run/ adapter.gguf`.

The names are llama.cpp's; A and B are stored in half precision. It's loaded with
`load_model(adapter="adapter.gguf")`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import gguf
import numpy as np
import torch


def export(state: dict[str, torch.Tensor], path: Path, alpha: float = 16.0) -> None:
    """`state` is a `Model`'s state dict, which holds nothing but the adapter."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    for name, tensor in state.items():  # blocks.3.attn_q.a -> blk.3.attn_q.weight.lora_a
        _, number, layer, part = name.split(".")
        values = tensor.detach().to(torch.float32).numpy().astype(np.float16)
        writer.add_tensor(f"blk.{number}.{layer}.weight.lora_{part}", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="the folder that train.py wrote")
    parser.add_argument("adapter", type=Path)
    options = parser.parse_args()
    export(torch.load(options.run / "checkpoint.pt")["model"], options.adapter)
    print(f"{options.adapter}: {options.adapter.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
