"""The examples in the docstrings run, and say what they print."""

import doctest
import importlib
import pkgutil

import pytest

import attn_edu.attention

MODULES = [module.name for module in pkgutil.iter_modules(attn_edu.attention.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"attn_edu.attention.{name}")
    assert doctest.testmod(module).failed == 0


def test_every_public_name_has_a_docstring_with_its_shape_and_errors():
    for name in attn_edu.attention.__all__:
        text = getattr(attn_edu.attention, name).__doc__
        assert "Raises:" in text, name
