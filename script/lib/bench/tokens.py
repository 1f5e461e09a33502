"""An issuer of JWTs (RS256) and a token for every caller, made with openssl."""

import base64
import json
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

ISSUER = "https://id.example"
AUDIENCE = "sluice"


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Issuer:
    def __init__(self, directory):
        self.key = directory / "issuer.pem"
        _openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", str(self.key))

    def row(self):
        """What the gateway has to know of the issuer."""
        modulus = re.search(rb"Modulus=([0-9A-F]+)", _openssl("rsa", "-in", str(self.key), "-noout", "-modulus"))
        return {
            "issuer": ISSUER, "audiences": [AUDIENCE], "algorithms": ["RS256"], "principalPrefix": "", "groupPrefix": "",
            "keys": {"inline": {"keys": [{
                "kty": "RSA", "kid": "bench", "alg": "RS256", "use": "sig", "e": "AQAB",
                "n": encoded(bytes.fromhex(modulus.group(1).decode())),
            }]}},
        }

    def tokens(self, callers):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(self._token, callers))

    def _token(self, caller):
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": caller.name, "exp": int(time.time()) + 86400}
        signed = ".".join(encoded(json.dumps(part).encode())
                          for part in ({"alg": "RS256", "typ": "JWT", "kid": "bench"}, claims))
        return f"{signed}.{encoded(_openssl('dgst', '-sha256', '-sign', str(self.key), input=signed.encode()))}"


def _openssl(*arguments, input=None):
    return subprocess.run(["openssl", *arguments], input=input, capture_output=True, check=True).stdout
