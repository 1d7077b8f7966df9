import hashlib

from fedcert.app.report.seal import OPEN, digest, sealed


def test_a_digest_is_that_of_the_file() -> None:
    assert digest("ä\n") == hashlib.sha256("ä\n".encode()).hexdigest()


def test_a_sealed_page_holds_its_own_digest_with_zeros_in_its_place() -> None:
    page = f'<meta name="fedcert-page" content="{OPEN}"><p>{OPEN}</p>'
    closed = sealed(page)
    own = closed.split('"')[3]
    assert closed == page.replace(OPEN, own, 1)
    assert own == hashlib.sha256(page.encode()).hexdigest()


def test_any_change_breaks_the_seal() -> None:
    closed = sealed(f"{OPEN} 74.69")
    own = closed.split()[0]
    assert digest(closed.replace(own, OPEN)) == own
    assert digest(closed.replace(own, OPEN).replace("74.69", "74.70")) != own
