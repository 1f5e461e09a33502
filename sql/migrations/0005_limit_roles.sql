-- Kind: contract, serves from 5
--
-- Roles of the admin API may be limited to scopes: buckets, prefixes and principals. Issuers say which values of a
-- claim confer which role.

ALTER TABLE api_keys ADD COLUMN admin_scopes jsonb;
-- An empty array would be no limit for whoever reads it carelessly.
ALTER TABLE api_keys ADD CONSTRAINT api_keys_admin_scopes_check CHECK (
    CASE WHEN jsonb_typeof(admin_scopes) = 'array' THEN jsonb_array_length(admin_scopes) > 0
        ELSE admin_scopes IS NULL END
);
COMMENT ON COLUMN api_keys.admin_scopes IS
    'The scopes to which the roles are limited, each with bucket, prefix and principals. NULL for roles without '
    'limits.';

-- So far the claim's values were the names of the roles themselves.
ALTER TABLE issuers ADD COLUMN roles jsonb NOT NULL DEFAULT '[]';
UPDATE issuers i
SET roles = (
    SELECT jsonb_agg(jsonb_build_object('role', r.role, 'values', jsonb_build_array(r.role)) ORDER BY r.role)
    FROM unnest(i.may_confer_roles) AS r (role)
)
WHERE cardinality(i.may_confer_roles) > 0;
ALTER TABLE issuers ALTER COLUMN roles DROP DEFAULT;
ALTER TABLE issuers DROP COLUMN may_confer_roles;
ALTER TABLE issuers ADD CONSTRAINT issuers_roles_check CHECK (jsonb_typeof(roles) = 'array');
COMMENT ON COLUMN issuers.roles IS
    'Which values of roles_claim confer which role: an array of objects with role, values and adminScopes.';

ALTER TABLE admin_audit ADD COLUMN credential text;
COMMENT ON COLUMN admin_audit.credential IS
    'The credential by which the actor came: issuer:<iss> or apikey:<prefix>. NULL for the bootstrap key, and for '
    'changes of the gateway itself.';

-- An upload is also inside the scope of whoever manages the grant that permitted it.
CREATE OR REPLACE VIEW uploads AS
SELECT i.id, i.issued_at, e.expires_at, i.delivery, i.action, i.method, i.principal, i.bucket, i.object_key,
    i.content_type, i.content_md5, coalesce(i.content_length, m.content_length) AS content_length,
    (d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted')) IS TRUE AS is_dead,
    m.state AS multipart_state, m.etag AS multipart_etag,
    l.finding, l.mismatches, l.source, l.size, l.etag, l.content_type AS found_type, l.found_at,
    t.made_at, t.size AS event_size, t.etag AS event_etag,
    CASE
        WHEN l.finding IN ('landed', 'mismatched', 'unverified') THEN l.finding
        WHEN m.state = 'completed' OR t.made_at IS NOT NULL THEN 'landed'
        WHEN d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted') THEN 'expired'
        ELSE 'issued'
    END AS state,
    i.matched_principal
FROM issuances i
LEFT JOIN multipart_uploads m ON m.id = i.id AND i.delivery = 'multipart-start'
CROSS JOIN LATERAL (SELECT coalesce(m.expires_at, i.expires_at) AS expires_at) e
-- By the later of both clocks, that of the gateway and the database's own.
CROSS JOIN LATERAL (SELECT greatest(e.expires_at, i.issued_at + (e.expires_at - uuid_instant(i.id))) AS dead_at) d
LEFT JOIN landings l ON l.issuance_id = i.id
-- Clocks may differ by half a minute, and an upload may end a quarter of an hour after its link.
LEFT JOIN LATERAL (
    SELECT s.made_at, s.size, s.etag
    FROM store_events s
    WHERE s.bucket = i.bucket AND s.object_key = i.object_key AND s.made_at > i.issued_at - interval '30 seconds'
        AND s.made_at < d.dead_at + interval '15 minutes'
    ORDER BY s.made_at DESC LIMIT 1
) t ON true;
