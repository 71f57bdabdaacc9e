"""A throwaway service to measure: embedded servers, a large made-up catalog, granian over it."""

import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OFFERS, PRICES_PER_OFFER = 20_000, 100
TYPES = OFFERS // 8

# Types of every kind in the proportions of a real market; prices follow the GPU count.
POPULATE = """
insert into catalog_provider (slug, title, homepage, also_known_as, source, interval, credentials,
                              has_scraper)
select 'p' || n, 'Provider ' || n, '', '{{}}', '', interval '1 day', '{{}}', false
  from generate_series(0, 19) n;
insert into catalog_country (code, continent) values
  ('US', 'north-america'), ('DE', 'europe'), ('FI', 'europe'), ('JP', 'asia');
insert into catalog_gpu (slug, gpu_vendor, form_factor, gpu_memory_gb, evidence) values
  ('h100-sxm5-80gb', 'nvidia', 'sxm5', 80, '{{}}'),
  ('b200-sxm6-180gb', 'nvidia', 'sxm6', 180, '{{}}'),
  ('a100-sxm4-80gb', 'nvidia', 'sxm4', 80, '{{}}'),
  ('l40s-pcie-48gb', 'nvidia', 'pcie', 48, '{{}}'),
  ('rtx4090-pcie-24gb', 'nvidia', 'pcie', 24, '{{}}');
insert into catalog_instancetype (provider_id, name, gpu, gpu_candidates, gpu_count, gpu_memory_gb,
  gpu_vendor, form_factor, scale_up, scale_up_gbytes_per_s, scale_up_domain_gpus,
  nvlink_domain_gpus, domain_gpu_memory_gb, fabric, fabric_nics, fabric_gbits_per_s,
  fabric_gbits_per_s_per_gpu, gpudirect_rdma, cliff, disputed, evidence, checked)
select 'p' || n % 20, 'type-' || n, g.slug, '{{}}', count, g.gpu_memory_gb, 'nvidia', g.form_factor,
  case when sxm and count = 8 then 'nvswitch' when count = 1 then 'none' end,
  case when sxm and count = 8 then 450 end,
  case when sxm and count = 8 then 8 when count = 1 then 1 end,
  case when sxm and count = 8 then 8 when count = 1 then 1 end,
  case when sxm and count = 8 then 8 * g.gpu_memory_gb end,
  case n % 5 when 0 then 'infiniband' when 1 then 'roce' when 2 then 'ethernet' end,
  case when n % 5 < 2 then 8 end,
  case when n % 5 < 2 then 3200 when n % 5 = 2 then 100 end,
  case when n % 5 < 2 then 3200 when n % 5 = 2 then 100 end / count,
  case when n % 5 = 2 then 'no' when n % 7 = 0 then 'yes' end,
  case when sxm and count = 8 and n % 5 < 2 then 9 end,
  '{{}}', '{{"scale_up": {{"basis": "documented", "source": "https://example.com"}}}}', '2026-11-01'
from (select n, (array[8, 8, 4, 2, 1])[1 + n / 7 % 5] as count, n % 25 < 12 as sxm
        from generate_series(0, {types} - 1) n) s
join lateral (select * from catalog_gpu
               where (form_factor like 'sxm%') = sxm
               order by slug offset n % (2 + sxm::int) limit 1) g on true;
insert into catalog_offer (instance_type_id, region, country, tier, price_model, listed_by_id,
  available, usd_per_hour, usd_per_gpu_hour, native_amount, native_currency, usd_rate,
  collected_at, source_url, warnings, first_seen)
select t.id, 'region-' || r % 4, (array['US', 'DE', 'FI', 'JP'])[1 + r % 4], null,
  case when r < 4 then 'on_demand' else 'spot' end, t.provider_id, true,
  p * t.gpu_count, p, p * t.gpu_count, 'USD', 1, now() - interval '1 hour',
  'https://example.com', '{{}}', now()
from catalog_instancetype t, generate_series(0, 7) r,
  lateral (select round((1 + (t.id * 7919 + r * 104729) % 900 / 100.0)::numeric, 2) as p) m;
insert into catalog_price (offer_id, native_amount, native_currency, usd_per_hour, usd_rate,
  valid_from, valid_to, source_url)
select o.id, o.native_amount, 'USD', o.usd_per_hour, 1, now() - (n + 1) * interval '1 day',
  case when n > 0 then now() - n * interval '1 day' end, 'https://example.com'
from catalog_offer o, generate_series(0, {periods} - 1) n;
update catalog_catalogversion set version = version + 1;
"""


@contextmanager
def database() -> Iterator[None]:
    """Embedded servers with a migrated, empty catalog; Django set up on it."""
    home = Path(tempfile.mkdtemp(prefix="fabricscout-bench-"))
    os.environ["FABRICSCOUT_HOME"] = str(home)  # `config.home` reads it once, when imported
    from config.embedded import Servers
    from config.home import addresses

    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ.update(addresses(home) | {"HTTPS": "0"})
    os.environ["API_PER_MINUTE_ANONYMOUS"] = "1000000"  # a bench asks more than people do
    servers = Servers(home, lasting=False)
    servers.start()
    try:
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        yield
    finally:
        servers.stop()
        shutil.rmtree(home, ignore_errors=True)


def populate(offers: int = OFFERS, periods: int = PRICES_PER_OFFER) -> None:
    """A made-up catalog of that size, analysed."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("set statement_timeout = 0")
        # Held for each row that is written, and no reader's: the larger part of the time.
        cursor.execute("alter table catalog_price drop constraint price_periods_never_overlap")
        cursor.execute(POPULATE.format(types=offers // 8, periods=periods))
        cursor.execute("analyze")


@contextmanager
def web() -> Iterator[http.client.HTTPConnection]:
    """Granian over the service with one worker, and a kept-alive connection to it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "config.wsgi:application",
               "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
               "--blocking-threads", "4", "--log-level", "error"]  # fmt: skip
    server = subprocess.Popen(command)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        wait_for(connection)
        yield connection
    finally:
        connection.close()
        server.terminate()
        server.wait(15)


def wait_for(connection: http.client.HTTPConnection) -> None:
    """Until it answers; at most 30 s."""
    for _ in range(300):
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except OSError:
            connection.close()
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the service did not answer within 30 s")
