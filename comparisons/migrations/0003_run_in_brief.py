"""Runs say in brief what came of them."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('comparisons', '0002_run_by_itself'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='outline',
            field=models.JSONField(null=True),
        ),
    ]
