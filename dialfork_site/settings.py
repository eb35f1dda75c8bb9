"""One settings file. Everything that differs between installations comes from the environment."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from csp.constants import NONE, SELF

from dialfork_site import __version__
from dialfork_site.environment import LEVELS, Environment, make_folder, origin_and_path

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment(BASE_DIR / ".env")

DEBUG = env.yes_or_no("DEBUG")
SECRET_KEY = env.text("SECRET_KEY", "")
# The check dialfork.E001 refuses to start without a key; Django itself would only fail with a
# traceback, so it gets a key that lasts as long as the process.
SECRET_KEY_MISSING = not SECRET_KEY and not DEBUG
SECRET_KEY = SECRET_KEY or ("debug-only-key" if DEBUG else secrets.token_urlsafe(50))
PUBLIC_URL = env.text("PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
ALLOWED_HOSTS = env.names("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
# Below a path, such as https://example.org/fork: addresses begin with it, and cookies stay there.
PUBLIC_ORIGIN, PUBLIC_PATH = origin_and_path(PUBLIC_URL)
FORCE_SCRIPT_NAME = PUBLIC_PATH or None
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = LANGUAGE_COOKIE_PATH = PUBLIC_PATH or "/"
CSRF_TRUSTED_ORIGINS = [PUBLIC_ORIGIN]
CSRF_FAILURE_VIEW = "dialfork_site.views.form_refused"
VAR_DIR = env.folder("VAR_DIR", BASE_DIR / "var")
DEMO = env.yes_or_no("DEMO")
# How many reverse proxies of our own stand in front and append to X-Forwarded-For.
TRUSTED_PROXIES = env.whole("TRUSTED_PROXIES", 0, lowest=0)
# Only a proxy of our own is believed when it says that the visitor came by https.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "dialfork_site",
    "benchmark",
    "scoring",
    "annotation",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "dialfork_site.nul_bytes.NoNulBytes",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "dialfork_site.roles.AnnotatorGate",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dialfork_site.encoder_guard.NoEncoderLoading",
]

ROOT_URLCONF = "dialfork_site.urls"
WSGI_APPLICATION = "dialfork_site.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dialfork_site.context.shell",
            ],
        },
    },
]

DATABASES = {"default": env.database("DATABASE_URL", f"sqlite:///{VAR_DIR / 'dialfork.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
    }
    # A file, not memory: threads of the tests that race for a row need one database.
    DATABASES["default"]["TEST"] = {
        "NAME": env.text("TEST_SQLITE", str(VAR_DIR / f"test-{os.getpid()}.sqlite3"))
    }
    make_folder(Path(DATABASES["default"]["NAME"]).parent, "The folder of DATABASE_URL")
    make_folder(Path(DATABASES["default"]["TEST"]["NAME"]).parent, "The folder of TEST_SQLITE")
else:
    # A thread of the server keeps its connection: making one costs as much as a save. It is tried
    # before use, so that a restart of the database is not seen.
    DATABASES["default"] |= {"CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("es", "Español"), ("de", "Deutsch"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
# Numbers look the same in every language, as they do in files.
FORMAT_MODULE_PATH = ["dialfork_site.number_formats"]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = f"{PUBLIC_PATH}/static/"
STATIC_ROOT = env.folder("STATIC_DIR", VAR_DIR / "static")
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "dialfork_site.static_finders.PlotlyFinder",
]
WHITENOISE_USE_FINDERS = True

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC_URL.startswith("https://")
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# No inline script or style anywhere. blob: is for the PNG export of charts.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "img-src": [SELF, "blob:"],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["dialfork_site.roles.IsResearcher"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "STRICT_JSON": True,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "DialFork",
    "DESCRIPTION": (
        "Workflows, dialogues, forks, trajectories and runs, to read; and runs, to start. "
        "Nothing else can be written."
    ),
    "VERSION": __version__,
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["dialfork_site.roles.IsResearcher"],
}

# memory:// means embedded: the worker's threads live inside the serving process.
CELERY_BROKER_URL = env.broker("BROKER_URL", "memory://")
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {"polling_interval": 0.05}
    if CELERY_BROKER_URL.startswith("memory")
    else {
        "visibility_timeout": 3600,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
    }
)

# "wordllama", "lexical", or the name of a registered sentence-transformers encoder.
ENCODER = env.text("ENCODER", "wordllama")
# How vectors are stored from now on; the revision they are kept under says which it was.
VECTOR_PRECISION = env.one_of("VECTOR_PRECISION", "float32", ("FLOAT32", "FLOAT16")).lower()
# Hosts of one's own network that webhooks may reach; every other host must be a public one.
WEBHOOK_PRIVATE_HOSTS = [
    host.lower().rstrip(".") for host in env.names("WEBHOOK_PRIVATE_HOSTS", [])
]
CHUNK_LEASE_SECONDS = env.whole("CHUNK_LEASE_SECONDS", 120, lowest=1)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.one_of("LOG_LEVEL", "WARNING", LEVELS)},
    # Warnings that nobody has to act on: memory:// names no host, and a page that is not there.
    "loggers": {"kombu.connection": {"level": "ERROR"}, "django.request": {"level": "ERROR"}},
}
