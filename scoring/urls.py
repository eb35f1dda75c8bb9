from django.urls import path

from scoring.views import (
    compositions,
    detectors,
    leaderboards,
    new_comparison,
    new_run,
    runs,
    signals,
)

app_name = "scoring"
urlpatterns = [
    path("runs/", runs.runs, name="runs"),
    path("runs/new/", new_run.new_run, name="new-run"),
    path("runs/new/comparison/", new_comparison.new_comparison, name="new-comparison"),
    path("runs/<int:pk>/", runs.run, name="run"),
    path("runs/<int:pk>/cancel/", runs.cancel, name="cancel-run"),
    path("runs/<int:pk>/go-on/", runs.go_on, name="continue-run"),
    path("corpora/<slug:slug>/composition/", compositions.composition, name="composition"),
    path("corpora/<slug:slug>/detectors/", detectors.detectors, name="leaderboard-detectors"),
    path("corpora/<slug:slug>/signals/", signals.signals, name="signals"),
    path("corpora/<slug:slug>/rules/", signals.rules, name="rules"),
    path("leaderboards/", leaderboards.leaderboards, name="leaderboards"),
    path("leaderboards/<slug:slug>/task-<int:task>/", leaderboards.leaderboard, name="leaderboard"),
]
