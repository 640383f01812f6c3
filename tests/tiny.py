"""GGUFs of a few kB that go through real llama.cpp in milliseconds.

One token a byte, ChatML's control tokens, Qwen's user-defined tags. The weights are random, so that
it says nothing, or made by hand, so that it says a chosen text.
"""

import itertools
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


def write_tiny_gguf(
    path: Path, *, architecture: str = "llama", template: bool = True, pooling: bool = False
) -> None:
    """A model with random weights."""
    writer = _writer(path, architecture, _tokens(), WIDTH)
    if template:
        writer.add_chat_template("{# knows tools #}")
    if pooling:
        writer.add_pooling_type(gguf.PoolingType.MEAN)
    random = np.random.default_rng(0)
    shapes = {"token_embd": (len(_tokens()), WIDTH)}
    shapes |= {f"blk.0.attn_{part}": (WIDTH, WIDTH) for part in ("q", "k", "v", "output")}
    shapes |= {f"blk.0.ffn_{part}": (WIDTH, WIDTH) for part in ("gate", "up", "down")}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", random.normal(0, 0.1, shape).astype(np.float32))
    _finish(writer, WIDTH)


def write_scripted_gguf(path: Path, chunks: list[str]) -> None:
    """A model that answers each prompt that ends with a newline with these chunks, and stops.

    Each chunk is one token, at most 32 bytes. The embedding is the identity and the layer adds
    nothing, so the output matrix says for each token which one follows.
    """
    letters = byte_letters()
    extra = ["".join(letters[byte] for byte in chunk.encode()) for chunk in chunks]
    tokens = [*_tokens(), *extra]
    width = -(-len(tokens) // 32) * 32
    writer = _writer(path, "llama", tokens, width)
    writer.add_chat_template("{# knows tools #}")
    said = [ord("\n"), *range(len(tokens) - len(extra), len(tokens)), END]
    following = np.zeros((len(tokens), width), dtype=np.float32)
    for before, after in itertools.pairwise(said):
        following[after, before] = 1
    zeros = np.zeros((width, width), dtype=np.float32)
    writer.add_tensor("token_embd.weight", np.eye(len(tokens), width, dtype=np.float32))
    writer.add_tensor("output.weight", following)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{part}.weight", zeros)
    _finish(writer, width)


START, END = 257, 258


def _tokens() -> list[str]:
    return byte_letters() + CONTROL + USER_DEFINED


def _writer(path: Path, architecture: str, tokens: list[str], width: int) -> gguf.GGUFWriter:
    kinds = [gguf.TokenType.NORMAL] * 256
    kinds += [gguf.TokenType.CONTROL] * len(CONTROL)
    kinds += [gguf.TokenType.USER_DEFINED] * len(USER_DEFINED)
    kinds += [gguf.TokenType.NORMAL] * (len(tokens) - len(kinds))
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("Tiny")
    writer.add_context_length(8192)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(width)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(["Ā Ā"])  # llama.cpp wants at least one
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(END)
    writer.add_add_bos_token(False)
    return writer


def _finish(writer: gguf.GGUFWriter, width: int) -> None:
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(width, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
