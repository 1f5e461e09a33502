-- Kind: expand
--
-- Bytes that landed, summed up by the minute in which their links were issued; sums by the hour and by the day for each
-- caller and grant; and when each grant was last used.

CREATE TABLE landed_uploads (
    issuance_id uuid NOT NULL,
    bytes bigint,
    CONSTRAINT landed_uploads_pkey PRIMARY KEY (issuance_id)
);

COMMENT ON TABLE landed_uploads IS 'Uploads that landed, and what landing_sums hold of each.';
COMMENT ON COLUMN landed_uploads.bytes IS 'NULL where the size is not known.';

-- What a link's upload landed is a column of its own, so that lists and sums tell the same. Reports of stores and
-- uploads in parts are kept for some days only; what they told is in landed_uploads.
CREATE OR REPLACE VIEW uploads AS
SELECT i.id, i.issued_at, e.expires_at, i.delivery, i.action, i.method, i.principal, i.bucket, i.object_key,
    i.content_type, i.content_md5, coalesce(i.content_length, m.content_length) AS content_length,
    (d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted')) IS TRUE AS is_dead,
    m.state AS multipart_state, m.etag AS multipart_etag,
    l.finding, l.mismatches, l.source, l.size, l.etag, l.content_type AS found_type, l.found_at,
    t.made_at, t.size AS event_size, t.etag AS event_etag,
    CASE
        WHEN l.finding IN ('landed', 'mismatched', 'unverified') THEN l.finding
        WHEN m.state = 'completed' OR t.made_at IS NOT NULL OR k.issuance_id IS NOT NULL THEN 'landed'
        WHEN d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted') THEN 'expired'
        ELSE 'issued'
    END AS state,
    i.matched_principal, i.grant_id, i.credential_id,
    -- Parts are left out, as are requests that start or complete an upload in parts by another delivery.
    i.action = 'PutObject' AND (
        i.delivery IN ('presigned-url', 'post-policy', 'multipart-start')
        OR i.delivery = 'remote-signature' AND i.method = 'PUT'
    ) AS is_upload,
    CASE
        WHEN l.finding IN ('landed', 'mismatched', 'unverified') THEN coalesce(l.size, t.size, p.bytes)
        WHEN m.state = 'completed' OR t.made_at IS NOT NULL OR k.issuance_id IS NOT NULL
            THEN coalesce(t.size, p.bytes, k.bytes)
    END AS landed_bytes,
    -- An attempt to complete it that an abort overtook may still have made the object.
    (
        m.state IN ('starting', 'open') OR m.state = 'aborting' AND m.part_numbers = '{}'
        OR m.state = 'aborted' AND NOT m.may_be_complete
    ) IS TRUE AS is_uncompleted
FROM issuances i
LEFT JOIN multipart_uploads m ON m.id = i.id AND i.delivery = 'multipart-start'
CROSS JOIN LATERAL (SELECT coalesce(m.expires_at, i.expires_at) AS expires_at) e
-- By the later of both clocks, that of the gateway and the database's own.
CROSS JOIN LATERAL (SELECT greatest(e.expires_at, i.issued_at + (e.expires_at - uuid_instant(i.id))) AS dead_at) d
LEFT JOIN landings l ON l.issuance_id = i.id
LEFT JOIN landed_uploads k ON k.issuance_id = i.id AND l.issuance_id IS NULL
-- A link is on record before anybody has it: what was reported earlier, by the same clock, another upload made. The
-- store's clock may differ by half a minute, and an upload may end a quarter of an hour after its link. The gateway
-- itself completes uploads in parts, and knows the object by its entity tag. Other reports are about another upload or,
-- at old releases of Ceph, about a part.
LEFT JOIN LATERAL (
    SELECT s.made_at, s.size, s.etag
    FROM store_events s
    WHERE s.bucket = i.bucket AND s.object_key = i.object_key AND s.received_at >= i.issued_at
        AND s.made_at > i.issued_at - interval '30 seconds' AND s.made_at < d.dead_at + interval '15 minutes'
        AND (m.id IS NULL OR m.state = 'completed' AND lower(s.etag) = lower(m.etag))
    ORDER BY s.made_at DESC LIMIT 1
) t ON true
-- The parts of a completed upload, where the links of each bound one length.
LEFT JOIN LATERAL (
    SELECT CASE WHEN bool_and(n.is_bound) THEN sum(n.length) END::bigint AS bytes
    FROM (
        SELECT min(q.content_length) AS length,
            coalesce(count(q.content_length) = count(*) AND min(q.content_length) = max(q.content_length), false)
                AS is_bound
        FROM unnest(m.part_numbers) AS c (number)
        LEFT JOIN multipart_parts q ON q.upload_id = m.id AND q.part_number = c.number
        GROUP BY c.number
    ) n
) p ON m.state = 'completed';

COMMENT ON COLUMN uploads.is_upload IS 'Whether the issuance permits to make one whole object.';
COMMENT ON COLUMN uploads.landed_bytes IS
    'The size of the object that landed, as the gateway or the store told, or as the parts'' links bind; NULL where '
    'nothing landed or the size is unknown.';
COMMENT ON COLUMN uploads.is_uncompleted IS
    'Whether the issuance is an upload in parts of which there certainly is no object: what lies there is another''s.';

CREATE TABLE landing_changes (
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    issuance_id uuid,
    bucket text COLLATE "C",
    object_key text COLLATE "C",
    made_at timestamptz,
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT landing_changes_pkey PRIMARY KEY (ordinal),
    CONSTRAINT landing_changes_check CHECK (
        num_nulls(bucket, object_key, made_at) = CASE WHEN issuance_id IS NULL THEN 0 ELSE 3 END
    )
);
-- Events wait longer than the rest.
CREATE INDEX landing_changes_events_idx ON landing_changes (ordinal) WHERE issuance_id IS NULL;
CREATE INDEX landing_changes_uploads_idx ON landing_changes (ordinal) WHERE issuance_id IS NOT NULL;

COMMENT ON TABLE landing_changes IS
    'What sum_landings has to look at: uploads of which something was found, and objects that stores reported.';

CREATE TABLE landing_sums (
    minute timestamptz NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    bytes numeric NOT NULL,
    CONSTRAINT landing_sums_pkey PRIMARY KEY (minute, bucket, action, delivery, credential_id)
) WITH (fillfactor = 70);

COMMENT ON TABLE landing_sums IS
    'The bytes that landed of the uploads that were issued in a minute, summed up by sum_landings.';

CREATE TABLE caller_sums (
    hour timestamptz NOT NULL,
    principal text COLLATE "C" NOT NULL,
    matched_principal text COLLATE "C" NOT NULL,
    grant_id uuid NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    byte_quotas uuid[] NOT NULL,
    urls bigint NOT NULL,
    bytes_bound numeric,
    bytes_reserved numeric,
    first_key text COLLATE "C" NOT NULL,
    last_key text COLLATE "C" NOT NULL,
    last_issued_at timestamptz NOT NULL,
    last_expires_at timestamptz NOT NULL
);
CREATE INDEX caller_sums_hour_idx ON caller_sums (hour);
CREATE INDEX caller_sums_principal_idx ON caller_sums (principal, hour);
CREATE INDEX caller_sums_grant_id_idx ON caller_sums (grant_id, hour);
-- What callers got by grants to their groups, and to *.
CREATE INDEX caller_sums_matched_idx ON caller_sums (matched_principal, hour) WHERE matched_principal <> principal;

COMMENT ON TABLE caller_sums IS 'What was issued in an hour to each caller by each grant, summed up by sum_callers.';
COMMENT ON COLUMN caller_sums.first_key IS 'The least of the keys, in the order of bytes.';
COMMENT ON COLUMN caller_sums.last_key IS 'The greatest of them.';
COMMENT ON COLUMN caller_sums.last_expires_at IS 'When the last of the credentials ends, by the gateway''s clock.';

CREATE TABLE summed_hours (
    starts_at timestamptz NOT NULL,
    CONSTRAINT summed_hours_pkey PRIMARY KEY (starts_at)
);

COMMENT ON TABLE summed_hours IS 'The hours whose rows are all in caller_sums.';

CREATE TABLE caller_days (
    day timestamptz NOT NULL,
    principal text COLLATE "C" NOT NULL,
    matched_principal text COLLATE "C" NOT NULL,
    grant_id uuid NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    byte_quotas uuid[] NOT NULL,
    urls bigint NOT NULL,
    bytes_bound numeric,
    bytes_reserved numeric
);
CREATE INDEX caller_days_day_idx ON caller_days (day);
CREATE INDEX caller_days_principal_idx ON caller_days (principal, day);
CREATE INDEX caller_days_grant_id_idx ON caller_days (grant_id, day);
CREATE INDEX caller_days_matched_idx ON caller_days (matched_principal, day) WHERE matched_principal <> principal;

COMMENT ON TABLE caller_days IS 'The sums of caller_sums by the day (UTC), of days whose hours are all summed up.';

CREATE TABLE summed_caller_days (
    starts_at timestamptz NOT NULL,
    CONSTRAINT summed_caller_days_pkey PRIMARY KEY (starts_at)
);

COMMENT ON TABLE summed_caller_days IS 'The days whose rows are all in caller_days.';

CREATE TABLE grant_uses (
    grant_id uuid NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    last_issued_at timestamptz NOT NULL,
    CONSTRAINT grant_uses_pkey PRIMARY KEY (grant_id, bucket)
) WITH (fillfactor = 70);

COMMENT ON TABLE grant_uses IS
    'When each grant last decided, in the hours that sum_callers has summed up and that the ledger still has.';

CREATE TABLE caller_landings (
    hour timestamptz NOT NULL,
    principal text COLLATE "C" NOT NULL,
    matched_principal text COLLATE "C" NOT NULL,
    grant_id uuid NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    bytes numeric NOT NULL,
    CONSTRAINT caller_landings_pkey PRIMARY KEY (
        principal, hour, grant_id, matched_principal, bucket, action, delivery, credential_id
    )
) WITH (fillfactor = 70);
CREATE INDEX caller_landings_hour_idx ON caller_landings (hour);
CREATE INDEX caller_landings_grant_id_idx ON caller_landings (grant_id, hour);
CREATE INDEX caller_landings_matched_idx ON caller_landings (matched_principal, hour)
WHERE matched_principal <> principal;

COMMENT ON TABLE caller_landings IS
    'The bytes that landed of the uploads that were issued in an hour to each caller by each grant, summed up by '
    'sum_landings.';

CREATE TABLE caller_landing_days (
    day timestamptz NOT NULL,
    principal text COLLATE "C" NOT NULL,
    matched_principal text COLLATE "C" NOT NULL,
    grant_id uuid NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    bytes numeric NOT NULL,
    CONSTRAINT caller_landing_days_pkey PRIMARY KEY (
        principal, day, grant_id, matched_principal, bucket, action, delivery, credential_id
    )
) WITH (fillfactor = 70);
CREATE INDEX caller_landing_days_day_idx ON caller_landing_days (day);
CREATE INDEX caller_landing_days_grant_id_idx ON caller_landing_days (grant_id, day);
CREATE INDEX caller_landing_days_matched_idx ON caller_landing_days (matched_principal, day)
WHERE matched_principal <> principal;

COMMENT ON TABLE caller_landing_days IS 'The sums of caller_landings by the day (UTC).';

CREATE INDEX landings_finding_idx ON landings (finding, issuance_id) WHERE finding IN ('mismatched', 'unverified');

-- What admins did with the grants of one principal.
CREATE INDEX admin_audit_principal_idx ON admin_audit ((coalesce(after, before) ->> 'principal'), id)
WHERE kind = 'Grant';
CREATE INDEX admin_audit_operation_idx ON admin_audit (operation, id);

INSERT INTO landing_changes (issuance_id) SELECT l.issuance_id FROM landings l WHERE l.finding <> 'absent';
INSERT INTO landing_changes (issuance_id) SELECT m.id FROM multipart_uploads m WHERE m.state = 'completed';
INSERT INTO landing_changes (bucket, object_key, made_at)
SELECT s.bucket, s.object_key, s.made_at FROM store_events s;
