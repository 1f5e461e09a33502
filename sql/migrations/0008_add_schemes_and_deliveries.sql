-- Buckets at Alibaba OSS and Google Cloud Storage, the signing schemes of both, and more ways for credentials to reach callers.

ALTER TABLE storage_credentials
    ADD COLUMN kind text NOT NULL DEFAULT 'access-key',
    ADD CONSTRAINT storage_credentials_kind_check CHECK (kind IN ('access-key', 'service-account')),
    ADD CONSTRAINT storage_credentials_id_kind_key UNIQUE (id, kind);

-- A scheme signs with one kind of credential; the second reference makes sure that it is given one.
ALTER TABLE buckets
    ADD COLUMN allows_redirects boolean NOT NULL DEFAULT false,
    ADD COLUMN credential_kind text NOT NULL GENERATED ALWAYS AS (
        CASE WHEN scheme IN ('gcs-v4-rsa', 'gcs-v2-rsa') THEN 'service-account' ELSE 'access-key' END
    ) STORED,
    DROP CONSTRAINT buckets_provider_check,
    DROP CONSTRAINT buckets_scheme_check,
    ADD CONSTRAINT buckets_provider_check CHECK (provider IN ('aws', 's3', 'oss', 'gcs')),
    ADD CONSTRAINT buckets_scheme_check CHECK (
        scheme IN ('aws-v4', 'aws-v2', 'oss-v4', 'oss-v1', 'gcs-v4-rsa', 'gcs-v4-hmac', 'gcs-v2-rsa')
    ),
    ADD CONSTRAINT buckets_credential_kind_fkey
        FOREIGN KEY (credential_id, credential_kind) REFERENCES storage_credentials (id, kind);

ALTER TABLE issuances
    DROP CONSTRAINT issuances_delivery_check,
    DROP CONSTRAINT issuances_method_check,
    ADD CONSTRAINT issuances_delivery_check CHECK (
        delivery IN ('presigned-url', 'post-policy', 'multipart-part', 'redirect', 'sts', 'remote-signature')
    ),
    ADD CONSTRAINT issuances_method_check CHECK (method IN ('GET', 'HEAD', 'PUT', 'POST'));
