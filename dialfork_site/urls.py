from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from django.views.i18n import set_language

from dialfork_site import views
from dialfork_site.health import healthz
from dialfork_site.login import admin_login
from dialfork_site.roles import annotator_may_see

admin.site.login = admin_login

urlpatterns = [
    path("", views.home, name="home"),
    path("healthz", healthz, name="healthz"),
    path("language/", annotator_may_see(login_not_required(set_language)), name="set_language"),
    path("profile/", views.profile, name="profile"),
    path("accounts/", include("dialfork_site.account_urls")),
    path("", include("benchmark.urls")),
    path("", include("scoring.urls")),
    path("", include("annotation.urls")),
    path("api/", include("dialfork_site.api_urls")),
    path("admin/", admin.site.urls),
]

handler400 = "dialfork_site.views.bad_request"
handler403 = "dialfork_site.views.forbidden"
handler404 = "dialfork_site.views.not_found"
