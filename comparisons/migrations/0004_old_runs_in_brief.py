"""Runs that were kept without an outline get theirs.

A run is never changed, so the guard of the first migration is put aside while its outline is
written beside it: the answer itself stays as it was kept. Apart from the new column, which readers
must wait for: of this they see nothing.
"""

from django.db import migrations

ASIDE = "alter table comparisons_run disable trigger comparisons_run_stays"
BACK = "alter table comparisons_run enable trigger comparisons_run_stays"


def fill(apps, schema_editor):
    from comparisons import outline
    from comparisons.changes import changes
    from comparisons.form import read

    Run = apps.get_model('comparisons', 'Run')
    last, of = None, None
    runs = Run.objects.order_by('comparison_id', 'made_at', 'id')
    for run in runs.iterator(chunk_size=1):  # one answer may be of thousands of offers
        if run.comparison_id != of:
            last, of = None, run.comparison_id
        answer = read(run.results)
        found = None if last is None else changes(last, answer)
        Run.objects.filter(pk=run.pk).update(outline=outline.of(answer, found))
        if run.as_of is None:
            last = answer


class Migration(migrations.Migration):

    dependencies = [
        ('comparisons', '0003_run_in_brief'),
    ]

    operations = [
        migrations.RunSQL(ASIDE, BACK),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunSQL(BACK, ASIDE),
    ]
