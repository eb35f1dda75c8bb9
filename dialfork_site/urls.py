from django.contrib import admin
from django.urls import include, path

from dialfork_site import views
from dialfork_site.health import healthz
from dialfork_site.login import admin_login

admin.site.login = admin_login

urlpatterns = [
    path("", views.home, name="home"),
    path("healthz", healthz, name="healthz"),
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
