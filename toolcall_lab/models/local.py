"""A live model: `llama_cpp.Llama`, called the same way, with its sharp edges taken off.

What is added: token ids in the answer, exact detokenising, counts of evaluated tokens, one-sentence
errors instead of crashes, llama.cpp's messages in Python's logging. Sampling stays llama.cpp's.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llama_cpp
import loky
import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError, Stopped
from .catalog import KnownAdapter, KnownModel
from .loading import explained, one_sentence
from .states import put, taken

STOPPABLE = 64  # tokens of a prompt read at once where a Stop is waited for: half a second
BYTES_LEFT = 3  # tokens that may follow max_tokens, to end a character of several bytes


class LocalModel(llama_cpp.Llama):  # type: ignore[misc]
    """A GGUF in llama.cpp. Made by `load_model`.

    `llm(prompt, …)` takes a text or a list of token ids and answers as `llama_cpp.Llama` does, and:
    - `choices[0]["tokens"]`: the generated ids; they detokenise to `choices[0]["text"]` (and to
      the bytes of a last character that was cut);
    - `model` and `kind`: who spoke;
    - `usage["evaluated_tokens"]`: how many tokens of the prompt had to be read, the rest was still
      in the context from the call before; `usage["prompt_seconds"]`: how long that took;
    - a stop string that is a control token (`<|im_start|>`) stops; plain llama-cpp-python compares
      it with a text in which control tokens are invisible.
    With `stream=True` these are in the last chunk, and the `whole` text in its choice.
    """

    kind = "live"
    streams = True
    name = "The model"
    stopping: threading.Event | None = None
    _is_closed = False

    def __init__(
        self,
        path: Path,
        *,
        entry: KnownModel | None = None,
        adapter: KnownAdapter | None = None,
        n_threads: int | None = None,
        **options: Any,
    ) -> None:
        threads = n_threads or loky.cpu_count(only_physical_cores=True)
        self.n_tokens: int = 0
        self.tokens_evaluated = 0  # tokens that went through the network since loading
        self.evaluations = 0  # calls of the network since loading
        self._busy = threading.RLock()
        self._pieces: dict[tuple[int, bool], bytes] = {}
        self._generation = _Generation()
        self._generation_noted: _Generation | None = None  # the last that was begun
        self._turn: _Generation | None = None  # whose turn it is in the context
        options = {"n_threads_batch": threads, "verbose": False} | options
        with explained(path, options.get("lora_path")):
            super().__init__(str(path), n_threads=threads, **options)
            if self.lora_path and not self._lora_adapter:  # which llama-cpp-python doesn't notice
                raise ModelError("Failed to load the adapter")
        self.entry, self.adapter = entry, adapter
        self.name = entry.name if entry else self._described()
        if self.lora_path:
            self.name += f" + {adapter.name if adapter else Path(self.lora_path).stem}"

    @property
    def calls_tools(self) -> bool:
        """Whether it asks for tools by itself: with an adapter, yes; else the catalog says, or the
        chat template."""
        if self.lora_path:
            return True
        if self.entry:
            return self.entry.calls_tools
        return "tools" in self.metadata.get("tokenizer.chat_template", "")

    def create_completion(self, prompt: Any, **options: Any) -> Any:
        """See the class; `llm(…)` is this."""
        prompt = self._checked(prompt)
        stop = options.get("stop") or []
        options["stop"] = [stop] if isinstance(stop, str) else list(stop)
        stops = {token for text in options["stop"] if (token := self._control_token(text))}
        generation = _Generation(stops, limit=options.get("max_tokens") or 0)
        with self.claimed():
            self._generation = generation
            answer = one_sentence(super().create_completion, prompt=prompt, **options)
            if options.get("stream"):
                return self._annotated_stream(answer, generation, options["stop"])
            text = answer["choices"][0]["text"].removesuffix(options.get("suffix") or "")
            text = text[len(prompt) :] if options.get("echo") else text
            return self._annotate(answer, generation, text)

    def generate(self, tokens: Sequence[int], **options: Any) -> Generator[int, Any, None]:
        """`llama_cpp.Llama.generate`; it ends where the context is full.

        Raises `ModelError` if another call has used the model since the last token.
        """
        note, self._generation = self._generation, _Generation()
        self._turn = self._generation_noted = note
        before, started = self.tokens_evaluated, time.perf_counter()
        inner = super().generate(self._checked(tokens), **options)
        while True:
            with self.claimed():
                if self._turn is not note:
                    raise ModelError(f"{self.name} was used again before this text had ended.")
                token = self._end(note) if note.over(self) else next(inner, None)
                if token is None:  # a stopping criterion has ended it
                    return
                self._turn = note  # which reading has taken away
            if not note.tokens:
                note.prompt_seconds = time.perf_counter() - started
                note.prompt_evaluated = self.tokens_evaluated - before
            if token in note.stop_ids:
                token = self.token_eos()  # which is how llama-cpp-python stops on a token
            note.tokens.append(int(token))
            yield token

    def eval(self, tokens: Sequence[int]) -> None:
        """`llama_cpp.Llama.eval`, counted.

        With a `stopping` event it reads in small batches, and raises `Stopped` before the next one
        once the event is set: that's how another thread ends a generation.
        """
        at_once = len(tokens) if self.stopping is None else STOPPABLE
        with self.claimed():
            self._turn = None
            for start in range(0, len(tokens), max(1, at_once)):
                if self.stopping is not None and self.stopping.is_set():
                    raise Stopped
                super().eval(batch := tokens[start : start + at_once])
                self.tokens_evaluated += len(batch)
        self.evaluations += bool(tokens)

    def reset(self) -> None:
        """Forgets what was read; the next prompt is read from its first token."""
        with self.claimed():
            self._turn = None
            super().reset()

    def load_state(self, state: llama_cpp.LlamaState) -> None:
        """`llama_cpp.Llama.load_state`; it ends a generation that was under way."""
        with self.claimed():
            self._turn = None
            super().load_state(state)

    def save_context(self) -> tuple[list[int], bytes]:
        """What it has read: the ids, and llama.cpp's state of them (22.5 KiB a token for the
        embedded model). Without logits, so it's much less than `save_state`."""
        return self._input_ids.tolist(), taken(self)

    def load_context(self, saved: tuple[list[int], bytes]) -> None:
        """Has in the context what `save_context` gave, instead of what is there."""
        if not put(self, *saved):
            self.reset()

    def next_logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The logits, shape `(n_vocab,)`, of the token that would follow `tokens`.

        Only the part of `tokens` that isn't in the context yet is evaluated.
        Raises `ModelError` if `tokens` is empty or longer than the context window.
        """
        ids = self._checked(tokens)
        if len(ids) > self.n_ctx():
            raise ModelError(f"{len(ids)} tokens don't fit into n_ctx={self.n_ctx()}.")
        with self.claimed():
            self._turn = None
            cached = self._input_ids.tolist()
            if cached != ids or self._requires_eval:
                keep = min(self.longest_token_prefix(cached, ids), len(ids) - 1)
                if keep < self.n_tokens and not self._ctx.kv_cache_seq_rm(-1, keep, -1):
                    keep = 0  # a recurrent model can't go back
                    self.reset()
                self.n_tokens = keep
                self.eval(ids[keep:])
            pointer = self._ctx.get_logits_ith(-1)
            return np.array(np.ctypeslib.as_array(pointer, shape=(self.n_vocab(),)))

    def ends(self, token: int) -> bool:
        """Whether a token ends the model's turn."""
        return bool(llama_cpp.llama_vocab_is_eog(self._model.vocab, token))

    def detokenize(
        self, tokens: Sequence[int], prev_tokens: list[int] | None = None, special: bool = False
    ) -> bytes:
        """The exact bytes of `tokens`; control tokens are invisible unless `special`.

        llama-cpp-python drops every token longer than 32 bytes (abetlen/llama-cpp-python#2362).
        """
        text = b"".join(self._piece(int(token), special) for token in tokens)
        strip = bool(tokens) and tokens[0] == self.token_bos() and text[:1] == b" "
        return text[1:] if strip else text

    def close(self) -> None:
        """Frees the model. Any later use raises `ModelError` (in llama-cpp-python: a crash)."""
        if self._is_closed:  # Python's end closes it again, when little is left to work with
            return
        with self.claimed():
            super().close()
            self._is_closed = True
            self._model = self._ctx = self._batch = self.tokenizer_ = _Closed()

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """One thread at a time: two in the same llama.cpp context end the whole process."""
        if not self._busy.acquire(blocking=False):
            raise ModelError(
                f"{self.name} is busy in another thread; wait for it, or load a second model."
            )
        try:
            yield
        finally:
            self._busy.release()

    def __repr__(self) -> str:
        return f"<{self.name}, {self.kind}, n_ctx={self.context_params.n_ctx}>"

    def _described(self) -> str:
        """`general.name` and the quantisation, from the GGUF's metadata, without control marks."""
        name = self.metadata.get("general.name") or Path(self.model_path).stem
        name = "".join(char for char in name if char.isprintable())[:80]
        quantisation = (self._model.desc().split() or [""])[-1]  # "" of a vocabulary alone
        return name if quantisation.lower() in name.lower() else f"{name} {quantisation}"

    def _checked(self, prompt: Any) -> Any:
        """The prompt as llama-cpp-python takes it: a text, or a list of ids of this vocabulary."""
        if not isinstance(prompt, str | list | tuple | np.ndarray):
            raise ModelError(
                f"A prompt is a text or token ids, not {type(prompt).__name__}; "
                "of a Prompt, give prompt.tokens(llm)."
            )
        if not len(prompt):
            raise ModelError("The prompt is empty; give at least one token of text.")
        if isinstance(prompt, str):
            return prompt.encode("utf-8", "replace").decode()
        ids = [int(token) for token in prompt]
        if wrong := [token for token in ids if not 0 <= token < self.n_vocab()]:
            raise ModelError(f"{wrong[0]} is no token id: {self.name} has {self.n_vocab()}.")
        return ids

    def _end(self, note: _Generation) -> int:
        note.cut = True
        return int(self.token_eos())

    def _control_token(self, text: str) -> int | None:
        ids = self.tokenize(text.encode("utf-8", "replace"), add_bos=False, special=True)
        if len(ids) != 1:
            return None
        attributes = llama_cpp.llama_vocab_get_attr(self._model.vocab, ids[0])
        return ids[0] if attributes & llama_cpp.LLAMA_TOKEN_ATTR_CONTROL else None

    def _piece(self, token: int, special: bool) -> bytes:
        if (token, special) not in self._pieces:
            if not 0 <= token < self.n_vocab():
                raise ModelError(f"{token} is no token id: {self.name} has {self.n_vocab()}.")
            size = 32
            while True:
                buffer = ctypes.create_string_buffer(size)
                length = llama_cpp.llama_token_to_piece(
                    self._model.vocab, token, buffer, size, 0, special
                )
                if length >= 0:
                    break
                size = -length
            self._pieces[token, special] = buffer.raw[:length]
        return self._pieces[token, special]

    def _annotate(
        self, answer: dict[str, Any], generation: _Generation, text: str
    ) -> dict[str, Any]:
        answer |= {"model": self.name, "kind": self.kind}  # not the file's path
        answer["choices"][0]["tokens"] = self._tokens_of(generation, text)
        if generation.cut:
            answer["choices"][0]["finish_reason"] = "length"
        usage = answer.setdefault("usage", {})
        usage["evaluated_tokens"] = generation.prompt_evaluated
        usage["prompt_seconds"] = generation.prompt_seconds
        return answer

    def _annotated_stream(
        self, chunks: Iterator[dict[str, Any]], generation: _Generation, stops: list[str]
    ) -> Iterator[dict[str, Any]]:
        text = ""
        self._generation = generation  # it starts now, maybe after another completion
        while (chunk := one_sentence(lambda: next(chunks, None))) is not None:
            text += chunk["choices"][0]["text"]
            if chunk["choices"][0]["finish_reason"] is not None:
                text = chunk["choices"][0]["whole"] = self._whole(generation, stops) or text
                self._annotate(chunk, generation, text)
            yield chunk

    def _whole(self, generation: _Generation, stops: list[str]) -> str:
        """The text of a generation up to a stop string; llama-cpp-python's stream loses letters of
        several tokens once a byte couldn't be decoded."""
        ids = [token for token in generation.tokens if not self.ends(token)]
        text = self.detokenize(ids).decode("utf-8", "ignore")
        return text[
            : min([at for mark in stops if (at := text.find(mark)) >= 0], default=len(text))
        ]

    def written(self) -> str:
        """What the last generation, which may have been interrupted, has written."""
        return self._whole(self._generation_noted or _Generation(), [])

    def _tokens_of(self, generation: _Generation, text: str) -> list[int]:
        """The ids of a generation, cut where a stop string cut its text."""
        ids = [token for token in generation.tokens if not self.ends(token)]
        if self.detokenize(ids).decode("utf-8", "ignore") == text:
            return ids
        wanted = text.encode()
        kept: list[int] = []
        for token in ids:
            piece = self._piece(token, False)
            if not wanted.startswith(piece):  # the cut is inside this token
                break
            kept.append(token)
            wanted = wanted[len(piece) :]
        return kept + (self.tokenize(wanted, add_bos=False) if wanted else [])


class _Generation:
    """What `generate` notes down for the completion around it."""

    def __init__(self, stop_ids: Iterable[int] = (), limit: int = 0) -> None:
        self.stop_ids, self.limit = set(stop_ids), limit
        self.tokens: list[int] = []
        self.prompt_evaluated, self.prompt_seconds = 0, 0.0
        self.cut = False

    def over(self, llm: LocalModel) -> bool:
        """Whether no token may follow; llama-cpp-python runs on inside a multi-byte character."""
        full = bool(self.tokens) and llm.n_tokens >= llm.n_ctx()
        return full or (self.limit > 0 and len(self.tokens) >= self.limit + BYTES_LEFT)


class _Closed:
    """Stands in for the freed C objects, so that no pointer to them is ever used again."""

    def __getattr__(self, name: str) -> Any:
        raise ModelError("This model is closed; load it again with load_model().")
