-- Kind: expand
--
-- Addresses that links name in place of the one that the gateway calls, and windows within which links are the same.

ALTER TABLE buckets
ADD COLUMN public_endpoints jsonb NOT NULL DEFAULT '{}',
ADD COLUMN stable_link_window integer NOT NULL DEFAULT 0,
ADD CONSTRAINT buckets_public_endpoints_check CHECK (jsonb_typeof(public_endpoints) = 'object'),
ADD CONSTRAINT buckets_stable_link_window_check CHECK (stable_link_window BETWEEN 0 AND 86400);

COMMENT ON COLUMN buckets.public_endpoints IS
    'Addresses for links by name (default, internal, accelerate, cdn), each with a url and perhaps its addressing.';
COMMENT ON COLUMN buckets.stable_link_window IS
    'Window in seconds within which download links are the same; 0 where each begins when it is issued.';
