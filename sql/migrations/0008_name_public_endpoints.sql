-- Kind: expand
--
-- Addresses that links name in place of the one that the gateway calls, and windows within which links are the same.
-- The credential of a CDN waits for 0012, where its foreign key is.

ALTER TABLE buckets
ADD COLUMN public_endpoints jsonb NOT NULL DEFAULT '{}',
ADD COLUMN cdn_credential_id uuid,
ADD COLUMN stable_link_window integer NOT NULL DEFAULT 0,
ADD CONSTRAINT buckets_public_endpoints_check CHECK (jsonb_typeof(public_endpoints) = 'object'),
ADD CONSTRAINT buckets_cdn_credential_id_check CHECK (cdn_credential_id IS NULL),
ADD CONSTRAINT buckets_cdn_credential_fit_check CHECK (
    cdn_credential_id::text IS NOT DISTINCT FROM public_endpoints #>> '{cdn,signing,credentialID}'
),
ADD CONSTRAINT buckets_stable_link_window_check CHECK (stable_link_window BETWEEN 0 AND 86400);

COMMENT ON COLUMN buckets.public_endpoints IS
    'Addresses for links by name (default, internal, accelerate, cdn), each with a url and perhaps its addressing; of cdn perhaps how its links are signed.';
COMMENT ON COLUMN buckets.cdn_credential_id IS
    'The credential that signs links to the CDN, as public_endpoints names it; a foreign key makes sure that it exists.';
COMMENT ON COLUMN buckets.stable_link_window IS
    'Window in seconds within which download links are the same; 0 where each begins when it is issued.';
