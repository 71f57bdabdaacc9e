"""Comparisons, their runs and their links; a run, once written, cannot be changed."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


# What a past run said is what its diff, its print and its readers rest on.
IMMUTABLE = """
create function comparisons_run_stays() returns trigger language plpgsql as $$
begin raise exception 'a run of a comparison is never changed'; end $$;
create trigger comparisons_run_stays before update on comparisons_run
for each row execute function comparisons_run_stays();
"""
MUTABLE = """
drop trigger comparisons_run_stays on comparisons_run;
drop function comparisons_run_stays();
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Comparison',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('notes', models.TextField(blank=True, default='')),
                ('workloads', models.JSONField(default=list)),
                ('filter', models.JSONField(default=dict)),
                ('picks', models.JSONField(default=list)),
                ('objective', models.CharField(max_length=32)),
                ('currency', models.CharField(max_length=3)),
                ('baseline', models.CharField(blank=True, default='', max_length=600)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('owner', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='comparisons', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('as_of', models.DateTimeField(null=True)),
                ('catalog_version', models.BigIntegerField()),
                ('catalog_changed_at', models.DateTimeField(null=True)),
                ('model_version', models.CharField(max_length=64)),
                ('results', models.JSONField()),
                ('comparison', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='comparisons.comparison')),
            ],
            options={
                'ordering': ['-made_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='Share',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('token_hash', models.CharField(editable=False, max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('comparison', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='comparisons.comparison')),
            ],
            options={
                'ordering': ['-created_at', '-id'],
            },
        ),
        migrations.AddIndex(
            model_name='comparison',
            index=models.Index(fields=['owner', '-updated_at'], name='comparison_of_owner'),
        ),
        migrations.AddConstraint(
            model_name='comparison',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='comparison_has_a_name'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['comparison', '-made_at'], name='run_of_comparison'),
        ),
        migrations.RunSQL(IMMUTABLE, MUTABLE),
    ]
