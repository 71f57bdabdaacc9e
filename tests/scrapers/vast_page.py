"""A page of one provider's market, as many offers as a test wants: for loopback and for files."""

import copy
import json
from datetime import datetime
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "payloads" / "vast.json"
ORIGIN = "https://console.vast.ai"


def page(offers: int = 20, dearer: float = 1.0) -> dict[str, object]:
    """`offers` machines of 8 H100 each."""
    recorded = json.loads(RECORDED.read_text())["offers"][0]
    rows = []
    for n in range(offers):
        row = copy.deepcopy(recorded)
        row |= {"id": 9000 + n, "ask_contract_id": 9000 + n, "machine_id": 500 + n}
        row["dph_base"] = round((16 + n / 1000) * dearer, 4)
        row["dph_total"] = row["dph_base"] + 0.002667
        row["min_bid"] = None
        rows.append(row)
    return {"offers": rows}


def bundle(at: datetime, offers: int = 20, dearer: float = 1.0) -> bytes:
    """The same as a file that says when it was collected."""
    context = {"collected_at": at.isoformat()}
    return json.dumps({"documents": [page(offers, dearer)], "context": context}).encode()
