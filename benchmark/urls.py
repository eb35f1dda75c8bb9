from django.urls import path

from benchmark.views import (
    corpora,
    dialogue_lists,
    dialogue_pages,
    judges,
    prompt_variants,
    prompts,
    run_lists,
    trajectories,
    workflows,
)

app_name = "benchmark"
urlpatterns = [
    path("corpora/", corpora.corpora, name="corpora"),
    path("corpora/<slug:slug>/", corpora.corpus, name="corpus"),
    path("corpora/<slug:slug>/workflows/<str:name>/", workflows.workflow, name="workflow"),
    path("corpora/<slug:slug>/dialogues/", dialogue_lists.dialogues, name="dialogues"),
    path("corpora/<slug:slug>/trajectories/", run_lists.trajectories, name="trajectories"),
    path("dialogues/<int:pk>/", dialogue_pages.dialogue, name="dialogue"),
    path("trajectories/<int:pk>/", trajectories.trajectory, name="trajectory"),
    path("trajectories/<int:pk>/steps/<int:position>/", trajectories.step, name="trajectory-step"),
    path("judges/", judges.judges, name="judges"),
    path("judges/<int:pk>/", judges.judge, name="judge"),
    path("judge-answers/<int:pk>/", judges.answer, name="judge-answer"),
    path("prompts/", prompts.prompts, name="prompts"),
    path("prompts/<slug:name>/<int:version>/", prompts.prompt, name="prompt"),
    path(
        "corpora/<slug:slug>/prompt-variants/",
        prompt_variants.prompt_variants,
        name="prompt-variants",
    ),
]
