"""The dashboard: a page, its style and scripts, and the session of who looks at it."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from efface.charts.themes import DARK, LIGHT, css_variables
from efface.service.access import (
    GuardedRoute,
    answer,
    authenticated,
    needs,
    read_body,
    refuse_foreign_origin,
)
from efface.service.bodies import SignIn
from efface.service.documents import described_body
from efface.service.problems import RefusedRequest

_ASSETS = {
    "charts.js": "text/javascript",
    "dashboard.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
router = APIRouter(route_class=GuardedRoute)


@router.get("/", include_in_schema=False)
@needs(open_to_all=True)
async def page(request: Request) -> Response:
    """The page; it shows nothing before a sign-in."""
    return Response(_asset("dashboard.html"), media_type="text/html")


@router.get("/assets/{file}", include_in_schema=False)
@needs(open_to_all=True)
async def asset(request: Request) -> Response:
    """The style and the scripts of the page."""
    name = request.path_params["file"]
    if name == "style.css":
        return Response(style(), media_type="text/css")
    if name not in _ASSETS:
        raise RefusedRequest(404, "There is no such file.")
    return Response(_asset(name), media_type=_ASSETS[name])


@router.get("/session", include_in_schema=False)
@needs(open_to_all=True)
async def show_session(request: Request) -> Response:
    """The roles of who is signed in."""
    token = authenticated(request)
    return answer({"roles": [] if token is None else list(token.roles)})


@router.post("/session", include_in_schema=False, openapi_extra=described_body(SignIn))
@needs(open_to_all=True)
async def sign_in(request: Request) -> Response:
    """Start a session with a token."""
    refuse_foreign_origin(request)
    body, service = await read_body(request, SignIn, 4_096), request.app.state.service
    token = service.tokens.find(body.token.strip())
    if token is None:
        raise RefusedRequest(401, "This is no valid token: make one with 'efface token create'.")
    cookie = service.sessions.header(service.sessions.open(token))
    return answer({"roles": list(token.roles)}, headers={"set-cookie": cookie})


@router.delete("/session", include_in_schema=False)
@needs(open_to_all=True)
async def sign_out(request: Request) -> Response:
    """End a session."""
    refuse_foreign_origin(request)
    sessions = request.app.state.service.sessions
    sessions.close(request.cookies.get(sessions.cookie, ""))
    return answer({"roles": []}, headers={"set-cookie": sessions.header("")})


def style() -> str:
    """The style of the report, its colours, and what the dashboard adds."""
    shared = files("efface.charts").joinpath("assets", "style.css").read_text("utf-8")
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {css_variables(DARK)} }} }}\n"
    light = f":root {{ color-scheme: light dark; {css_variables(LIGHT)} }}\n"
    return light + dark + shared + _asset("dashboard.css")


def _asset(name: str) -> str:
    return files("efface.service").joinpath("assets", name).read_text("utf-8")
