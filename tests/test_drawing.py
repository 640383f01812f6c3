import struct
import subprocess
import sys
import threading

from tests.test_prompt_view import Tags
from toolcall_lab.widgets import Drawing, new_figure


def drawn():
    figure, axes = new_figure(4, 2)
    axes.bar(["a", "$x"], [1, 2])
    return Drawing(figure, "Two bars, <b>a</b> and x\u202e.")


def test_a_figure_has_words_and_twice_the_points():
    shown = drawn()._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    assert shown["text/plain"] == "[figure: Two bars, <b>a</b> and x⟨U+202E⟩.]"
    assert Tags(shown["text/html"]).found == {"img", "src", "alt", "width", "style"}
    assert 'alt="Two bars, &lt;b&gt;' in shown["text/html"]
    assert 'width="400"' in shown["text/html"]
    assert struct.unpack(">II", drawn().to_png()[16:24]) == (800, 400)


def test_it_looks_the_same_whatever_the_reader_has_set(monkeypatch):
    import matplotlib

    first = drawn().to_png()
    with matplotlib.rc_context({"axes.spines.top": True, "axes.titlesize": 30}):
        assert drawn().to_png() == first
    found = []
    threads = [threading.Thread(target=lambda: found.append(drawn().to_png())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {first}


def test_matplotlib_is_loaded_when_something_is_drawn():
    code = "import sys, toolcall_lab.widgets; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
