-- Stores that obey unsigned headers, SHA-256 that cannot be known, and callbacks of Alibaba OSS.

ALTER TABLE buckets
    -- Whether the store obeys headers of its own that a signature does not list.
    ADD COLUMN honours_unsigned_headers boolean DEFAULT false NOT NULL,
    -- What OSS calls when an upload by a link is complete, base64 of JSON, and the variables of that call.
    ADD COLUMN callback text,
    ADD COLUMN callback_var text,
    ADD CONSTRAINT buckets_callback_check CHECK (
        (provider = 'oss' OR callback IS NULL) AND (callback IS NOT NULL OR callback_var IS NULL)
    );

-- MD5 of 16 bytes, SHA-256 of 32, or both in this order; one byte more behind a SHA-256 that the signature holds for.
ALTER DOMAIN md5_digest DROP CONSTRAINT md5_digest_check;
ALTER DOMAIN md5_digest ADD CONSTRAINT md5_digest_check CHECK (octet_length(VALUE) IN (16, 32, 33, 48, 49)) NOT VALID;

ALTER TABLE landings
    DROP CONSTRAINT landings_finding_check,
    DROP CONSTRAINT landings_mismatches_check,
    ADD CONSTRAINT landings_finding_check CHECK (finding IN ('absent', 'landed', 'mismatched', 'unverified')),
    ADD CONSTRAINT landings_mismatches_check CHECK (
        mismatches <@ '{size,md5,sha256,type}' AND (cardinality(mismatches) > 0) = (finding = 'mismatched')
    );

-- What tells a callback from others, which say no time: the identifier of the store's request, or the hash of what was said.
ALTER TABLE store_events ADD COLUMN callback_id text COLLATE "C";
CREATE UNIQUE INDEX store_events_callback_idx ON store_events (bucket, object_key, callback_id)
    WHERE callback_id IS NOT NULL;

CREATE OR REPLACE VIEW uploads AS
SELECT i.id, i.issued_at, e.expires_at, i.delivery, i.action, i.method, i.principal, i.bucket, i.object_key, i.content_type,
    i.content_md5, coalesce(i.content_length, m.content_length) AS content_length,
    (d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted')) IS TRUE AS is_dead,
    m.state AS multipart_state, m.etag AS multipart_etag,
    l.finding, l.mismatches, l.source, l.size, l.etag, l.content_type AS found_type, l.found_at,
    t.made_at, t.size AS event_size, t.etag AS event_etag,
    CASE
        WHEN l.finding IN ('landed', 'mismatched', 'unverified') THEN l.finding
        WHEN m.state = 'completed' OR t.made_at IS NOT NULL THEN 'landed'
        WHEN d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted') THEN 'expired'
        ELSE 'issued'
    END AS state
FROM issuances i
LEFT JOIN multipart_uploads m ON m.id = i.id AND i.delivery = 'multipart-start'
CROSS JOIN LATERAL (SELECT coalesce(m.expires_at, i.expires_at) AS expires_at) e
CROSS JOIN LATERAL (SELECT greatest(e.expires_at, i.issued_at + (e.expires_at - uuid_instant(i.id))) AS dead_at) d
LEFT JOIN landings l ON l.issuance_id = i.id
LEFT JOIN LATERAL (
    SELECT s.made_at, s.size, s.etag
    FROM store_events s
    WHERE s.bucket = i.bucket AND s.object_key = i.object_key AND s.made_at > i.issued_at - interval '30 seconds'
        AND s.made_at < d.dead_at + interval '15 minutes'
    ORDER BY s.made_at DESC LIMIT 1
) t ON true;
