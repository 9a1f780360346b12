"""Keys and values that are kept: a model that writes reads its own past again at every step."""

import torch
from torch import Tensor

from attn_edu.attention.dot_product import check_tensor


class KeyValueCache:
    """The keys and values of every position read so far, of one layer.

    Room is allocated ahead and doubled when it is full, so that a step writes its own positions
    and copies the others only now and then. While gradients are recorded the parts are joined
    instead, and gradients flow through the cache.

    Attributes:
        bytes: what the positions read so far take; room allocated ahead is not counted.

    Raises:
        ValueError, TypeError: `update` got what does not go with the positions before.

    Example:
        >>> import torch
        >>> cache = KeyValueCache()
        >>> for n_new in (5, 1, 1):
        ...     key, value = cache.update(torch.zeros(2, 3, n_new, 4), torch.zeros(2, 3, n_new, 6))
        >>> key.shape, value.shape, len(cache), cache.bytes
        (torch.Size([2, 3, 7, 4]), torch.Size([2, 3, 7, 6]), 7, 1680)
    """

    def __init__(self):
        self._length = 0
        self._key = self._value = None  # (…, room, dim), of which the first _length are in use

    def __len__(self) -> int:
        return self._length

    @property
    def bytes(self) -> int:
        if self._length == 0:
            return 0
        used = (part[..., : self._length, :] for part in (self._key, self._value))
        return sum(part.numel() * part.element_size() for part in used)

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add the newest positions; get all of them, oldest first.

        Args:
            key: ``(…, n_new, d)``, in a layer with heads ``(…, n_kv_heads, n_new, d_head)``.
            value: ``(…, n_new, d_value)``.

        Returns:
            The keys ``(…, n, d)`` and values ``(…, n, d_value)`` of all ``n`` positions so far.
            They are read, not written: later positions may lie in the same memory.

        Raises:
            ValueError: not one value for each key, or other sizes, dtype or device than before.
            TypeError: an argument is no tensor.
        """
        for name, new, held in (("key", key, self._key), ("value", value, self._value)):
            check_tensor(name, new, axes="n_new, dim")
            if held is not None and _kind(new) != _kind(held):
                raise ValueError(f"{name}: got {_kind(new)}; the cache holds {_kind(held)}.")
        if key.shape[-2] != value.shape[-2]:
            got = f"{tuple(value.shape)} for a key of {tuple(key.shape)}"
            raise ValueError(f"value: got {got}; there must be one value for each key (axis -2).")
        self._key = _appended(self._key, self._length, key)
        self._value = _appended(self._value, self._length, value)
        self._length += key.shape[-2]
        return self._key[..., : self._length, :], self._value[..., : self._length, :]


def _kind(part: Tensor) -> tuple:
    """All that must not change from one update to the next."""
    return (*part.shape[:-2], part.shape[-1]), part.dtype, part.device


def _appended(held: Tensor | None, length: int, new: Tensor) -> Tensor:
    """A tensor whose first positions are those of `held`, then those of `new`."""
    if held is None:
        return new.clone()
    if torch.is_grad_enabled() and (held.requires_grad or new.requires_grad):
        return torch.cat([held[..., :length, :], new], dim=-2)
    needed = length + new.shape[-2]
    if needed > held.shape[-2]:
        room = held.new_empty(*held.shape[:-2], max(needed, 2 * held.shape[-2]), held.shape[-1])
        room[..., :length, :] = held[..., :length, :]
        held = room
    held[..., length:needed, :] = new
    return held
