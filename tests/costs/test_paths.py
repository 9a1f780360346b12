"""Path lengths and steps against a walk through the graph."""

import pytest

from attn_edu.costs import path_length, receptive_field, sequential_steps


def layers_needed(n, window):
    """Spread from the first position, a layer at a time, until the last is reached."""
    reached, layers = {0}, 0
    while n - 1 not in reached:
        reached = {p + step for p in reached for step in range(window) if p + step < n}
        layers += 1
    return layers


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 30])
@pytest.mark.parametrize("window", [2, 3, 5, 9])
def test_the_path_through_windows_is_the_walk(n, window):
    layers = layers_needed(n, window)
    assert path_length(n, "cnn", window=window) == layers
    assert receptive_field(window, layers) >= n
    assert layers == 0 or receptive_field(window, layers - 1) < n
    assert path_length(n, "rnn") == layers_needed(n, 2)
    assert path_length(n, "attention") == layers_needed(n, max(n, 2))


@pytest.mark.parametrize("n", [1, 5, 12])
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_sequential_steps_are_the_longest_chain(n, layers):
    """finish[l][t]: when state t of layer l can be ready at the earliest."""
    finish = [[0] * n for _ in range(layers)]
    for depth in range(layers):
        for t in range(n):
            before = finish[depth][t - 1] if t else 0
            below = finish[depth - 1][t] if depth else 0
            finish[depth][t] = max(before, below) + 1
    assert sequential_steps(n, "rnn", layers=layers) == finish[-1][-1]
    assert sequential_steps(n, "attention", layers=layers) == layers
    assert sequential_steps(n, "cnn", layers=layers) == layers


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: path_length(5, "gru"), "kind: got 'gru'"),
        (lambda: path_length(0, "rnn"), "n: got 0"),
        (lambda: path_length(2.5, "rnn"), "n: got 2.5"),
        (lambda: path_length(5, "cnn"), "window: got None"),
        (lambda: path_length(5, "cnn", window=1), "window: got 1"),
        (lambda: sequential_steps(5, "rnn", layers=0), "layers: got 0"),
        (lambda: receptive_field(0, 2), "window: got 0"),
        (lambda: receptive_field(3, -1), "layers: got -1"),
    ],
)
def test_bad_input_is_named(call, names):
    with pytest.raises(ValueError, match=names):
        call()
