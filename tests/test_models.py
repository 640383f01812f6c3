import hashlib
import logging
import threading

import numpy as np
import pytest

from tests.tiny import write_tiny_gguf
from toolcall_lab import load_model
from toolcall_lab.chatml import STOP
from toolcall_lab.errors import ModelError
from toolcall_lab.models import SMOLLM2, TOOLS, adapter_path, embedded_path, needs

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


def test_a_stream_that_was_overtaken_says_so(llm):
    stream = llm(CHAT, max_tokens=8, stream=True)
    next(stream)
    llm("One, two,", max_tokens=1)
    with pytest.raises(ModelError, match="used again before"):
        next(stream)
    stream = llm(CHAT, max_tokens=8, stream=True)
    next(stream)
    llm.eval([5])
    with pytest.raises(ModelError, match="used again before"):
        next(stream)


@pytest.mark.parametrize("max_tokens", [-1, 1, 50])
def test_an_answer_ends_where_the_context_is_full(tiny_path, max_tokens):
    small = load_model(tiny_path, n_ctx=256)
    first_byte = "🦙".encode()[0]  # which is its own id, and never a whole character
    small.sample = lambda *args, **kwargs: first_byte
    output = small([65] * 250, max_tokens=max_tokens)
    assert output["choices"][0]["finish_reason"] == "length"
    assert output["usage"]["total_tokens"] <= 256 + 1  # the last one is not read any more
    assert len(output["choices"][0]["tokens"]) <= (max_tokens if max_tokens > 0 else 256) + 3
    small.close()


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


@pytest.mark.parametrize(
    ("ids", "message"), [([], "is empty"), ([5] * 5000, "don't fit"), ([-1], "is no token id")]
)
def test_next_logits_refuses_a_prompt_that_does_not_fit(llm, ids, message):
    with pytest.raises(ModelError, match=message):
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
        ({"n_ctx": 0}, "a whole number from 256"),
        ({"n_ctx": "4096"}, "a whole number from 256"),
        ({"n_ctx": 2**32}, "a whole number from 256"),
        ({"n_batch": -1}, "n_batch=-1"),
        ({"n_threads": 100_000}, "n_threads=100000"),
        ({"n_threads": "2"}, "n_threads='2'"),
        ({"lora_path": "/nowhere"}, "give the file as adapter="),
        ({"adapter": "/nowhere"}, "'/nowhere' does not exist"),
        ({"kwargs": 1}, "no option 'kwargs'"),
        ({"n_ctx": 2**23}, "was trained for 8192 tokens"),
        ({"n_ctx": 2**23, "rope_freq_scale": 0.1}, "needs about .* GB of memory"),
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
        "x" * 300: "can't be read|does not exist",  # Windows says the second
        ".": "is a folder",
        "text.gguf": "not a GGUF file",
        "empty.gguf": "not a GGUF file",
        "head.gguf": "download it again",
        "half.gguf": "not within the file bounds.*download it again",
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
    assert (embedded.name, embedded.entry, embedded.adapter) == (
        f"{SMOLLM2.name} + tools",
        SMOLLM2,
        TOOLS,
    )
    assert embedded.calls_tools
    embedded.close()


def test_the_plain_model_is_there_to_compare(llm):
    assert (llm.name, llm.entry, llm.adapter, llm.calls_tools) == (
        SMOLLM2.name,
        SMOLLM2,
        None,
        False,
    )


