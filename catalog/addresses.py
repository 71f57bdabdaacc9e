"""Which addresses may be contacted: the public internet, and nothing that only looks like it.

`ipaddress` alone is not enough: `is_private` and `is_global` let translated, mapped and multicast
forms through. IPv6 is taken from the block that is given out (2000::/3) and nowhere else, without
the prefixes that carry an IPv4 address inside.

IANA special-purpose registries: https://www.iana.org/assignments/iana-ipv4-special-registry and
https://www.iana.org/assignments/iana-ipv6-special-registry (RFC 6890).
"""

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

_NOT_PUBLIC_4 = [
    IPv4Network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    )
]  # fmt: skip
_GIVEN_OUT_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = [
    ip_network(block) for block in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]


def is_public(address: str) -> bool:
    """True for an IP address, as written by the resolver, that belongs to the public internet."""
    try:
        ip = ip_address(address)
    except ValueError:  # "fe80::1%eth0" and other words
        return False
    if ip.version == 4:
        return not any(ip in block for block in _NOT_PUBLIC_4)
    return ip in _GIVEN_OUT_6 and not any(ip in block for block in _NOT_PUBLIC_6)
