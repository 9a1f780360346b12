"""The package itself: what it names can be loaded."""

import attn_edu


def test_every_public_name_can_be_had():
    for name in dir(attn_edu):
        assert getattr(attn_edu, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(attn_edu, "attentoin")
