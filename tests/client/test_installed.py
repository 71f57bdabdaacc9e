"""The service's own virtualenv has the command, without an install of the client."""

import subprocess
import sysconfig
import venv

from config.install import offer_command
from tests.client.conftest import CLIENT


def test_the_command_is_this_checkouts_wherever_the_virtualenv_stands(tmp_path):
    room = tmp_path / "ada's $HOME"
    venv.create(room)
    offer_command(room)
    needs = {"PYTHONPATH": sysconfig.get_path("purelib")}  # httpx, which the lock would bring
    command = room / "bin" / "fabricscout"
    found = subprocess.run(
        [command, "--help"], env=needs, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "usage: fabricscout" in found.stdout
    for name in ("httpx", "fabricscout", "json"):  # what stands in the folder is not ours
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a stranger ran')")
    again = subprocess.run(
        [command, "--help"], env=needs, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert again.stdout == found.stdout
    (listed,) = room.glob("lib/python*/site-packages/fabricscout.pth")
    assert listed.read_text(encoding="utf-8") == f"{CLIENT}\n"


def test_what_stands_already_is_not_written_again(tmp_path):
    venv.create(tmp_path / "room")
    offer_command(tmp_path / "room")
    command = tmp_path / "room" / "bin" / "fabricscout"
    before = command.stat().st_mtime_ns
    offer_command(tmp_path / "room")
    assert command.stat().st_mtime_ns == before  # another make, and a user who may only run it
