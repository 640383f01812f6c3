import logging
import threading

import numpy as np
import pytest

from toolcall_lab import load_model
from toolcall_lab.chatml import STOP
from toolcall_lab.errors import ModelError
from toolcall_lab.models import SMOLLM2, embedded_path

CHAT = "<|im_start|>user\nSay hello.<|im_end|>\n<|im_start|>assistant\n"


def test_the_notes_call(llm):
    output = llm(CHAT, max_tokens=12, temperature=0.1, stop=["<|im_end|>", "<|im_start|>"])
    choice = output["choices"][0]
    assert choice["text"]
    assert choice["finish_reason"] in ("stop", "length")
    assert output["usage"]["completion_tokens"] >= len(choice["tokens"])
    assert llm.detokenize(choice["tokens"]).decode() == choice["text"]


def test_ids_and_text_are_the_same_prompt(llm):
    ids = llm.tokenize(CHAT.encode(), add_bos=False, special=True)
    llm.reset()
    as_text = llm(CHAT, max_tokens=8, temperature=0)["choices"][0]["tokens"]
    llm.reset()
    assert llm(ids, max_tokens=8, temperature=0)["choices"][0]["tokens"] == as_text


@pytest.mark.parametrize("stop", ["m", "so gl", " glad", "zzz"])
def test_tokens_end_where_a_stop_string_cut_the_text(llm, stop):
    choice = llm(CHAT, max_tokens=10, temperature=0, stop=[stop])["choices"][0]
    assert llm.detokenize(choice["tokens"]).decode() == choice["text"]
    assert stop not in choice["text"]


def test_a_control_token_in_stop_stops(tiny):
    start = tiny.tokenize(b"<|im_start|>", add_bos=False, special=True)[0]
    said = iter([65, 66, start, 67])
    sample, tiny.sample = tiny.sample, lambda *args, **kwargs: next(said)
    try:
        choice = tiny("hi", max_tokens=4, stop=STOP)["choices"][0]
    finally:
        tiny.sample = sample
    assert (choice["text"], choice["finish_reason"], choice["tokens"]) == ("AB", "stop", [65, 66])


def test_a_stream_ends_with_tokens_and_usage(llm):
    chunks = list(llm(CHAT, max_tokens=6, temperature=0, stream=True))
    text = "".join(chunk["choices"][0]["text"] for chunk in chunks)
    assert llm.detokenize(chunks[-1]["choices"][0]["tokens"]).decode() == text
    assert chunks[-1]["usage"]["evaluated_tokens"] >= 0


def test_an_echoed_prompt_is_not_part_of_the_generated_tokens(llm):
    choice = llm(CHAT, max_tokens=5, temperature=0, echo=True)["choices"][0]
    assert choice["text"] == CHAT + llm.detokenize(choice["tokens"]).decode()


def test_interleaved_streams_keep_their_own_tokens(llm):
    ends = []
    for chunks in zip(
        llm("One, two,", max_tokens=4, temperature=0, stream=True),
        llm("A, B,", max_tokens=4, temperature=0, stream=True),
        strict=True,
    ):
        ends = [chunk["choices"][0] for chunk in chunks]
    assert [len(end["tokens"]) for end in ends] == [4, 4]


def test_only_what_is_new_in_a_prompt_is_evaluated(llm):
    llm.reset()
    first = llm(CHAT, max_tokens=8, temperature=0)
    assert first["usage"]["evaluated_tokens"] == first["usage"]["prompt_tokens"]
    ids = llm.tokenize(CHAT.encode(), add_bos=False, special=True)
    longer = [*ids, *first["choices"][0]["tokens"], *llm.tokenize(b"<|im_end|>", False, True)]
    # The last generated token was never read, the end marker is new.
    assert llm(longer, max_tokens=1)["usage"]["evaluated_tokens"] == 2


def test_next_logits_are_those_that_greedy_generation_follows(llm):
    ids = llm.tokenize(b"The capital of France is", add_bos=False)
    logits = llm.next_logits(ids)
    assert logits.shape == (llm.n_vocab(),)
    llm.reset()
    assert [int(np.argmax(logits))] == llm(ids, max_tokens=1, temperature=0)["choices"][0]["tokens"]
    llm.next_logits(ids)
    before = llm.tokens_evaluated
    llm.next_logits([*ids, int(np.argmax(logits))])
    assert llm.tokens_evaluated - before == 1


