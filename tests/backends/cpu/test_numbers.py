"""Long integers from p-adic digits, on each instruction set, beside Python's: digits and weights of every length."""

import numpy as np
import pytest

from exactla.core.primes import primes_below

library = pytest.importorskip("exactla_backends.cpu.native.library")
if library.path() is None:
    pytest.skip("this installation has no native library", allow_module_level=True)
numbers = pytest.importorskip("exactla_backends.cpu.numbers")

RUNNING = [name for name, runs in library.listed() if runs]


@pytest.fixture(params=RUNNING)
def native(request):
    return library.Instructions(library.load(), request.param)


def as_words(digits, words):
    """Digits [steps, entries], Python integers, as the native library takes them."""
    text = b"".join(d.to_bytes(4 * words, "little", signed=True) for row in digits for d in row)
    return np.frombuffer(text, np.uint32).reshape(len(digits), -1, words)


def powers(weight, base, modulus, steps):
    return [weight * base**i % modulus for i in range(steps)]


def random_digits(rng, base, shape):
    octets = base.bit_length() // 8 + 2
    found = [[int.from_bytes(rng.bytes(octets), "little") % base for _ in range(shape[1])] for _ in range(shape[0])]
    return [[d if rng.integers(2) else -d for d in row] for row in found]


def check(native, digits, base, weight, modulus, parts=1):
    """All numbers are congruent to the sums and centred, or nearly so; and their bits are known."""
    steps = len(digits)
    weights = powers(weight, base, modulus, steps)
    words = as_words(digits, base.bit_length() // 32 + 1)
    cuts = [words[i::1][: -(-steps // parts)] for i in range(0, steps, -(-steps // parts))]
    found = numbers.weighted(native, cuts, base, weights, modulus)
    integers = found.integers()
    sums = [sum(w * d for w, d in zip(weights, column, strict=True)) for column in zip(*digits, strict=True)]
    assert len(integers) == len(sums)
    assert all((x - s) % modulus == 0 for x, s in zip(integers, sums, strict=True))
    assert all(100 * abs(x) <= 51 * modulus for x in integers)
    assert found.bits == max(abs(x).bit_length() for x in integers)
    return integers


def product(count, limit=256):
    found = 1
    for prime in primes_below(limit, count):
        found *= prime
    return found


@pytest.mark.parametrize("count", [1, 2, 4, 8, 12, 29, 53])
@pytest.mark.parametrize("steps", [1, 2, 7, 40])
@pytest.mark.parametrize("entries", [1, 19])
def test_sums(native, rng, count, steps, entries):
    base = product(count)
    modulus = base**steps
    digits = random_digits(rng, base, (steps, entries))
    check(native, digits, base, int.from_bytes(rng.bytes(9), "little") ** 9 % modulus, modulus)
    check(native, digits, base, 1, modulus, parts=min(3, steps))


@pytest.mark.parametrize("steps", [300, 1000])
def test_long_sums(native, rng, steps):
    """More pieces than sums of the longest ones have room for."""
    base = product(8)
    digits = random_digits(rng, base, (steps, 3))
    check(
        native, digits, base, int.from_bytes(rng.bytes(base.bit_length() * steps // 8), "little"), base**steps, parts=4
    )


@pytest.mark.parametrize("bits", [20, 23, 27, 31])
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_at_their_bound(native, bits, sign, monkeypatch):
    """Pieces of -2**(bits - 1), as many as fit, and of one sign."""
    pieces = (3 << 63 - 2 * bits) // 2 // 4 * 4
    groups = max(1, min(pieces // 8, 40))
    cut = numbers.Cut(1, 8, bits)
    monkeypatch.setattr(numbers, "best_cut", lambda *_: cut)
    base = 1 << 8 * bits - groups.bit_length() - 4
    lowest = -sum(1 << bits * i + bits - 1 for i in range(8)) % (base - 1)
    modulus = (1 << bits * 40) - 3
    weight = -sum(1 << bits * i + bits - 1 for i in range(39)) % modulus
    check(native, [[sign * lowest, -(base - 1), base - 1, 0, 1]] * groups, base, weight, modulus)


@pytest.mark.parametrize("bits", [0, 1, 31, 32, 63, 64, 100])
def test_lengths_around_powers_of_two(native, bits):
    base, modulus = product(20), product(20) ** 2
    for number in (1 << bits, -1 << bits, (1 << bits) - 1, 1 - (1 << bits), -1 - (1 << bits)):
        integers = check(native, [[number], [0]], base, 1, modulus)
        assert integers == [number]


def test_a_digit_that_is_off_by_one_is_seen(native, rng):
    """The negative control of these tests."""
    base = product(8)
    digits = random_digits(rng, base, (9, 12))
    weights = powers(12345, base, base**9, 9)
    words = as_words(digits, 2).copy()
    before = numbers.weighted(native, [words], base, weights, base**9).integers()
    words[4, 7, 0] ^= 1
    after = numbers.weighted(native, [words], base, weights, base**9).integers()
    assert [i for i, (x, y) in enumerate(zip(before, after, strict=True)) if x != y] == [7]


def test_numbers_that_are_made_in_several_calls(native, rng, monkeypatch):
    base = product(8)
    digits = random_digits(rng, base, (5, 300))
    whole = check(native, digits, base, 77, base**5)
    monkeypatch.setattr(numbers, "INTERRUPTIBLE", 1)
    assert check(native, digits, base, 77, base**5) == whole


@pytest.mark.parametrize("bits", [20, 25, 28, 31])
@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_balanced_pieces(rng, bits, count):
    edge = (1 << bits * count - 1) - 1
    integers = [int.from_bytes(rng.bytes(bits * count // 8 + 1), "little") % edge for _ in range(20)]
    integers = [x if rng.integers(2) else -x for x in integers] + [0, -edge // 2, edge // 2]
    found = numbers.balanced(integers, count, bits)
    assert np.abs(found.astype(np.int64)).max() <= 1 << bits - 1
    assert [sum(int(piece) << bits * i for i, piece in enumerate(row)) for row in found] == integers


@pytest.mark.parametrize("step_bits", [8, 41, 62, 94, 214, 334])
@pytest.mark.parametrize("steps", [1, 9, 500, 20000])
def test_sums_have_room(step_bits, steps):
    cut = numbers.best_cut(step_bits, steps, step_bits * steps)
    groups = cut.groups(steps)
    assert groups * cut.together >= steps
    assert cut.pieces * cut.bits >= cut.together * step_bits + groups.bit_length() + 3
    largest = (groups + 1) * cut.pieces << 2 * (cut.bits - 1)
    assert largest + (1 << 63 - cut.bits) < 1 << 63


@pytest.mark.parametrize("words", [1, 2, 3, 7])
def test_combinations(native, rng, words):
    digits = rng.integers(0, 1 << 32, (5, 70, words), np.uint32)
    digits[0] = [*[(1 << 32) - 1] * (words - 1), 1 << 31]
    weights = rng.integers(1, 1 << 14, 70).astype(np.int32)
    integers = [[int.from_bytes(d.tobytes(), "little", signed=True) for d in row] for row in digits]
    expected = [sum(int(w) * x for w, x in zip(weights, row, strict=True)) for row in integers]
    assert numbers.combined(native, digits, weights) == expected
