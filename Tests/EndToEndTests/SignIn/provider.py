"""An OpenID provider on loopback, for tests of the console's sign-in.

    provider.py [--bare] [--origin ORIGIN ...]

It is oidc-provider-mock, which accepts every user and every client that has a secret. This file adds what browsers
need: clients without a secret, PKCE, which it demands (RFC 7636), permission for pages of the origins to read its
answers, and the issuer's name in its answers (RFC 9207). The origin `*` stands for all. `--bare` leaves all this out.
The first line of output is the provider's name.
"""

import argparse
import base64
import hashlib
import os
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

import flask
import oidc_provider_mock
import oidc_provider_mock._app
import werkzeug.serving


def complete(app: flask.Flask, origins: list[str]) -> None:
    """Adds public clients, PKCE, cross-origin answers and the issuer's name."""
    oidc_provider_mock._app.AuthorizationCodeGrant.TOKEN_ENDPOINT_AUTH_METHODS = ["none"]
    challenges: dict[str, str] = {}

    def name() -> str:
        return flask.request.host_url.rstrip("/")

    @app.before_request
    def refuse():
        request = flask.request
        if request.path == "/oauth2/authorize" and request.args.get("code_challenge_method") != "S256":
            return {"error": "invalid_request", "error_description": "PKCE with S256 is required"}, 400
        if request.path != "/oauth2/token":
            return None
        if request.method == "OPTIONS":
            return "", 204
        digest = hashlib.sha256(request.form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if challenges.pop(request.form.get("code", ""), None) != challenge:
            return {"error": "invalid_grant"}, 400
        return None

    @app.after_request
    def add(response: flask.Response) -> flask.Response:
        request = flask.request
        origin = request.headers.get("Origin")
        if origin and (origin in origins or "*" in origins) and request.path != "/oauth2/authorize":
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Vary"] = "Origin"
        if request.path == "/oauth2/authorize" and response.status_code == 302:
            target = urlsplit(response.headers["Location"])
            answer = parse_qs(target.query)
            if "code" in answer:
                challenges[answer["code"][0]] = request.args["code_challenge"]
            answer["iss"] = [name()]
            response.headers["Location"] = urlunsplit(target._replace(query=urlencode(answer, doseq=True)))
        if request.path == "/.well-known/openid-configuration":
            document = response.get_json()
            document["code_challenge_methods_supported"] = ["S256"]
            document["token_endpoint_auth_methods_supported"] = ["none"]
            document["authorization_response_iss_parameter_supported"] = True
            response.set_data(flask.json.dumps(document))
        return response


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--origin", action="append", default=[])
    options = parser.parse_args()
    app = oidc_provider_mock.app()
    if not options.bare:
        complete(app, options.origin)
    server = werkzeug.serving.make_server("127.0.0.1", 0, app, threaded=True)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


main()
