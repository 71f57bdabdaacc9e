"""Runs say whether somebody asked for them, or the market moved."""


from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('comparisons', '0001_comparisons'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='by_itself',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
