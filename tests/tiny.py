"""A GGUF of a few kB: one token a byte, ChatML's control tokens, Qwen's user-defined tags.

Its weights are random, so it says nothing; it goes through real llama.cpp in milliseconds.
"""

from pathlib import Path

import gguf
import numpy as np

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
USER_DEFINED = ["<tool_call>", "</tool_call>", "<think>", "</think>"]
USER_DEFINED += ["[TOOL CALL]", "<<SYS>>", "<|tool call|>"]  # other models' habits
WIDTH = 32


def byte_letters() -> list[str]:
    """The letter that GPT-2's tokenizer writes for each byte (openai/gpt-2, encoder.py)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = [], 0
    for byte in range(256):
        letters.append(chr(byte if byte in printable else 256 + extra))
        extra += byte not in printable
    return letters


def write_tiny_gguf(path: Path) -> None:
    tokens = byte_letters() + CONTROL + USER_DEFINED
    types = [gguf.TokenType.NORMAL] * 256
    types += [gguf.TokenType.CONTROL] * len(CONTROL)
    types += [gguf.TokenType.USER_DEFINED] * len(USER_DEFINED)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Tiny")
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(["Ā Ā"])  # llama.cpp wants at least one
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(258)
    writer.add_add_bos_token(False)
    writer.add_chat_template("{# knows tools #}")
    random = np.random.default_rng(0)
    shapes = {"token_embd": (len(tokens), WIDTH)}
    shapes |= {f"blk.0.attn_{part}": (WIDTH, WIDTH) for part in ("q", "k", "v", "output")}
    shapes |= {f"blk.0.ffn_{part}": (WIDTH, WIDTH) for part in ("gate", "up", "down")}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", random.normal(0, 0.1, shape).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
