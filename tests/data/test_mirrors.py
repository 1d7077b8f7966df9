import gzip
import hashlib
import socket
import threading
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar

import pytest
from folders import files_below

from fedcert.data.idx import FILES, Source
from fedcert.data.mirrors import cache_folder, cached
from fedcert.errors import DataError

T = TypeVar("T")
GZIPPED = tuple(f"{name}.gz" for name in FILES)
CONTENT = {name: gzip.compress(name.encode() * 1000, mtime=0) for name in GZIPPED}


class Mirror:
    """A web server on this machine that holds files and notes what it is asked for."""

    def __init__(self) -> None:
        self.files = {f"/good/{name}": content for name, content in CONTENT.items()}
        self.files |= {f"/damaged/{name}": content + b"!" for name, content in CONTENT.items()}
        self.asked: list[str] = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror.asked.append(self.path)
                if self.path.startswith("/garbage"):
                    self.wfile.write(b"this is not HTTP\r\n\r\n")
                    return
                content = mirror.files.get(self.path)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def address(self, folder: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/{folder}/"


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    mirror = Mirror()
    thread = threading.Thread(target=mirror.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield mirror
    mirror.server.shutdown()
    thread.join()
    mirror.server.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache" / "fedcert"


def source(*mirrors: str) -> Source:
    first, second, third, fourth = (hashlib.sha256(CONTENT[name]).hexdigest() for name in GZIPPED)
    return Source("small", "Small", mirrors, (first, second, third, fourth))


def closed_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/"


def test_the_four_files_and_nothing_else_come_into_the_cache(mirror: Mirror, cache: Path) -> None:
    assert cached(source(mirror.address("good"))) == cache == cache_folder()
    assert files_below(cache) == {f"small/{name}": content for name, content in CONTENT.items()}


def test_files_in_the_cache_are_not_downloaded_again(mirror: Mirror, cache: Path) -> None:
    cached(source(mirror.address("good")))
    asked = list(mirror.asked)
    cached(source(mirror.address("good")))
    assert mirror.asked == asked
    (cache / "small" / GZIPPED[2]).unlink()
    cached(source(mirror.address("good")))
    assert mirror.asked == [*asked, f"/good/{GZIPPED[2]}"]


BAD_MIRRORS = ["damaged", "absent", "garbage"]


@pytest.mark.parametrize("bad", BAD_MIRRORS)
def test_a_bad_mirror_gives_way_to_the_next(mirror: Mirror, cache: Path, bad: str) -> None:
    cached(source(mirror.address(bad), mirror.address("good")))
    assert f"/{bad}/{GZIPPED[0]}" in mirror.asked
    assert files_below(cache) == {f"small/{name}": content for name, content in CONTENT.items()}


@pytest.mark.parametrize("bad", BAD_MIRRORS)
def test_bad_mirrors_alone_are_an_error_that_leaves_no_file(mirror: Mirror, cache: Path, bad: str) -> None:
    address = mirror.address(bad)
    with pytest.raises(DataError) as caught:
        cached(source(address))
    assert address in str(caught.value)
    assert files_below(cache) == {}


def test_offline_is_an_error_that_says_which_files_go_where(cache: Path) -> None:
    with pytest.raises(DataError) as caught:
        cached(source(closed_port(), closed_port()))
    for part in (*GZIPPED, str(cache / "small"), "--data-dir", "FEDCERT_DATA"):
        assert part in str(caught.value)
    assert files_below(cache) == {}


def test_offline_a_complete_cache_suffices(cache: Path) -> None:
    (cache / "small").mkdir(parents=True)
    for name, content in CONTENT.items():
        (cache / "small" / name).write_bytes(content)
    assert cached(source(closed_port())) == cache


def test_progress_sees_every_download(mirror: Mirror) -> None:
    shown: dict[str, int] = {}

    def track(items: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
        chunks = list(items)
        shown[description] = len(chunks)
        assert total == len(chunks)
        return chunks

    cached(source(mirror.address("good")), track)
    assert len(shown) == len(GZIPPED)
    for name in GZIPPED:
        assert any(name in description for description in shown)


def test_without_xdg_the_cache_is_in_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "fedcert"
