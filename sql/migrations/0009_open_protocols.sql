-- Kind: expand
--
-- The protocols of other clients that a bucket opens.

ALTER TABLE buckets ADD COLUMN protocols text[] NOT NULL DEFAULT '{}';

COMMENT ON COLUMN buckets.protocols IS
    'Names of the protocols of existing clients by which the bucket issues. A gateway passes over names that it does not know.';
