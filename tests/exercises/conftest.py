import pytest


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Each test keeps its progress in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
