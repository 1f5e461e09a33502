-- Kind: expand
--
-- The index of 0003 with the actions of 0012: two grants that differ only in these are not the same. It is built here,
-- beside the old one, since whoever records would wait for it in 0012. It refuses nothing that the old one admits,
-- because it has all columns of that and more.

CREATE UNIQUE INDEX grants_new_rule_idx ON grants (
    principal, bucket, prefix, effect, ('PutObject' = ANY (actions)), ('GetObject' = ANY (actions)),
    ('ListObjects' = ANY (actions)), ('DeleteObject' = ANY (actions)), (md5(conditions::text)::uuid), not_before,
    not_after
) NULLS NOT DISTINCT WHERE removed_at IS NULL;
