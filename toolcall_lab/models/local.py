"""A live model: `llama_cpp.Llama`, called the same way, with its sharp edges taken off.

What is added: token ids in the answer, exact detokenising, counts of evaluated tokens, one-sentence
errors instead of crashes, llama.cpp's messages in Python's logging. Sampling stays llama.cpp's.
"""

from __future__ import annotations

import ctypes
import difflib
import inspect
import logging
import re
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

log = logging.getLogger("toolcall_lab.llama_cpp")

# ggml's levels (ggml.h); llama-cpp-python's own table is out of date and hides the errors.
_LEVELS = {1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING, 4: logging.ERROR}


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _to_logging(level: int, text: bytes, _user_data: ctypes.c_void_p) -> None:
    message = text.decode("utf-8", "replace").strip()
    if message:
        log.log(_LEVELS.get(level, logging.DEBUG), message)


llama_cpp.llama_log_set(_to_logging, ctypes.c_void_p(0))
log.addHandler(logging.NullHandler())


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
        self._last = _Generation()
        options = {"n_threads_batch": threads, "verbose": False} | options
        with _explained(path):
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
        with self._claimed():
            self._last = _Generation(stop_ids=(token for token in stops if token is not None))
            answer = _one_sentence(super().create_completion, prompt, **options)
            if options.get("stream"):
                return self._annotated_stream(answer)
            return self._annotate(answer, answer["choices"][0]["text"])

    def generate(self, tokens: Sequence[int], **options: Any) -> Generator[int, Any, None]:
        """`llama_cpp.Llama.generate`; one thread at a time: two at once abort the process."""
        with self._claimed():
            last, before = self._last, self.tokens_evaluated
            for token in super().generate(tokens, **options):
                if not last.tokens:
                    last.prompt_evaluated = self.tokens_evaluated - before
                if token in last.stop_ids:
                    token = self.token_eos()  # which is how llama-cpp-python stops on a token
                last.tokens.append(int(token))
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

    def _annotate(self, answer: dict[str, Any], text: str) -> dict[str, Any]:
        answer["choices"][0]["tokens"] = self._tokens_of(text)
        answer.setdefault("usage", {})["evaluated_tokens"] = self._last.prompt_evaluated
        return answer

    def _annotated_stream(self, chunks: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        text = ""
        for chunk in chunks:
            text += chunk["choices"][0]["text"]
            done = chunk["choices"][0]["finish_reason"] is not None
            yield self._annotate(chunk, text) if done else chunk

    def _tokens_of(self, text: str) -> list[int]:
        """The ids of the last generation, cut where a stop string cut its text."""
        ids = [t for t in self._last.tokens if not llama_cpp.llama_vocab_is_eog(self._vocab(), t)]
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

    def _vocab(self) -> Any:
        return self._model.vocab

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


def check_options(options: dict[str, Any]) -> None:
    """Refuses what `llama_cpp.Llama` would swallow silently: `nctx=4096` leaves n_ctx at 512."""
    known = inspect.signature(llama_cpp.Llama.__init__).parameters
    for name in options:
        if name not in known or name in {"self", "kwargs", "model_path"}:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ModelError(f"load_model() has no option {name!r}{hint}")
    n_ctx = options.get("n_ctx", 4096)
    if not isinstance(n_ctx, int) or n_ctx <= 0 or n_ctx % 256:
        better = max(256, round(int(n_ctx) / 256) * 256) if isinstance(n_ctx, int) else 4096
        raise ModelError(
            f"n_ctx={n_ctx!r}: llama.cpp needs a positive multiple of 256, for example {better}."
        )


def check_file(path: Path) -> None:
    """Refuses what llama.cpp would answer with "Failed to load model from file"."""
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise ModelError(f"The model file {str(path)!r} {what}; give the path of a GGUF file.")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"GGUF":
        raise ModelError(
            f"{str(path)!r} is not a GGUF file (it begins with {magic!r}, not b'GGUF'); "
            "download the model's .gguf file."
        )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turns llama-cpp-python's bare "Failed to load" into a sentence with llama.cpp's reason."""
    errors: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: errors.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    try:
        yield
    except (ValueError, OSError, AssertionError) as error:
        reason = re.sub(r"^\w+:\s*(error loading model:\s*)?", "", (errors or [str(error)])[0])
        raise ModelError(
            f"{str(path)!r} can't be loaded: {reason}. Cut short or damaged? Download it again. "
            "A new architecture? Upgrade llama-cpp-python."
        ) from None
    finally:
        log.removeHandler(handler)


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
