"""stub"""


def read_text(slug: str, text: str) -> dict[str, object]:
    return {}
