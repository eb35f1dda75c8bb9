from django.urls import path

from annotation.views import exports, items, studies

app_name = "annotation"
urlpatterns = [
    path("items/<token>/", items.item, name="item"),
    path("items/<token>/rate/", items.rate, name="rate"),
    path("items/<token>/instruction/", items.instruction, name="instruction"),
    path("items/<token>/prefix/", items.prefix, name="prefix"),
    path("items/<token>/skip/", items.skip, name="skip"),
    path("help/", items.guidelines, name="guidelines"),
    path("studies/", studies.index, name="studies"),
    path("studies/<slug>/report/", studies.report, name="report"),
    path("studies/<slug>/exports/", exports.index, name="exports"),
    path("studies/<slug>/exports/<int:pk>/delete/", exports.delete, name="export-delete"),
    path("studies/<slug>/exports/<int:pk>/<name>", exports.download, name="export-file"),
]
