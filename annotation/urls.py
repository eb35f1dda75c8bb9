from django.urls import path

from annotation import api
from annotation.views import (
    adjudication,
    exports,
    items,
    notices,
    people,
    seats,
    studies,
    study_reports,
)

app_name = "annotation"
urlpatterns = [
    path("items/<token>/", items.item, name="item"),
    path("items/<token>/rate/", items.rate, name="rate"),
    path("items/<token>/instruction/", items.instruction, name="instruction"),
    path("items/<token>/prefix/", items.prefix, name="prefix"),
    path("items/<token>/skip/", items.skip, name="skip"),
    path("items/<token>/problem/", items.problem, name="problem"),
    path("items/<token>/<step>/draft/", api.draft, name="draft"),
    path("items/<token>/<step>/time/", api.time, name="time"),
    path("messages/<int:pk>/read/", notices.message_read, name="message-read"),
    path("signed-in/", notices.signed_in, name="signed-in"),
    path("help/", items.guidelines, name="guidelines"),
    path("studies/", studies.index, name="studies"),
    path("studies/<slug>/report/", study_reports.report, name="report"),
    path("studies/<slug>/report/rows/", study_reports.rows, name="report-rows"),
    path("studies/<slug>/report/<name>.csv", study_reports.table, name="report-table"),
    path("studies/<slug>/exports/", exports.index, name="exports"),
    path("studies/<slug>/exports/<int:pk>/delete/", exports.delete, name="export-delete"),
    path("studies/<slug>/exports/<int:pk>/<name>", exports.download, name="export-file"),
    path("seats/<pseudonym>/", seats.seat, name="seat"),
    path("seats/<pseudonym>/<step>/", seats.act, name="seat-act"),
    path("studies/<slug>/people/", people.index, name="people"),
    path("studies/<slug>/people/pay.csv", people.ledger, name="pay"),
    path("studies/<slug>/people/identities/", people.identities, name="identities"),
    path("studies/<slug>/people/<pseudonym>/", people.person, name="person"),
    path(
        "studies/<slug>/people/<pseudonym>/items/<int:rank>/reopen/", people.reopen, name="reopen"
    ),
    path("studies/<slug>/people/<pseudonym>/<name>/", people.act, name="person-act"),
    path("studies/<slug>/problems/", people.problems, name="problems"),
    path("studies/<slug>/problems/<int:pk>/resolve/", people.resolve, name="resolve"),
    path("studies/<slug>/audit/", people.audit, name="audit"),
    path("studies/<slug>/adjudication/", adjudication.queue, name="adjudication"),
    path("studies/<slug>/adjudication/<int:pk>/", adjudication.adjudicate, name="adjudicate"),
]
