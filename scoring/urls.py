from django.urls import path

from scoring.views import runs

app_name = "scoring"
urlpatterns = [
    path("runs/", runs.runs, name="runs"),
    path("runs/<int:pk>/", runs.run, name="run"),
]
