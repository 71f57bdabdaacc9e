"""A watch says why its comparison cannot be run."""


from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('watches', '0001_watches'),
    ]

    operations = [
        migrations.AddField(
            model_name='watch',
            name='trouble',
            field=models.CharField(blank=True, db_default='', default='', max_length=500),
        ),
    ]
