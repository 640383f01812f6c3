"""Trains the adapter: `python training/train.py data.jsonl run/`; it can be stopped and restarted.

Only the adapter's numbers change (LoRA, Hu et al. 2021, arXiv:2106.09685), and only what the
assistant writes counts for the loss. The exchanges of a pack stand behind one another in a single
sequence, but none sees another one: each is placed as if it came right after the system prompt,
which is read once for all of them.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from model import Model
from torch import Tensor

from toolcall_lab import Prompt, load_model
from toolcall_lab.models import embedded_path

Sequence = tuple[Tensor, Tensor, list[int], Tensor]  # tokens, positions, parts, trained (n,)


def encode(pack: dict[str, Any], llm: Any) -> Sequence:
    """A pack as one sequence; `trained` marks the tokens that the model should learn to write."""
    system = Prompt()
    system.add("system", pack["system"])
    tokens = system.tokens(llm)
    parts, positions, trained = [len(tokens)], list(range(len(tokens))), [False] * len(tokens)
    for exchange in pack["exchanges"]:
        prompt = Prompt()
        for role, text in exchange["turns"]:
            prompt.add(role, text)
        spans = prompt.span_tokens(llm)
        for span, ids in zip(prompt.spans, spans, strict=True):
            ends = span.role == "assistant" and span.text.startswith("<|im_end|>")
            learn = [span.author == "model"] * len(ids)
            trained += [True, *learn[1:]] if ends else learn
            tokens += ids
        parts.append(sum(map(len, spans)))
        positions += range(parts[0], parts[0] + parts[-1])
    return torch.tensor(tokens), torch.tensor(positions), parts, torch.tensor(trained)


def loss_of(model: Model, sequence: Sequence) -> Tensor:
    """The mean loss of the trained tokens, each predicted from the token before it."""
    tokens, positions, parts, trained = sequence
    targets = trained.nonzero().squeeze(1)
    hidden = model(tokens, positions, parts)[targets - 1]
    return F.cross_entropy(model.logits(hidden), tokens[targets])


def rate(step: int, steps: int, highest: float) -> float:
    """The learning rate: up over the first 4 %, then down along a cosine."""
    warm = max(1, steps // 25)
    if step < warm:
        return highest * (step + 1) / warm
    return highest * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("run", type=Path, help="folder for the checkpoint and the log")
    parser.add_argument("--batch", type=int, default=1, help="packs for each step")
    parser.add_argument("--rate", type=float, default=5e-4)
    options = parser.parse_args()
    options.run.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    lines = options.data.read_text(encoding="utf-8").splitlines()
    steps = len(lines) // options.batch
    llm, model = load_model(n_ctx=256), Model(embedded_path())
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    checkpoint, first = options.run / "checkpoint.pt", 0
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        first = saved["step"]
        print(f"going on from step {first}")
    started = time.perf_counter()
    for step in range(first, steps):
        for group in optimiser.param_groups:
            group["lr"] = rate(step, steps, options.rate)
        total = 0.0
        for line in lines[step * options.batch : (step + 1) * options.batch]:
            loss = loss_of(model, encode(json.loads(line), llm)) / options.batch
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        left = (time.perf_counter() - started) / (step + 1 - first) * (steps - step - 1)
        print(f"step {step + 1} of {steps}, loss {total:.3f}, {left / 60:.0f} min left", flush=True)
        with (options.run / "log.jsonl").open("a") as log:
            log.write(json.dumps({"step": step + 1, "loss": round(total, 4)}) + "\n")
        if (step + 1) % 50 == 0 or step + 1 == steps:
            state = {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
            torch.save(state | {"step": step + 1}, options.run / "checkpoint.pt")


if __name__ == "__main__":
    main()
