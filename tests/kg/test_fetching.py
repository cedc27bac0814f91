"""Documents come from public addresses, and from nowhere else (promise 30)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpcore2
import pytest

from kg.config import KgSettings
from kg.documents.addresses import is_public
from kg.documents.fetching import Fetched, Fetcher, fetch
from kg.errors import AddressRefused, FetchFailed, TooLarge
from lanework.retries import judge

PUBLIC = "93.184.216.34"
#: What names mean to the resolver of these tests.
NAMES = {
    "example.org": [PUBLIC],
    "two.example.org": [PUBLIC, "10.0.0.1"],
    "six.example.org": ["2606:2800:220:1:248:1893:25c8:1946"],
    "localtest.me": ["127.0.0.1"],
    "metadata.example.org": ["169.254.169.254"],
    "mapped.example.org": ["::ffff:10.0.0.1"],
    "nat64.example.org": ["64:ff9b::7f00:1"],
    "zone.example.org": ["fe80::1%eth0"],
    "spoofed.burpcollaborator.net": ["127.0.0.1"],
    "wiki.intra": ["10.1.2.3"],
    "xn--mnchen-3ya.example.org": [PUBLIC],
}


async def resolve(host: str, port: int) -> list[str]:
    if host in NAMES:
        return NAMES[host]
    try:  # numbers, as the system reads them: also 0x7f.1 and 017700000001
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except OSError:
        raise FetchFailed(f"{host!r} cannot be resolved") from None
    return [str(one[4][0]) for one in found]


REFUSED = [
    # loopback in all its spellings
    "http://127.0.0.1/", "http://127.0.0.1:8080/x", "http://127.1/", "http://127.0.1/", "http://127.255.255.254/", "http://2130706433/",
    "http://0x7f000001/", "http://0x7f.0x0.0x0.0x1/", "http://0x7F.1/", "http://017700000001/", "http://0177.0.0.1/", "http://0177.0.0.01/",
    "http://127.0.0.1./", "http://127.000.000.001/", "http://00000127.0.0.1/", "http://127.0.0.0x1/", "http://0/", "http://0.0.0.0/",
    "http://00.0.0.0/", "http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:127.0.0.1]/", "http://[::127.0.0.1]/", "http://[::ffff:0:127.0.0.1]/",
    "http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://localhost:8000/", "http://a.localhost/",
    "http://localtest.me/", "http://spoofed.burpcollaborator.net/", "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "http://%31%32%37.0.0.1/", "http://127.0.0.1%2f.example.org/", "http://0300.0250.0.1/",
    # private, shared, link-local
    "http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/", "http://3232235777/",
    "http://0xc0a80101/", "http://192.168.257/", "http://100.64.0.1/", "http://100.127.255.254/", "http://169.254.1.1/",
    "http://[fc00::1]/", "http://[fd12:3456::1]/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[febf::1]/", "http://[fec0::1]/",
    "http://zone.example.org/", "http://two.example.org/",
    # metadata of clouds
    "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xA9FEA9FE/", "http://0251.0376.0251.0376/",
    "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/", "http://100.100.100.200/", "http://192.0.0.192/", "http://168.63.129.16/",
    "http://metadata.google.internal/", "http://metadata/", "http://metadata.example.org/",
    # documentation, benchmarks, multicast, reserved
    "http://192.0.2.1/", "http://198.51.100.1/", "http://203.0.113.1/", "http://198.18.0.1/", "http://192.88.99.1/", "http://224.0.0.1/",
    "http://239.255.255.255/", "http://240.0.0.1/", "http://255.255.255.255/", "http://[ff02::1]/", "http://[2001:db8::1]/",
    "http://[100::1]/", "http://[3fff::1]/", "http://[5f00::1]/", "http://[4000::1]/",
    # IPv4 inside IPv6
    "http://[2002:7f00:1::]/", "http://[2002:0a00:0001::1]/", "http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b::a00:1]/",
    "http://[64:ff9b:1::10.0.0.1]/", "http://[2001:0:0:0:0:0:80ff:fffe]/", "http://[2001::f5ff:fffe]/",
    "http://[2606:2800::5efe:10.0.0.1]/", "http://[2606:2800::200:5efe:a00:1]/", "http://mapped.example.org/", "http://nat64.example.org/",
    # other tricks
    "ftp://example.org/", "file:///etc/passwd", "gopher://example.org/", "data:text/plain,x", "javascript:1",
    "//example.org/", "example.org", "", "http://", "http:///etc/passwd", "http://user@example.org/", "http://user:pass@example.org/",
    "http://example.org@127.0.0.1/",
    "http://example.org:80@127.0.0.1/", "http://example.org\\@127.0.0.1/", "http://example.org\\.evil/", "http://exa mple.org/",
    "http://example.org/\r\nHost: x", "http://example.org/\0", "http://\tlocalhost/", "http://example.org:22/", "http://example.org:25/",
    "http://example.org:99999/", "http://example..org/", "http://-/", "http://1.2.3.4.5/", "http://256.1.1.1/", "http://1.1/", "http://wiki.intra/",
    "http://printer/", "http://router.lan/", "http://nas.local/", "http://x.home.arpa/", "http://[1:2:3]/", "http://[::1/", "http://[v1.x]/",
    "http://" + "a" * 9000 + ".org/",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED)
def test_promise_30_all_are_refused(url: str, no_network: list[Any]) -> None:
    with pytest.raises(AddressRefused):
        asyncio.run(Fetcher(resolve=resolve).fetch(url))
    assert no_network == []


@pytest.mark.parametrize(
    "address", [PUBLIC, "8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "2606:4700::1111"]
)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


def test_a_refusal_fails_the_job_at_once() -> None:
    assert judge(AddressRefused("x"), tries_used=0, base=1.0).action == "fail"


# A network of our own: who is connected to, under which name, and what it answers


class Wire(httpcore2.AsyncNetworkStream):
    def __init__(self, network: Network, address: str, port: int) -> None:
        self._network, self.address, self.port = network, address, port
        self.asked = b""
        self.server_name: str | None = None
        self.given = 0
        self._answer: Iterator[bytes] | None = None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.asked += buffer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._answer is None:
            self._answer = self._network.answer(self)
        piece = next(self._answer, b"")
        self.given += len(piece)
        return piece

    async def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> Wire:
        self.server_name = server_hostname
        return self

    async def aclose(self) -> None:
        pass

    @property
    def path(self) -> str:
        return self.asked.split()[1].decode()

    @property
    def host(self) -> str:
        return next(line[6:].decode() for line in self.asked.split(b"\r\n") if line.lower().startswith(b"host: "))


class Network:
    def __init__(self) -> None:
        self.wires: list[Wire] = []
        self.answers: dict[str, Callable[[], Iterator[bytes]]] = {}

    async def connect_tcp(self, host: str, port: int, **_: Any) -> Wire:
        self.wires.append(Wire(self, host, port))
        return self.wires[-1]

    def answer(self, wire: Wire) -> Iterator[bytes]:
        return self.answers.get(wire.path, lambda: iter([b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"]))()

    def says(self, path: str, body: bytes = b"", *, status: str = "200 OK", **headers: str) -> None:
        head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self.answers[path] = lambda: iter([f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode(), body])

    def leads(self, path: str, where: str, status: str = "302 Found") -> None:
        self.says(path, status=status, Location=where)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    network = Network()

    async def connect(_: Any, host: str, port: int, **more: Any) -> Wire:
        return await network.connect_tcp(host, port, **more)

    monkeypatch.setattr("httpcore2._backends.auto.AutoBackend.connect_tcp", connect)
    return network


@pytest.fixture
def no_network(network: Network) -> list[Wire]:
    return network.wires


def got(url: str, **more: Any) -> Fetched:
    return asyncio.run(Fetcher(**{"resolve": resolve, **more}).fetch(url))


def test_a_document(network: Network) -> None:
    network.says("/papers/a%20b.pdf?x=1", b"body", Content_Type="application/PDF; charset=x", Set_Cookie="a=b")
    assert got("https://example.org/papers/a%20b.pdf?x=1#part") == Fetched(
        b"body", "application/pdf; charset=x", "a b.pdf", "https://example.org/papers/a%20b.pdf?x=1#part"
    )
    [wire] = network.wires
    assert (wire.address, wire.port, wire.server_name, wire.host) == (PUBLIC, 443, "example.org", "example.org")
    assert b"cookie" not in wire.asked.lower()
    assert b"identity" in wire.asked


def test_the_environment_sends_it_nowhere_else(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:3128")
    network.says("/", b"x")
    got("http://example.org:8080/")
    assert [(wire.address, wire.port, wire.host) for wire in network.wires] == [(PUBLIC, 8080, "example.org:8080")]


@pytest.mark.parametrize(
    "url", ["http://EXAMPLE.org./", "http://münchen.example.org/", "http://93.184.216.34/", "http://example.org:65535/"]
)
def test_names_in_other_clothes(network: Network, url: str) -> None:
    network.says("/", b"x")
    assert got(url).data == b"x"
    assert network.wires[0].address == PUBLIC


def test_an_address_of_version_six(network: Network) -> None:
    network.says("/", b"x")
    got("https://six.example.org/")
    assert (network.wires[0].address, network.wires[0].server_name) == (NAMES["six.example.org"][0], "six.example.org")


def test_a_name_that_changes_its_address_is_asked_once(network: Network) -> None:
    """Rebinding: public when it is checked, private when it is connected to."""
    answers = iter([[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]])
    asked = []

    async def rebinds(host: str, port: int) -> list[str]:
        asked.append(host)
        return next(answers)

    network.says("/", b"x")
    got("http://rebind.example.org/", resolve=rebinds)
    assert asked == ["rebind.example.org"]
    assert [wire.address for wire in network.wires] == [PUBLIC]


def test_a_name_that_changes_its_address_in_a_redirect(network: Network) -> None:
    answers = iter([[PUBLIC], ["127.0.0.1"]])

    async def rebinds(host: str, port: int) -> list[str]:
        return next(answers)

    network.leads("/", "/again")
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.1"):
        got("http://rebind.example.org/", resolve=rebinds)
    assert [wire.path for wire in network.wires] == ["/"]


@pytest.mark.parametrize("status", ["301 x", "302 x", "303 x", "307 x", "308 x"])
@pytest.mark.parametrize(
    "where",
    ["http://127.0.0.1/", "//169.254.169.254/x", "http://localtest.me/", "file:///etc/passwd", "http://u:p@example.org/", "ftp://example.org/",
     "http:\\\\127.0.0.1/", "http://[::1]/", "http://0x7f.1/"],
)  # fmt: skip
def test_a_redirect_is_a_new_address(network: Network, status: str, where: str) -> None:
    network.leads("/", where, status)
    with pytest.raises(AddressRefused):
        got("http://example.org/")
    assert len(network.wires) == 1


def test_redirects_are_followed_and_counted(network: Network) -> None:
    for number in range(5):
        network.leads(f"/{number}", f"../{number + 1}")
    network.says("/5", b"there", Content_Type="text/plain")
    assert got("http://example.org/0") == Fetched(b"there", "text/plain", "5", "http://example.org/5")
    network.leads("/5", "/6")
    network.says("/6", b"too far")
    with pytest.raises(FetchFailed, match="more than 5 redirects") as told:
        got("http://example.org/0")
    assert judge(told.value, tries_used=0, base=1.0).action == "fail"


def test_a_body_that_does_not_end(network: Network) -> None:
    def endless() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        while True:
            yield b"x" * 10_000

    network.answers["/"] = endless
    with pytest.raises(TooLarge, match="more than 1,000,000 bytes"):
        got("http://example.org/", size=1_000_000)
    assert network.wires[0].given < 1_200_000


def test_a_body_that_says_it_is_large(network: Network) -> None:
    network.answers["/"] = lambda: iter([b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", b"x"])
    with pytest.raises(TooLarge, match="1,073,741,824 bytes"):
        got("http://example.org/")


def test_what_is_packed_is_not_unpacked(network: Network) -> None:
    network.says("/", b"\x1f\x8b", Content_Encoding="gzip")
    with pytest.raises(FetchFailed, match="packed"):
        got("http://example.org/")


@pytest.mark.parametrize(
    ("status", "action"),
    [("404 x", "fail"), ("403 x", "fail"), ("500 x", "retry"), ("503 x", "retry"), ("429 x", "snooze"), ("302 x", "fail")],
)
def test_answers_that_are_none(network: Network, status: str, action: str) -> None:
    network.says("/", status=status, Retry_After="7")
    with pytest.raises(FetchFailed, match=f"answered {status[:3]}") as told:
        got("http://example.org/")
    verdict = judge(told.value, tries_used=0, base=1.0)
    assert verdict.action == action
    assert action == "fail" or verdict.delay_s == 7


@pytest.mark.parametrize(
    ("path", "said", "name"),
    [
        ("/", "", "example.org"),
        ("/a/b/", "", "b"),
        ("/x", 'attachment; filename="../../etc/pass\twd"', "pass wd"),
        ("/x", "attachment; filename*=UTF-8''%e6%97%a5%2F..%2Fa.pdf", "a.pdf"),
        ("/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "", "passwd"),
    ],
)
def test_names_are_safe(network: Network, path: str, said: str, name: str) -> None:
    network.says(path, b"x", **({"Content_Disposition": said} if said else {}))
    assert got(f"http://example.org{path}").name == name


def test_no_answer_in_time(network: Network) -> None:
    async def never(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(FetchFailed, match=r"more than 0\.01 s") as told:
        got("http://example.org/", resolve=never, timeout=0.01)
    assert told.value.error_class == "timeout"


@pytest.mark.parametrize("allow", ["wiki.intra", "wiki.intra:8080", "x, WIKI.intra:8080 ,y"])
def test_named_hosts_need_not_be_public(network: Network, allow: str) -> None:
    network.says("/", b"x")
    assert got("http://wiki.intra:8080/", allow=allow).data == b"x"
    assert (network.wires[0].address, network.wires[0].host) == ("10.1.2.3", "wiki.intra:8080")
    with pytest.raises(AddressRefused):
        got("http://10.1.2.3:8080/", allow=allow)
    network.leads("/", "http://127.0.0.1/")
    with pytest.raises(AddressRefused):
        got("http://wiki.intra:8080/", allow=allow)


@asynccontextmanager
async def _server() -> Any:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


def test_over_a_real_socket() -> None:
    async def run() -> None:
        async with _server() as port:
            url = f"http://127.0.0.1:{port}/a.txt"
            with pytest.raises(AddressRefused):
                await fetch(url, settings=KgSettings())
            found = await fetch(url, settings=KgSettings(fetch_allow=f"127.0.0.1:{port}"))
            assert found == Fetched(b"hello", "text/plain", "a.txt", url)

    asyncio.run(run())


def test_nobody_listens() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(FetchFailed, match="ConnectError") as told:
        got(f"http://127.0.0.1:{port}/", allow="127.0.0.1")
    assert judge(told.value, tries_used=0, base=1.0).action == "retry"


def test_a_redirect_with_a_space_in_it(network: Network) -> None:
    network.says("/old", status="302 Found", Location=" /the new")
    network.says("/the%20new", b"here", status="203 Non-Authoritative Information")
    assert got("https://example.org/old").data == b"here"
