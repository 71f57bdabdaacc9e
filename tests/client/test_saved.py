"""What an account keeps, from Python and from a shell: comparisons, their runs, watches."""

import json

import pytest

from fabricscout import BadInput, FabricScout, NotAllowed, NotFound, answers
from tests.client.conftest import TODAY, listed, publish
from tests.e2e.conftest import manage

PICKS = ("azure/Standard_ND96isr_H100_v5", "lambda/gpu_1x_gh200")
ISSUE = """
from django.contrib.auth.models import User
from accounts.models import Scope, Token
user, _ = User.objects.get_or_create(username={name!r}, email={name!r})
print(Token.objects.issue(user, "script", Scope.{scope})[1])
"""


@pytest.fixture
def token(environment, request):
    """Makes a token of someone; everyone is new in each test."""

    def issue(name: str = "ada", scope: str = "WRITE") -> str:
        program = ISSUE.format(name=f"{name}.{request.node.name}@example.org", scope=scope)
        return manage(environment, "shell", "-v0", "-c", program).split()[-1]

    return issue


@pytest.fixture
def ada(service, token):
    with FabricScout(service, token()) as scout:
        yield scout


def test_a_comparison_is_kept_answered_again_and_compared(ada, environment, tmp_path):
    kept = ada.comparisons.save("two", picks=PICKS, notes="of a test")
    assert set(answers.Saved.__annotations__) <= set(kept)
    first = ada.comparisons.run(kept["id"])
    assert set(answers.Run.__annotations__) <= set(first)
    publish(environment, tmp_path, TODAY | listed("gpu_1x_gh200", 2.29 * 1.05, "us-east-3"))
    ada.comparisons.run(kept["id"])
    publish(environment, tmp_path, TODAY)
    diff = ada.comparisons.diff(kept["id"])
    assert set(diff) == set(answers.Diff.__annotations__)
    (change,) = diff["changes"]
    assert change["kind"] == "price"
    assert change["delta_percent"] == pytest.approx(5, abs=0.3)
    assert [each["name"] for each in ada.comparisons] == ["two"]
    assert ada.comparisons.find("two")["id"] == kept["id"]
    ada.comparisons.delete(kept["id"])
    with pytest.raises(NotFound):
        ada.comparisons.find("two")


def test_a_watch_is_made_listed_and_ended(ada):
    kept = ada.comparisons.save("watched", picks=PICKS)
    made = ada.watches.create(kept["id"], "price", threshold=10, webhook="https://example.org/hook")
    assert set(answers.Watch.__annotations__) == set(made)
    (found,) = ada.watches
    assert (found["id"], found["threshold"]) == (made["id"], 10)
    assert "secret" not in found
    assert ada.watches.test(made["id"])["type"] == "test"
    ada.watches.delete(made["id"])
    assert list(ada.watches) == []


def test_what_another_keeps_is_not_there(ada, service, token):
    kept = ada.comparisons.save("mine", picks=PICKS)
    with FabricScout(service, token("bob")) as bob:
        assert list(bob.comparisons) == []
        with pytest.raises(NotFound):
            bob.comparisons.run(kept["id"])
    with FabricScout(service) as nobody, pytest.raises(NotAllowed):
        nobody.comparisons.run(kept["id"])
    with FabricScout(service, token("ada", "READ")) as reader, pytest.raises(NotAllowed):
        reader.comparisons.run(kept["id"])


def test_the_same_from_a_shell(fabricscout, token):
    secret = token()

    def run(*arguments):
        return fabricscout(*arguments, token=secret)

    assert run("saved").returncode == 3
    made = run("save", "in a shell", *PICKS, "--workload", "llama3-8b-pretrain", "--gpus", "8")
    assert made.returncode == 0
    assert "kept as" in made.stderr
    again = json.loads(run("run", "in a shell", "--json").stdout)
    assert {each["key"].split(";")[0] for each in again["results"]["offers"]} == {*PICKS}
    unchanged = run("diff", "in a shell")
    assert unchanged.returncode == 3
    assert "nothing changed between these two runs." in unchanged.stderr
    assert "in a shell" in run("saved").stdout
    watch = run("watch", "in a shell", "--what", "price", "--webhook", "https://example.org/h")
    assert watch.returncode == 0
    assert "shown this once" in watch.stderr
    refused = run("watch", "in a shell", "--what", "price", "--webhook", "ftp://example.org")
    assert refused.returncode == 2
    assert "webhook: It must begin with https://." in refused.stderr
    (line,) = run("watch").stdout.splitlines()[1:]
    assert run("watch", "--remove", line.split()[0]).returncode == 0
    assert run("watch").returncode == 3
    assert run("run", "nothing").returncode == 3
    assert run("save", "empty").returncode == 2
    assert run("watch", "--what", "price").returncode == 2
    assert fabricscout("saved").returncode == 1  # nobody asks


def test_one_run_is_not_two_that_say_the_same(fabricscout, token):
    secret = token()
    made = fabricscout("save", "once", *PICKS, "--json", token=secret)
    only = json.loads(made.stdout)["id"]
    diff = fabricscout("diff", "once", token=secret)
    assert (diff.returncode, diff.stdout) == (3, "")
    assert "there is one run only" in diff.stderr
    assert "`fabricscout run once` makes the next" in diff.stderr
    fabricscout("run", "once", token=secret)
    assert "nothing changed" in fabricscout("diff", "once", token=secret).stderr
    first = fabricscout("diff", "once", "--to", only, token=secret)
    assert "no run was made before that one" in first.stderr


def test_of_two_comparisons_of_one_name_the_id_says_which(fabricscout, ada, token):
    secret = token()
    first, second = (ada.comparisons.save("twins", picks=[pick]) for pick in PICKS)
    for command in ("run", "diff", "watch"):
        refused = fabricscout(command, "twins", token=secret)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "'twins' is what 2 comparisons are called" in refused.stderr
        assert {first["id"], second["id"]} <= {
            *refused.stderr.replace(",", " ").replace(".", " ").split()
        }
    for kept, pick in zip((first, second), PICKS, strict=True):
        answer = json.loads(fabricscout("run", kept["id"], "--json", token=secret).stdout)
        assert [each["key"].split(";")[0] for each in answer["results"]["offers"]] == [pick]
    with pytest.raises(BadInput):
        ada.comparisons.find("twins")
