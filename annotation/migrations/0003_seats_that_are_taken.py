from django.db import migrations


def mark_taken(apps, schema_editor):
    seats = apps.get_model("annotation", "Seat").objects
    seats.exclude(user=None).update(state="active")
    seats.filter(simulated=True).update(state="active")


class Migration(migrations.Migration):
    """Seats had no state: those with a person, and simulated ones, are in use."""

    dependencies = [("annotation", "0002_people_and_records")]
    operations = [migrations.RunPython(mark_taken, migrations.RunPython.noop)]
