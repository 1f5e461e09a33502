-- Kind: expand
--
-- What may have been deleted with a credential of the gateway, so that quotas go on counting what arrived before.

CREATE TABLE deletions (
    principal text COLLATE "C" NOT NULL,
    issuance_id uuid NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    object_key text COLLATE "C" NOT NULL,
    dead_at timestamptz NOT NULL,
    CONSTRAINT deletions_pkey PRIMARY KEY (principal, issuance_id)
);
CREATE INDEX deletions_bucket_object_key_idx ON deletions (bucket, object_key, dead_at);
CREATE INDEX deletions_dead_at_idx ON deletions (dead_at);

COMMENT ON TABLE deletions IS
    'Credentials that permit deletion, until no reservation can be settled that one of them might concern.';
COMMENT ON COLUMN deletions.object_key IS 'The key; for a session, the prefix below which it may delete.';
COMMENT ON COLUMN deletions.dead_at IS 'When the credential ends, by the later of both clocks.';
