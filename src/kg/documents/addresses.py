"""Which addresses of the internet are public, and which hosts are spelled to deceive."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from kg.errors import AddressRefused

#: By IANA's registry of special addresses, in full and here: Python's own list depends on its version.
_NOT_PUBLIC_4 = tuple(
    IPv4Network(one)
    for one in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # a cloud's own services, on an address that looks public
    )
)  # fmt: skip
#: The rest of IPv6 (mapped, translated, local, multicast) is not routed on the internet, or leads to an IPv4 address unseen.
_PUBLIC_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(one)
    for one in (
        "2001::/23",  # Teredo, benchmarking, ORCHID
        "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
    )
)  # fmt: skip
#: An IPv4 address in the last half of any IPv6 one (ISATAP).
_ISATAP = (0x00005EFE, 0x02005EFE)
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)
_QUAD = re.compile(r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])")
_HOST = re.compile(r"(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "localdomain", "home.arpa")


def is_public(address: str) -> bool:
    """Of an address as a resolver gives it."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv4Address):
        return not any(found in network for network in _NOT_PUBLIC_4)
    return _is_public_6(found)


def _is_public_6(address: IPv6Address) -> bool:
    if address not in _PUBLIC_6 or any(address in network for network in _NOT_PUBLIC_6):
        return False
    return (int(address) >> 32) & 0xFFFFFFFF not in _ISATAP


def check_host(host: str) -> None:
    """Refuses a name that means this machine or this network, and a number that is no plain address. `host` is in ASCII
    and small letters."""
    if ":" in host:
        return  # IPv6: its address is checked
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        if not _QUAD.fullmatch(host):
            raise AddressRefused(f"{host!r} is an odd spelling of an address; write it as four numbers with dots")
        return
    if not _HOST.fullmatch(host):
        raise AddressRefused(f"{host!r} is no name of a host")
    if "." not in host or host.endswith(tuple("." + name for name in _LOCAL_NAMES)):
        raise AddressRefused(
            f"{host!r} is a name of a private network; public addresses are fetched, others where KG_FETCH_ALLOW names them"
        )


def check_addresses(host: str, addresses: list[str]) -> None:
    """All of them: a name with one private address is a trap, whichever is tried first."""
    for address in addresses:
        if not is_public(address):
            raise AddressRefused(f"{host!r} has the address {address}, which is not public")
