"""Trains the adapter: `python training/train.py data.jsonl run/`; it can be stopped and restarted.

Only the adapter's numbers change (LoRA, Hu et al. 2021, arXiv:2106.09685), and only what the
assistant writes counts for the loss: calls, and the first token of a text, which decides that it
isn't a call, in full; the rest of a text, which can be worded in many ways, less. The exchanges of
a pack stand behind one another in a single sequence, but none sees another one: each is placed as
if it came right after the system prompt, which is read once for all of them.
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

Sequence = tuple[Tensor, Tensor, list[int], Tensor]  # tokens, positions, parts, weights (n,)
PROSE = 0.3  # what a token of a text counts, where one of a call counts 1


def encode(pack: dict[str, Any], llm: Any) -> Sequence:
    """A pack as one sequence; `weights`: how much the model should learn to write each token."""
    system = Prompt()
    system.add("system", pack["system"])
    tokens = system.tokens(llm)
    parts, positions, weights = [len(tokens)], list(range(len(tokens))), [0.0] * len(tokens)
    for exchange in pack["exchanges"]:
        prompt = Prompt()
        for role, text in exchange["turns"]:
            prompt.add(role, text)
        spans = prompt.span_tokens(llm)
        for span, ids in zip(prompt.spans, spans, strict=True):
            ends = span.role == "assistant" and span.text.startswith("<|im_end|>")
            if span.author == "model":
                more = 1.0 if span.text.startswith("{") else PROSE
                weights += [1.0, *[more] * (len(ids) - 1)]
            else:
                weights += [float(ends), *[0.0] * (len(ids) - 1)]
            tokens += ids
        parts.append(sum(map(len, spans)))
        positions += range(parts[0], parts[0] + parts[-1])
    return torch.tensor(tokens), torch.tensor(positions), parts, torch.tensor(weights)


def loss_of(model: Model, sequence: Sequence) -> Tensor:
    """The weighted mean of the tokens' losses, each predicted from the token before it."""
    tokens, positions, parts, weights = sequence
    targets = weights.nonzero().squeeze(1)
    hidden = model(tokens, positions, parts)[targets - 1]
    losses = F.cross_entropy(model.logits(hidden), tokens[targets], reduction="none")
    return (losses * weights[targets]).sum() / weights.sum()


def rate(done: float, highest: float) -> float:
    """The learning rate when this share is done: up over the first 4 %, then down, a cosine."""
    warm = 0.04
    if done < warm:
        return highest * (done / warm + 0.02)
    return highest * 0.5 * (1 + math.cos(math.pi * (done - warm) / (1 - warm)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("run", type=Path, help="folder for the checkpoint and the log")
    parser.add_argument("--minutes", type=float, help="stop after this time, not after all packs")
    parser.add_argument("--begin", type=Path, help="a checkpoint whose adapter is trained further")
    parser.add_argument("--rate", type=float, default=5e-4)
    options = parser.parse_args()
    options.run.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    lines = options.data.read_text(encoding="utf-8").splitlines()
    llm, model = load_model(n_ctx=256), Model(embedded_path())
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    checkpoint, step, before = options.run / "checkpoint.pt", 0, 0.0
    if checkpoint.exists() or options.begin:
        saved = torch.load(checkpoint if checkpoint.exists() else options.begin)
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
    if checkpoint.exists():
        step, before = saved["step"], saved["seconds"]
        print(f"going on from step {step}")
    started, done = time.perf_counter() - before, step / len(lines)
    while done < 1 and step < len(lines):
        for group in optimiser.param_groups:
            group["lr"] = rate(done, options.rate)
        loss = loss_of(model, encode(json.loads(lines[step]), llm))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        step, seconds = step + 1, time.perf_counter() - started
        done = seconds / 60 / options.minutes if options.minutes else step / len(lines)
        left = seconds * (1 / done - 1) / 60
        print(f"step {step}, loss {loss.item():.3f}, {left:.0f} min left", flush=True)
        with (options.run / "log.jsonl").open("a") as log:
            log.write(json.dumps({"step": step, "loss": round(loss.item(), 4)}) + "\n")
        if step % 50 == 0 or done >= 1 or step == len(lines):
            state = {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
            torch.save(state | {"step": step, "seconds": seconds}, checkpoint)


if __name__ == "__main__":
    main()
