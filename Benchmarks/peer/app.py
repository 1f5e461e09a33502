"""The service that a team would write instead: FastAPI, asyncpg and boto3, one transaction per presigned URL."""

import hashlib
import hmac
import os
import uuid
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, timezone
from typing import Annotated, Literal

import asyncpg
import boto3
from botocore.config import Config
from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import ORJSONResponse
from pydantic import BaseModel, Field

EXPIRES_IN = 900

KEY = "SELECT hash, principal FROM api_keys WHERE prefix = $1"
GRANT = """
    SELECT id FROM grants
    WHERE principal = $1 AND bucket = $2 AND prefix = ANY ($3) AND $4 = ANY (actions)
    ORDER BY length(prefix) DESC LIMIT 1
"""
QUOTA = "SELECT urls_per_day FROM quotas WHERE bucket = $1 AND action = $2"
CHARGE = """
    INSERT INTO quota_usage AS u (principal, bucket, action, day, used)
    VALUES ($1, $2, $3, (now() AT TIME ZONE 'UTC')::date, 1)
    ON CONFLICT (principal, bucket, action, day) DO UPDATE SET used = u.used + 1 WHERE u.used < $4
    RETURNING used
"""
RECORD = """
    INSERT INTO issuances (id, principal, grant_id, action, bucket, object_key, content_type, content_md5, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""


class Wish(BaseModel):
    action: Literal["PutObject", "GetObject"]
    bucket: str
    key: str = Field(min_length=1, max_length=1023)
    contentType: str | None = None
    contentMD5: str | None = None


@asynccontextmanager
async def lifespan(app: FastAPI):
    async with asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=16, max_size=16) as pool:
        app.state.pool = pool
        app.state.stores = {row["name"]: store(row) for row in await pool.fetch("SELECT * FROM buckets")}
        yield


def store(row):
    return boto3.client(
        "s3", endpoint_url=row["endpoint"], region_name=row["region"], aws_access_key_id=row["access_key_id"],
        aws_secret_access_key=row["secret_access_key"],
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))


app = FastAPI(lifespan=lifespan, default_response_class=ORJSONResponse)


async def caller(request: Request, authorization: Annotated[str, Header()]) -> str:
    """Who holds the API key."""
    scheme, _, key = authorization.partition(" ")
    parts = key.split("_", 2)
    if scheme.lower() != "bearer" or len(parts) != 3:
        raise HTTPException(401, "Send an API key.")
    row = await request.app.state.pool.fetchrow(KEY, parts[1])
    if row is None or not hmac.compare_digest(row["hash"], hashlib.sha256(key.encode()).digest()):
        raise HTTPException(401, "The key is not accepted.")
    return row["principal"]


def candidates(key: str) -> list[str]:
    """The prefixes that cover a key: the whole bucket, each folder, the key itself."""
    return ["", *(key[: at + 1] for at, letter in enumerate(key) if letter == "/"), key]


@app.get("/healthz")
async def health():
    return {"status": "ok"}


@app.post("/v1/presigned-urls", status_code=201)
async def issue(wish: Wish, principal: Annotated[str, Depends(caller)], request: Request):
    client = request.app.state.stores.get(wish.bucket)
    if client is None:
        raise HTTPException(403, "Access denied.")
    issuance = uuid.uuid4()
    expires_at = datetime.now(timezone.utc) + timedelta(seconds=EXPIRES_IN)
    async with request.app.state.pool.acquire() as connection, connection.transaction():
        grant = await connection.fetchval(GRANT, principal, wish.bucket, candidates(wish.key), wish.action)
        if grant is None:
            raise HTTPException(403, "Access denied.")
        limit = await connection.fetchval(QUOTA, wish.bucket, wish.action)
        if limit is not None and await connection.fetchval(CHARGE, principal, wish.bucket, wish.action, limit) is None:
            raise HTTPException(429, "Quota exceeded.")
        await connection.execute(
            RECORD, issuance, principal, grant, wish.action, wish.bucket, wish.key, wish.contentType, wish.contentMD5,
            expires_at)
    # Signed only once the row is committed.
    parameters = {"Bucket": wish.bucket, "Key": wish.key}
    headers = {}
    if wish.action == "PutObject":
        for parameter, header, value in (("ContentType", "content-type", wish.contentType),
                                         ("ContentMD5", "content-md5", wish.contentMD5)):
            if value is not None:
                parameters[parameter] = headers[header] = value
    url = client.generate_presigned_url("put_object" if wish.action == "PutObject" else "get_object", parameters,
                                        EXPIRES_IN)
    return {
        "id": str(issuance), "method": "PUT" if wish.action == "PutObject" else "GET", "bucket": wish.bucket,
        "key": wish.key, "url": url, "headers": headers, "expiresAt": expires_at.isoformat(), "expiresIn": EXPIRES_IN,
    }