def test_the_catalog_knows_the_shipped_adapter():
    data = adapter_path().read_bytes()
    assert (TOOLS.size, TOOLS.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert len(data) <= 5_000_000
    assert TOOLS.base is SMOLLM2


def test_adapters_that_do_not_fit(tmp_path, tiny_path):
    data = adapter_path().read_bytes()
    (tmp_path / "cut.gguf").write_bytes(data[:200_000])
    (tmp_path / "head.gguf").write_bytes(data[:2000])
    (tmp_path / "text.gguf").write_text("hello world")
    (tmp_path / "renamed.gguf").write_bytes(data)
    (tmp_path / "other.gguf").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    cases = [
        (None, "cut.gguf", "cut.gguf' can't be loaded.*download it again"),
        (None, "head.gguf", "head.gguf' can't be loaded.*download it again"),
        (None, "text.gguf", "text.gguf' is not a GGUF file"),
        (None, embedded_path(), "It is no adapter"),
        (
            tiny_path,
            "renamed.gguf",
            "trained on SmolLM2-135M-Instruct Q4_1, and .*tiny.gguf' is another",
        ),
        (tiny_path, "other.gguf", "wrong base model"),
    ]
    for base, name, message in cases:
        with pytest.raises(ModelError, match=message) as caught:
            load_model(base, adapter=tmp_path / name, n_ctx=256)
        assert "\n" not in str(caught.value)
    mine = load_model(adapter=tmp_path / "other.gguf", n_ctx=256)
    assert (mine.name, mine.adapter, mine.calls_tools) == (f"{SMOLLM2.name} + other", None, True)
    mine.close()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            {"pooling": True},
            r"model.gguf is an embedding model \(llama\): .* take an instruct model",
        ),
        ({"architecture": "clip"}, "give its text model's GGUF"),
    ],
)
def test_models_that_write_nothing_are_refused(tmp_path, made, message):
    write_tiny_gguf(tmp_path / "model.gguf", **made)
    with pytest.raises(ModelError, match=message):
        load_model(tmp_path / "model.gguf", n_ctx=256)


def test_a_model_without_a_chat_template_loads_with_a_warning(tmp_path):
    write_tiny_gguf(tmp_path / "base.gguf", template=False)
    with pytest.warns(UserWarning, match=r"base.gguf has no chat template: it continues texts"):
        base = load_model(tmp_path / "base.gguf", n_ctx=256)
    assert not base.calls_tools
    base.close()


def test_what_does_not_fit_is_refused_before_it_is_loaded(tiny_path, monkeypatch, tmp_path):
    with pytest.raises(ModelError, match=r"n_ctx=16384: tiny.gguf was trained for 8192 tokens"):
        load_model(tiny_path, n_ctx=16384)
    load_model(tiny_path, n_ctx=8448, rope_freq_scale=0.5).close()  # stretched on purpose
    monkeypatch.setattr(needs, "memory_free", lambda: 10**8)
    with pytest.raises(ModelError, match=r"needs about 0.2 GB of memory .* and 0.1 GB are free"):
        load_model(tiny_path, n_ctx=256)
    load_model(tiny_path, n_ctx=256, n_gpu_layers=1).close()


def test_the_memory_a_model_needs_grows_with_its_context(tiny_path, monkeypatch, tmp_path):
    small, large = (needs.memory_needed(embedded_path(), n_ctx) for n_ctx in (256, 8192))
    assert large - small == 2 * (8192 - 256) * 30 * 3 * (64 + 64)  # 30 layers, 3 heads for keys
    assert needs.memory_free() > 10**8
    monkeypatch.setattr(needs, "CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text("5000")
    (tmp_path / "memory.current").write_text("3500")
    (tmp_path / "memory.stat").write_text("anon 3000\ninactive_file 500\n")
    assert needs.memory_free() == 2000
    (tmp_path / "memory.max").write_text("max")
    assert needs.memory_free() > 10**8


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


def test_a_busy_model_refuses_other_threads_and_is_not_hurt(tiny_path):
    model = load_model(tiny_path, n_ctx=512)
    entered, done = threading.Event(), threading.Event()
    sample = model.sample

    def slow(*args, **kwargs):
        entered.set()
        done.wait(30)
        return sample(*args, **kwargs)

    model.sample = slow
    answers = []
    thread = threading.Thread(target=lambda: answers.append(model("hi", max_tokens=3)))
    thread.start()
    entered.wait(30)
    uses = [
        lambda: model("hi"),
        lambda: model.next_logits([65]),
        lambda: model.eval([65]),
        lambda: model.reset(),
        lambda: model.close(),
    ]
    for use in uses:
        with pytest.raises(ModelError, match="busy in another thread"):
            use()
    done.set()
    thread.join()
    assert len(answers[0]["choices"][0]["tokens"]) >= 1
    model.close()


def test_llama_cpp_speaks_to_pythons_logging(caplog, capfd, tiny_path):
    with caplog.at_level(logging.DEBUG, logger="toolcall_lab.llama_cpp"):
        load_model(tiny_path, n_ctx=1024).close()
    assert any("n_ctx_train" in record.message for record in caplog.records)
    assert capfd.readouterr() == ("", "")
