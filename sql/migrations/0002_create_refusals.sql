-- Kind: expand
--
-- Single refusals, for admins who are told the identifier of a request.

CREATE TABLE refusals (
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    request_id text COLLATE "C" NOT NULL,
    refused_at timestamptz NOT NULL,
    method text NOT NULL,
    route text NOT NULL,
    status smallint NOT NULL,
    code text NOT NULL,
    reason text NOT NULL,
    subject text,
    principal text COLLATE "C",
    source_address inet,
    bucket text COLLATE "C",
    action text,
    key_prefix text COLLATE "C",
    key_sha256 bytea,
    grant_id uuid,
    CONSTRAINT refusals_pkey PRIMARY KEY (ordinal),
    CONSTRAINT refusals_size_check CHECK (
        octet_length(request_id) <= 64 AND octet_length(route) <= 256 AND octet_length(subject) <= 256
        AND octet_length(key_prefix) <= 128
    ),
    CONSTRAINT refusals_key_check CHECK (
        (bucket IS NULL) = (key_prefix IS NULL) AND (bucket IS NULL) = (key_sha256 IS NULL)
        AND octet_length(key_sha256) = 32
    )
);
CREATE INDEX refusals_request_id_idx ON refusals (request_id);

COMMENT ON TABLE refusals IS
    'Single refusals, sampled and bounded; denials has the full counts. Gateways add rows with record_refusals, and '
    'prune_refusals removes old ones.';
COMMENT ON COLUMN refusals.ordinal IS 'The order in which rows were added.';
COMMENT ON COLUMN refusals.refused_at IS 'When the request was refused, by the gateway''s clock.';
COMMENT ON COLUMN refusals.route IS 'The template of the path, never the path.';
COMMENT ON COLUMN refusals.reason IS 'One word; see RefusalReason.';
COMMENT ON COLUMN refusals.subject IS
    'What the reason concerns, such as a condition, an issuer or the prefix of an API key. Never a token.';
COMMENT ON COLUMN refusals.principal IS 'NULL where the caller was not authenticated.';
COMMENT ON COLUMN refusals.bucket IS 'The bucket that was named, which need not exist.';
COMMENT ON COLUMN refusals.key_prefix IS 'The folder of the key, without its last segment.';
COMMENT ON COLUMN refusals.key_sha256 IS 'SHA-256 of the whole key, not keyed: whoever knows the key can find it.';
COMMENT ON COLUMN refusals.grant_id IS 'The grant that denied, or whose condition failed.';

CREATE TABLE refusal_gaps (
    minute timestamptz NOT NULL,
    dropped bigint NOT NULL,
    CONSTRAINT refusal_gaps_pkey PRIMARY KEY (minute),
    CONSTRAINT refusal_gaps_dropped_check CHECK (dropped > 0)
);

COMMENT ON TABLE refusal_gaps IS 'How many refusals of each minute were not kept, by all gateways.';
