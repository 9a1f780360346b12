"""Weights that are missing, cut short or of another kind are named, with what brings them back."""

import importlib

import pytest

from attn_edu.pretrained import PACKAGES, NotInstalledError, folder

FILES = {
    "minilm": "model.safetensors",
    "smollm": "*.gguf",
    "bergamot": "model.enpt.intgemm.alphas.bin",
}
DAMAGE = {
    "missing": None,
    "empty": lambda content: b"",
    "cut short": lambda content: content,  # it is the first half of a megabyte
    "another kind": lambda content: b"no weights at all " * 100,
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_named_with_the_command(name, damage, weights_of, tmp_path, monkeypatch):
    weights_of(name)
    module = importlib.import_module(f"attn_edu.pretrained.{name}")
    home = folder(name)
    (weights,) = home.rglob(FILES[name])
    for path in home.rglob("*"):  # the rest of the package, but for its weights
        if path.is_file() and path != weights and path.suffix in (".json", ".gguf", ".bin"):
            copy = tmp_path / path.relative_to(home)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(path)
    broken = tmp_path / weights.relative_to(home)
    broken.parent.mkdir(parents=True, exist_ok=True)
    if change := DAMAGE[damage]:
        with weights.open("rb") as file:
            broken.write_bytes(change(file.read(2**19)))
    monkeypatch.setattr(module, "folder", lambda name: tmp_path)
    load = getattr(module, name).__wrapped__  # past the cache
    with pytest.raises(ValueError, match="is missing or damaged") as told:
        load()
    package = PACKAGES[name]
    assert f"{package.distribution}=={package.version}` in a terminal" in str(told.value)


def test_a_package_that_is_not_installed_stays_its_own_error(monkeypatch):
    monkeypatch.setenv("ATTN_EDU_PRETRAINED", "off")
    module = importlib.import_module("attn_edu.pretrained.minilm")
    with pytest.raises(NotInstalledError):
        module.minilm.__wrapped__()
