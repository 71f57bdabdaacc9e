"""What the tables themselves hold to."""

import pytest
from django.contrib.auth import get_user_model
from django.db import DatabaseError, transaction

from comparisons.models import Comparison, Run, Share, hashed

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison():
    owner = get_user_model().objects.create(username="ada")
    return Comparison.objects.create(owner=owner, name="Q1")


@pytest.fixture
def run(comparison):
    return Run.objects.create(
        comparison=comparison, catalog_version=1, model_version="1", results={"workloads": []}
    )


def test_a_run_once_written_is_not_changed(run):
    run.results = {}
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        run.save()
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Run.objects.update(model_version="2")
    assert Run.objects.get().results["workloads"] == []


def test_runs_and_links_go_with_their_comparison(comparison, run):
    Share.make(comparison)
    comparison.delete()
    assert not Run.objects.exists()
    assert not Share.objects.exists()


def test_a_link_is_kept_as_a_hash_of_192_random_bits(comparison):
    share, token = Share.make(comparison)
    assert len(token) * 6 >= 192
    assert share.token_hash == hashed(token)
    assert token not in str(Share.objects.values().get())
