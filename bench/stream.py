"""A region's price list of several hundred megabytes, streamed from loopback: time and memory.

    python -m bench.stream [MEGABYTES]

A server in a process of its own makes up rows of Amazon's form, one in fifty of a GPU type, plain
or gzipped; a client in another fetches the region as a worker does. Peak memory is its largest
resident set, with all that it imports; the bound is 300 MB.
"""

import gzip
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

MEGABYTES, BOUND_MB = 400, 300
HEADER = (
    '"FormatVersion","v1.0"\n"OfferCode","AmazonEC2"\n"SKU","TermType","Unit","PricePerUnit",'
    '"Currency","LeaseContractLength","PurchaseOption","OfferingClass","Instance Type","vCPU",'
    '"Memory","Tenancy","Operating System","License Model","CapacityStatus","GPU",'
    '"Pre Installed S/W","Region Code","MarketOption","Description"\n'
)
ROW = (
    '"SKU{n:09d}","OnDemand","Hrs","1.2500000000","USD","","","","{kind}.{n}xlarge","8","32 GiB",'
    '"Shared","Linux","No License required","Used","1","NA","us-east-1","OnDemand","{words}"\n'
)
WORDS = "a price of our own making, as long as those of the list " * 4
PATH = "/offers/v1.0/aws/AmazonEC2/current/us-east-1/index"


def blocks(megabytes: int) -> Iterator[bytes]:
    """A list of that length, about a megabyte at a time."""
    kinds = ["g5"] + ["m7i"] * 49
    rows = "".join(ROW.format(n=n, kind=kinds[n % 50], words=WORDS) for n in range(2500)).encode()
    yield HEADER.encode()
    for _ in range(megabytes * 10**6 // len(rows) + 1):
        yield rows


class Region(BaseHTTPRequestHandler):
    """The index, and the list of its one region."""

    megabytes, zipped = MEGABYTES, False

    def do_GET(self) -> None:
        self.send_response(200)
        index = f'{{"regions": {{"us-east-1": {{"currentVersionUrl": "{PATH}.json"}}}}}}'.encode()
        if self.path.endswith("region_index.json"):
            self.send_header("Content-Length", str(len(index)))
            self.end_headers()
            self.wfile.write(index)
            return
        if self.zipped:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        if not self.zipped:
            for block in blocks(self.megabytes):
                self.wfile.write(block)
            return
        with gzip.open(self.wfile, "wb", compresslevel=1) as packed:
            for block in blocks(self.megabytes):
                packed.write(block)

    def log_message(self, *_said: object) -> None:
        """Silent."""


def serve(megabytes: int, zipped: str) -> None:
    """The server's process: prints its port."""
    Region.megabytes, Region.zipped = megabytes, zipped == "gzip"
    server = HTTPServer(("127.0.0.1", 0), Region)
    print(server.server_port, flush=True)
    server.serve_forever()


def fetch(port: str) -> None:
    """The client's process: prints the length of the whole, what is kept, seconds, and its peak."""
    from scrapers.http import Http
    from scrapers.providers import aws

    own = aws.PROVIDER
    began = time.perf_counter()
    stand_ins = {aws.ORIGIN: f"http://127.0.0.1:{port}"}
    with Http(stand_ins=stand_ins, size=own.max_bytes, deadline=own.deadline, pace=0) as http:
        (document,) = aws.fetch_part(http, "us-east-1")
    seconds = time.perf_counter() - began
    lines = document.body.decode().splitlines()
    whole = next(line for line in lines if line.startswith('"Whole Length"')).split('"')[3]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(int(whole) / 1e6, len(document.body) / 1e6, seconds, peak)


def measured(megabytes: int, coding: str) -> tuple[float, float, float, float]:
    """MB of the whole, MB kept, seconds, and MB of memory."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.stream", "serve", str(megabytes), coding],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = server.stdout.readline().strip() if server.stdout else ""
        client = [sys.executable, "-m", "bench.stream", "fetch", port]
        said = subprocess.run(client, stdout=subprocess.PIPE, text=True, check=True).stdout
    finally:
        server.terminate()
        server.wait(10)
    whole, kept, seconds, peak = map(float, said.split())
    return whole, kept, seconds, peak


def main() -> None:
    """Measure and print; fails where the memory is beyond its bound."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    print(f"{'':<8}{'list, MB':>12}{'kept, MB':>12}{'seconds':>10}{'MB/s':>8}{'peak RSS, MB':>14}")
    for coding in ("plain", "gzip"):
        whole, kept, seconds, peak = measured(megabytes, coding)
        rate = whole / seconds
        print(f"{coding:<8}{whole:>12.0f}{kept:>12.1f}{seconds:>10.1f}{rate:>8.0f}{peak:>14.0f}")
        if peak >= BOUND_MB:
            raise SystemExit(f"The peak is beyond {BOUND_MB} MB.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(int(sys.argv[2]), sys.argv[3])
    elif sys.argv[1:2] == ["fetch"]:
        fetch(sys.argv[2])
    else:
        main()