@pytest.mark.parametrize("ids", [[], [5] * 5000])
def test_next_logits_refuses_a_prompt_that_does_not_fit(llm, ids):
    with pytest.raises(ModelError, match="1 to n_ctx=4096"):
        llm.next_logits(ids)


@pytest.mark.parametrize(
    "text", ["-" * 80, "\n" + " " * 100 + "x", "ありがとうございました", "🦙é"]
)
def test_detokenize_drops_nothing(llm, tiny, text):
    for model in (llm, tiny):
        assert model.detokenize(model.tokenize(text.encode(), add_bos=False)).decode() == text


def test_detokenize_refuses_what_is_no_token(llm):
    with pytest.raises(ModelError, match="no token id"):
        llm.detokenize([10**6])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nctx": 4096}, "no option 'nctx'; did you mean 'n_ctx'"),
        ({"n_ctx": 300}, "multiple of 256, for example 256"),
        ({"n_ctx": 0}, "multiple of 256"),
        ({"n_ctx": "4096"}, "multiple of 256"),
    ],
)
def test_options_that_would_be_swallowed_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        load_model(**options)


def test_files_that_are_no_model(tmp_path):
    weights = embedded_path().read_bytes()
    (tmp_path / "text.gguf").write_text("hello world")
    (tmp_path / "empty.gguf").write_bytes(b"")
    (tmp_path / "head.gguf").write_bytes(weights[:5000])
    (tmp_path / "half.gguf").write_bytes(weights[: len(weights) // 2])
    cases = {
        "nothing.gguf": "does not exist",
        ".": "is a folder",
        "text.gguf": "not a GGUF file",
        "empty.gguf": "not a GGUF file",
        "head.gguf": "Download it again",
        "half.gguf": "not within the file bounds.*Download it again",
    }
    for name, message in cases.items():
        with pytest.raises(ModelError, match=message) as caught:
            load_model(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_the_model_may_come_from_the_environment(monkeypatch, tiny_path):
    monkeypatch.setenv("TOOLCALL_LAB_MODEL", str(tiny_path))
    other = load_model(n_ctx=256)
    assert (other.name, other.kind, other.entry, other.calls_tools) == (
        "Tiny F32",
        "live",
        None,
        True,
    )
    other.close()
    embedded = load_model(SMOLLM2.key, n_ctx=256)
    assert (embedded.name, embedded.entry, embedded.calls_tools) == (SMOLLM2.name, SMOLLM2, False)
    embedded.close()


def test_a_closed_model_says_so(tiny_path):
    closed = load_model(tiny_path, n_ctx=256)
    closed.close()
    closed.close()
    uses = [
        lambda: closed("hi"),
        lambda: closed.tokenize(b"hi"),
        lambda: closed.detokenize([65]),
        lambda: closed.next_logits([65]),
        lambda: closed.eval([65]),
        lambda: next(closed.generate([65])),
        lambda: closed.n_ctx(),
        lambda: closed.save_state(),
    ]
    for use in uses:
        with pytest.raises(ModelError, match="closed"):
            use()


@pytest.mark.parametrize(
    ("prompt", "message"), [("", "empty"), ([], "empty"), ("a " * 5000, "larger")]
)
def test_a_prompt_that_can_not_be_answered(llm, prompt, message):
    with pytest.raises(ModelError, match=message):
        llm(prompt)


def test_a_second_thread_is_told_that_the_model_is_busy(llm):
    stream = llm(CHAT, max_tokens=20, stream=True)
    next(stream)
    caught = []

    def other():
        try:
            llm(CHAT, max_tokens=1)
        except ModelError as error:
            caught.append(str(error))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert "busy in another thread" in caught[0]
    stream.close()
    assert llm(CHAT, max_tokens=1)["choices"]


def test_llama_cpp_speaks_to_pythons_logging(caplog, capfd, tiny_path):
    with caplog.at_level(logging.DEBUG, logger="toolcall_lab.llama_cpp"):
        load_model(tiny_path, n_ctx=1024).close()
    assert any("n_ctx_train" in record.message for record in caplog.records)
    assert capfd.readouterr() == ("", "")
