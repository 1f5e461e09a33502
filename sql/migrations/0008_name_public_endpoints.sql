-- Kind: expand
--
-- Addresses that links name in place of the one that the gateway calls.

ALTER TABLE buckets
ADD COLUMN public_endpoints jsonb NOT NULL DEFAULT '{}'
CONSTRAINT buckets_public_endpoints_check CHECK (jsonb_typeof(public_endpoints) = 'object');

COMMENT ON COLUMN buckets.public_endpoints IS
    'Addresses of the bucket for links, by name (default, internal, accelerate, cdn), each with url and perhaps addressing.';
