-- The history of grants outlives their bucket: a bucket can be removed once no live grant names it. Who creates a grant locks
-- the bucket's row FOR KEY SHARE, and who removes the bucket locks it FOR UPDATE before looking for live grants.
ALTER TABLE grants DROP CONSTRAINT grants_bucket_fkey;

-- The templates of a principal, also of one with a great many literal grants.
CREATE INDEX grants_templates_idx ON grants (principal, bucket) WHERE is_template AND removed_at IS NULL;
