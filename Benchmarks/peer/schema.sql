-- The tables of the peer service: the same facts as the gateway's, as a team would lay them out.

CREATE TABLE api_keys (
    prefix text PRIMARY KEY,
    hash bytea NOT NULL,
    principal text NOT NULL
);

CREATE TABLE buckets (
    name text PRIMARY KEY,
    endpoint text NOT NULL,
    region text NOT NULL,
    access_key_id text NOT NULL,
    secret_access_key text NOT NULL
);

CREATE TABLE grants (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    principal text NOT NULL,
    bucket text NOT NULL REFERENCES buckets (name),
    prefix text NOT NULL,
    actions text[] NOT NULL,
    UNIQUE (principal, bucket, prefix)
);

CREATE TABLE quotas (
    bucket text NOT NULL REFERENCES buckets (name),
    action text NOT NULL,
    urls_per_day bigint NOT NULL,
    PRIMARY KEY (bucket, action)
);

CREATE TABLE quota_usage (
    principal text NOT NULL,
    bucket text NOT NULL,
    action text NOT NULL,
    day date NOT NULL,
    used bigint NOT NULL,
    PRIMARY KEY (principal, bucket, action, day)
);

CREATE TABLE issuances (
    id uuid PRIMARY KEY,
    issued_at timestamptz NOT NULL DEFAULT now(),
    principal text NOT NULL,
    grant_id bigint NOT NULL,
    action text NOT NULL,
    bucket text NOT NULL,
    object_key text NOT NULL,
    content_type text,
    content_md5 text,
    expires_at timestamptz NOT NULL
);
