"""What goes wrong, one kind an exception; all of them are `FabricScoutError`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager


class FabricScoutError(Exception):
    """Anything that kept an answer away; its text is one sentence for a person."""


class Unreachable(FabricScoutError):
    """Nothing answers at the address, or what answers is no FabricScout."""


class ApiError(FabricScoutError):
    """The service refused: its code, its sentence, and what is wrong with which field."""

    def __init__(
        self, status: int, code: str, message: str, fields: Mapping[str, Sequence[str]]
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.fields = fields


@contextmanager
def asked_as(**names: str) -> Iterator[None]:
    """Name what was asked by its own name, where the service refuses it by another of its own."""
    try:
        yield
    except ApiError as refused:
        refused.fields = {names.get(field, field): said for field, said in refused.fields.items()}
        raise


class BadInput(ApiError):
    """400 or 422: the question cannot be answered; `fields` names what must be asked otherwise."""


class NotAllowed(ApiError):
    """401 or 403: a token is missing, revoked, or may not do this."""


class NotFound(ApiError):
    """404: the catalog has never had it, or it is not yours."""


class Conflict(ApiError):
    """409: what is kept stands against it, or the same request is being answered just now."""


class TooManyRequests(ApiError):
    """429, and the wait that it asks for is longer than the client's patience."""


OF_STATUS: Mapping[int, type[ApiError]] = {
    400: BadInput,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    422: BadInput,
    429: TooManyRequests,
}
