"""Exact over integers, as many multiplications as promised, and errors of the promised kind."""

import itertools

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from attn_edu import matmul
from attn_edu.matmul import strassen, winograd_convolution, winograd_inner_product


class Multiplications(TorchDispatchMode):
    """Counts those that torch really makes, of two numbers that both come from the inputs."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        if name in ("mm", "bmm"):
            self.count += result.numel() * args[0].shape[-1]
        elif name in ("mul", "mul_"):
            self.count += result.numel()
        elif any(
            word in name for word in ("mv", "dot", "addmm", "addbmm", "baddbmm", "conv", "pow")
        ):
            raise AssertionError(f"{name} is not counted here")
        return result


def counted(function, *arguments, **options):
    with Multiplications() as mode:
        function(*arguments, **options)
    return mode.count


def integers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-(10**6), 10**6, shape, generator=generator)


def normal(*shape, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def loops(a, b):
    """``a @ b`` over Python integers, which never overflow."""
    columns = list(zip(*b.tolist()))
    return torch.tensor(
        [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a.tolist()]
    ).reshape(a.shape[0], b.shape[1])


SHAPES = [
    (1, 1, 1),
    (2, 2, 2),
    (5, 7, 3),
    (4, 9, 6),
    (1, 8, 5),
    (13, 1, 6),
    (16, 16, 16),
    (9, 10, 17),
]
CUTOFFS = [1, 2, 3, 100]


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize("shape", SHAPES)
def test_strassen_is_exact_over_integers(shape, cutoff):
    m, k, n = shape
    a, b = integers(m, k), integers(k, n, seed=1)
    product = strassen(a, b, cutoff=cutoff)
    assert product.dtype == torch.int64
    assert product.equal(loops(a, b))


@pytest.mark.parametrize("shape", SHAPES)
def test_winograd_inner_product_is_exact_over_integers(shape):
    m, k, n = shape
    a, b = integers(m, k), integers(k, n, seed=1)
    assert winograd_inner_product(a, b).equal(loops(a, b))


CONVOLUTIONS = [(3, 3), (4, 4), (3, 8), (7, 5), (6, 9)]


@pytest.mark.parametrize("size", CONVOLUTIONS)
def test_winograd_convolution_is_exact_over_integers(size):
    image, kernel = integers(2, 3, *size), integers(5, 3, 3, 3, seed=1)
    wanted = torch.zeros(2, 5, size[0] - 2, size[1] - 2, dtype=torch.int64)
    for i, j in itertools.product(range(3), repeat=2):
        part = image[:, None, :, i : i + size[0] - 2, j : j + size[1] - 2]
        wanted += (part * kernel[:, :, i, j, None, None]).sum(dim=2)
    assert winograd_convolution(image, kernel).equal(wanted)
    alone = winograd_convolution(image, kernel[0, 0])  # each channel by itself
    for b, c in itertools.product(range(2), range(3)):
        one = winograd_convolution(image[b, c], kernel[0, 0])
        assert alone[b, c].equal(one)
        theirs = F.conv2d(image[b, c][None, None].double(), kernel[0, 0][None, None].double())
        assert one.equal(theirs[0, 0].long())
    assert winograd_convolution(image[0], kernel).equal(wanted[0])


@pytest.mark.parametrize("function", [strassen, winograd_inner_product])
def test_leading_axes_broadcast_and_layout_does_not_count(function):
    options = {"cutoff": 2} if function is strassen else {}
    a, b = integers(2, 1, 5, 7), integers(3, 7, 4, seed=1)
    product = function(a, b, **options)
    assert product.shape == (2, 3, 5, 4)
    for i, j in itertools.product(range(2), range(3)):
        assert product[i, j].equal(loops(a[i, 0], b[j]))
    turned = a.mT.contiguous().mT
    assert not turned.is_contiguous()
    assert function(turned, b.repeat_interleave(2, -1)[..., ::2], **options).equal(product)


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize("shape", SHAPES)
def test_strassen_makes_the_multiplications_that_it_promises(shape, cutoff):
    m, k, n = shape
    promised = strassen.multiplications(m, k, n, cutoff=cutoff)
    assert counted(strassen, integers(m, k), integers(k, n), cutoff=cutoff) == promised


def test_strassens_count_is_the_closed_form():
    for levels, leaf in itertools.product(range(5), (1, 3, 10)):
        n = leaf << levels
        assert strassen.multiplications(n, cutoff=leaf) == 7**levels * leaf**3
        assert strassen.multiplications(n, n, n, cutoff=leaf) == 7**levels * leaf**3
        assert strassen.multiplications(n, cutoff=n) == n**3
    assert strassen.multiplications(64, 2, 64, cutoff=1) == 7 * 32 * 1 * 32


@pytest.mark.parametrize("shape", SHAPES)
def test_winograd_inner_product_makes_the_multiplications_that_it_promises(shape):
    m, k, n = shape
    promised = winograd_inner_product.multiplications(m, k, n)
    assert counted(winograd_inner_product, integers(m, k), integers(k, n)) == promised
    assert promised == (k // 2) * (m * n + m + n) + (k % 2) * m * n
    even = 2 * k
    assert winograd_inner_product.multiplications(even) == (even**3 + 2 * even**2) // 2


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.complex64])
def test_winograd_convolution_in_small_integers_and_in_complex_numbers(dtype):
    """Sums on the way leave uint8 and int8 where the result, at most 9 * 6 * 2, does not."""
    generator = torch.Generator().manual_seed(3)
    image = torch.randint(0, 7, (5, 8), generator=generator).to(dtype)
    kernel = torch.randint(0, 3, (3, 3), generator=generator).to(dtype)
    wanted = F.conv2d(image[None, None].cfloat(), kernel[None, None].cfloat())[0, 0]
    wanted = wanted if dtype.is_complex else wanted.real.to(dtype)
    assert winograd_convolution(image, kernel).equal(wanted)


@pytest.mark.parametrize("size", CONVOLUTIONS)
def test_winograd_convolution_makes_the_multiplications_that_it_promises(size):
    image, kernel = integers(3, *size), integers(5, 3, 3, 3)
    promised = winograd_convolution.multiplications(*size, 3, 5)
    assert counted(winograd_convolution, image, kernel) == promised
    patches = -(-(size[0] - 2) // 2) * -(-(size[1] - 2) // 2)
    assert promised == 16 * patches * 3 * 5
    if size == (4, 4):
        assert 9 * 4 / winograd_convolution.multiplications(4, 4) == 2.25


def test_every_level_of_strassen_loses_accuracy():
    a, b = normal(512, 512), normal(512, 512, seed=1)
    truth = a.double() @ b.double()
    errors = [
        ((strassen(a, b, cutoff=512 >> levels).double() - truth).norm() / truth.norm()).item()
        for levels in range(5)
    ]
    assert errors == sorted(errors)
    assert 4 < errors[4] / errors[0] < 40
    assert errors[4] < 1e-5


def test_winograds_inner_product_loses_it_when_the_sizes_are_unequal():
    a, b = normal(64, 64, dtype=torch.float64), normal(64, 64, seed=1, dtype=torch.float64)
    truth = a @ b

    def error(scale):
        product = winograd_inner_product((scale * a).float(), (b / scale).float())
        return ((product - truth).norm() / truth.norm()).item()

    assert error(1) < 1e-6
    assert 1e-2 < error(1000) < 1


def test_winograds_convolution_is_as_accurate_as_the_direct_one():
    image, kernel = normal(1, 16, 34, 34), normal(8, 16, 3, 3, seed=1)
    truth = F.conv2d(image.double(), kernel.double())
    got = winograd_convolution(image, kernel)
    assert got.dtype == torch.float32
    assert (got - truth).norm() / truth.norm() < 1e-6


def test_inputs_are_left_alone_and_no_gradient_is_recorded():
    a, b, kernel = normal(8, 8), normal(8, 8, seed=1), normal(3, 3, seed=2)
    for x in (a, b, kernel):
        x.requires_grad_()
    before = [x.clone() for x in (a, b, kernel)]
    for result in (
        strassen(a, b, cutoff=2),
        winograd_inner_product(a, b),
        winograd_convolution(a, kernel),
        strassen(a, b, cutoff=8),
    ):
        assert not result.requires_grad
        result.zero_()
    assert all(x.equal(old) for x, old in zip((a, b, kernel), before))


def test_strassen_takes_its_memory_once():
    """Two sums of quarters for each level, beside the result: n²/2 + n²/8 + … < 2/3 n²."""
    from attn_edu.costs import measure

    a, b = normal(512, 512), normal(512, 512, seed=1)
    peak = measure(lambda: strassen(a, b, cutoff=64), repeats=1).peak_bytes
    assert peak <= (1 + 2 / 3) * 512**2 * 4


A, B, IMAGE, KERNEL = (
    torch.ones(5, 7),
    torch.ones(7, 3),
    torch.ones(2, 4, 5),
    torch.ones(6, 2, 3, 3),
)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: strassen(A, B.mT, cutoff=2), ValueError, "b: got (3, 7)"),
        (lambda: strassen(A, B, cutoff=0), ValueError, "cutoff: got 0; accepted is an integer"),
        (lambda: strassen(A, B, cutoff=2.0), ValueError, "cutoff: got 2.0"),
        (lambda: strassen([[1]], B, cutoff=2), TypeError, "a: got list"),
        (lambda: strassen(A, B.double(), cutoff=2), ValueError, "b: got dtype torch.float64"),
        (lambda: strassen(A, B.to("meta"), cutoff=2), ValueError, "b: got device meta"),
        (
            lambda: strassen(A.expand(2, 5, 7), B.expand(3, 7, 3), cutoff=2),
            ValueError,
            "b: got the",
        ),
        (lambda: winograd_inner_product(A[0], B), ValueError, "a: got (7,) of torch.float32"),
        (lambda: winograd_inner_product(A > 0, B > 0), ValueError, "a: got (5, 7) of torch.bool"),
        (lambda: winograd_inner_product(A, None), TypeError, "b: got NoneType"),
        (
            lambda: winograd_convolution(IMAGE, KERNEL[..., :2]),
            ValueError,
            "kernel: got (6, 2, 3, 2)",
        ),
        (lambda: winograd_convolution(IMAGE[:1], KERNEL), ValueError, "image: got (1, 4, 5)"),
        (lambda: winograd_convolution(IMAGE[0], KERNEL), ValueError, "image: got (4, 5)"),
        (lambda: winograd_convolution(IMAGE[..., :2], KERNEL), ValueError, "image: got (2, 4, 2)"),
        (lambda: winograd_convolution(IMAGE, KERNEL.int()), ValueError, "kernel: got dtype"),
        (lambda: strassen.multiplications(0, cutoff=1), ValueError, "m: got 0"),
        (lambda: strassen.multiplications(2, 3, cutoff=1), ValueError, "n: got two sizes"),
        (lambda: strassen.multiplications(2, cutoff=-1), ValueError, "cutoff: got -1"),
        (lambda: winograd_convolution.multiplications(2, 3), ValueError, "height: got 2"),
    ],
)
def test_bad_input_is_named(call, error, says):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(says)
    assert "accepted" in str(caught.value) or "but" in str(caught.value)


def test_examples():
    import doctest

    assert doctest.testmod(matmul).failed == 0
