"""A live model: `llama_cpp.Llama`, called the same way, with its sharp edges taken off.

What is added: token ids in the answer, exact detokenising, counts of evaluated tokens, one-sentence
errors instead of crashes, llama.cpp's messages in Python's logging. Sampling stays llama.cpp's.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llama_cpp
import loky
import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .catalog import KnownModel, identify
from .loading import explained


class LocalModel(llama_cpp.Llama):  # type: ignore[misc]
    """A GGUF in llama.cpp. Made by `load_model`.

    `llm(prompt, …)` takes a text or a list of token ids and answers as `llama_cpp.Llama` does, and:
    - `choices[0]["tokens"]`: the generated ids; they detokenise to exactly `choices[0]["text"]`;
    - `usage["evaluated_tokens"]`: how many tokens of the prompt had to be read, the rest was still
      in the context from the call before;
    - a stop string that is a control token (`<|im_start|>`) stops; plain llama-cpp-python compares
      it with a text in which control tokens are invisible.
    With `stream=True` both are in the last chunk.
    """

    kind = "live"

    def __init__(self, path: Path, *, n_threads: int | None = None, **options: Any) -> None:
        threads = n_threads or loky.cpu_count(only_physical_cores=True)
        self.n_tokens: int = 0
        self.tokens_evaluated = 0  # tokens that went through the network since loading
        self.evaluations = 0  # calls of the network since loading
        self._busy = threading.RLock()
        self._pieces: dict[tuple[int, bool], bytes] = {}
        self._generation = _Generation()
        options = {"n_threads_batch": threads, "verbose": False} | options
        with explained(path):
            super().__init__(str(path), n_threads=threads, **options)
        self.entry: KnownModel | None = identify(path)
        self.name: str = self.entry.name if self.entry else self._described()

    @property
    def calls_tools(self) -> bool:
        """Whether it asks for tools by itself: the catalog's word, else its chat template's."""
        if self.entry:
            return self.entry.calls_tools
        return "tools" in self.metadata.get("tokenizer.chat_template", "")

    def create_completion(self, prompt: Any, **options: Any) -> Any:
        """See the class; `llm(…)` is this."""
        stop = options.get("stop") or []
        stops = map(self._control_token, [stop] if isinstance(stop, str) else stop)
        generation = _Generation(stop_ids=(token for token in stops if token is not None))
        with self._claimed():
            self._generation = generation
            answer = _one_sentence(super().create_completion, prompt, **options)
            if options.get("stream"):
                return self._annotated_stream(answer, generation)
            text = answer["choices"][0]["text"].removesuffix(options.get("suffix") or "")
            return self._annotate(
                answer, generation, text[len(prompt) if options.get("echo") else 0 :]
            )

    def generate(self, tokens: Sequence[int], **options: Any) -> Generator[int, Any, None]:
        """`llama_cpp.Llama.generate`; one thread at a time: two at once abort the process."""
        with self._claimed():
            note, before = self._generation, self.tokens_evaluated
            for token in super().generate(tokens, **options):
                if not note.tokens:
                    note.prompt_evaluated = self.tokens_evaluated - before
                if token in note.stop_ids:
                    token = self.token_eos()  # which is how llama-cpp-python stops on a token
                note.tokens.append(int(token))
                yield token

    def eval(self, tokens: Sequence[int]) -> None:
        """`llama_cpp.Llama.eval`, counted."""
        super().eval(tokens)
        self.tokens_evaluated += len(tokens)
        self.evaluations += bool(tokens)

    def next_logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The logits, shape `(n_vocab,)`, of the token that would follow `tokens`.

        Only the part of `tokens` that isn't in the context yet is evaluated.
        Raises `ModelError` if `tokens` is empty or longer than the context window.
        """
        ids = list(tokens)
        if not 0 < len(ids) <= self.n_ctx():
            raise ModelError(
                f"next_logits needs 1 to n_ctx={self.n_ctx()} tokens and was given {len(ids)}."
            )
        with self._claimed():
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
        super().close()
        self._model = self._ctx = self._batch = self.tokenizer_ = _Closed()

    def __repr__(self) -> str:
        return f"<{self.name}, {self.kind}, n_ctx={self.context_params.n_ctx}>"

    def _described(self) -> str:
        """`general.name` and the quantisation, from the GGUF's metadata."""
        name = self.metadata.get("general.name") or Path(self.model_path).stem
        quantisation = self._model.desc().split()[-1]
        return name if quantisation.lower() in name.lower() else f"{name} {quantisation}"

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
        answer["choices"][0]["tokens"] = self._tokens_of(generation, text)
        answer.setdefault("usage", {})["evaluated_tokens"] = generation.prompt_evaluated
        return answer

    def _annotated_stream(
        self, chunks: Iterator[dict[str, Any]], generation: _Generation
    ) -> Iterator[dict[str, Any]]:
        text = ""
        self._generation = generation  # it starts now, maybe after another completion
        for chunk in chunks:
            text += chunk["choices"][0]["text"]
            done = chunk["choices"][0]["finish_reason"] is not None
            yield self._annotate(chunk, generation, text) if done else chunk

    def _tokens_of(self, generation: _Generation, text: str) -> list[int]:
        """The ids of a generation, cut where a stop string cut its text."""
        vocab = self._model.vocab
        ids = [t for t in generation.tokens if not llama_cpp.llama_vocab_is_eog(vocab, t)]
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

    @contextmanager
    def _claimed(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise ModelError(
                f"{self.name} is busy in another thread; wait for it, or load a second model."
            )
        try:
            yield
        finally:
            self._busy.release()


class _Generation:
    """What `generate` notes down for the completion around it."""

    def __init__(self, stop_ids: Iterable[int] = ()) -> None:
        self.stop_ids = set(stop_ids)
        self.tokens: list[int] = []
        self.prompt_evaluated = 0


class _Closed:
    """Stands in for the freed C objects, so that no pointer to them is ever used again."""

    def __getattr__(self, name: str) -> Any:
        raise ModelError("This model is closed; load it again with load_model().")


def _one_sentence(call: Any, prompt: Any, **options: Any) -> Any:
    """Calls llama-cpp-python; what it says about a bad prompt becomes a `ModelError`."""
    if not prompt:
        raise ModelError("The prompt is empty; give at least one token of text.")
    try:
        return call(prompt=prompt, **options)
    except ValueError as error:
        todo = (
            " Shorten it, or load the model with a larger n_ctx." if "window" in str(error) else ""
        )
        raise ModelError(f"{error}.{todo}") from None
