"""Calls by the `guidance` package, for `constraints.py`; runs in an environment of its own.

Reads a JSON line with a prompt and a schema, writes one with the seconds and the evaluations that a
call took after its prompt.
"""

from __future__ import annotations

import json
import sys
import time

import guidance


def main() -> None:
    path, threads = sys.argv[1:]
    llm = guidance.models.LlamaCpp(path, n_ctx=2048, n_threads=int(threads), echo=False)
    for line in sys.stdin:
        asked = json.loads(line)
        call = guidance.json(
            name="call", schema=asked["schema"], separators=(", ", ": "), max_tokens=80
        )
        ready = llm + asked["prompt"]
        ready + guidance.gen(max_tokens=1, temperature=0.0)  # the prompt is read
        before, started = ready._get_usage().forward_passes, time.perf_counter()
        made = ready + call
        seconds = time.perf_counter() - started
        passes = made._get_usage().forward_passes - before
        print(json.dumps({"seconds": seconds, "evaluations": passes, "text": made["call"]}))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
