-- Kind: contract, serves from 11
--
-- Grants, quotas and tickets may name ListObjects and DeleteObject, and the ledger may record them. Credentials may be
-- key pairs of a CDN, buckets may name the credential that signs links to their CDN, and the ledger may record cookies.
--
-- A gateway of a version before cannot read such a row: it could decide nothing for the row's principal. So rows of
-- that kind are admitted only once no such gateway serves. No row changes here, and none means anything else than
-- before.

ALTER TABLE grants
    DROP CONSTRAINT grants_actions_check,
    ADD CONSTRAINT grants_actions_check CHECK (
        cardinality(actions) > 0 AND actions <@ '{PutObject,GetObject,ListObjects,DeleteObject}'
    );
ALTER TABLE quotas
    DROP CONSTRAINT quotas_action_check,
    ADD CONSTRAINT quotas_action_check CHECK (
        action IN ('PutObject', 'GetObject', 'ListObjects', 'DeleteObject')
    );
ALTER TABLE tickets
    DROP CONSTRAINT tickets_actions_check,
    ADD CONSTRAINT tickets_actions_check CHECK (
        cardinality(actions) > 0 AND actions <@ '{PutObject,GetObject,ListObjects,DeleteObject}'
    );

ALTER TABLE storage_credentials
    DROP CONSTRAINT storage_credentials_kind_check,
    ADD CONSTRAINT storage_credentials_kind_check CHECK (kind IN ('access-key', 'service-account', 'key-pair'));
ALTER TABLE buckets
    DROP CONSTRAINT buckets_cdn_credential_id_check,
    ADD CONSTRAINT buckets_cdn_credential_id_fkey FOREIGN KEY (cdn_credential_id) REFERENCES storage_credentials (id);

-- The index of 0003, with the new actions: two grants that differ only in these are not the same.
DROP INDEX grants_rule_idx;
CREATE UNIQUE INDEX grants_rule_idx ON grants (
    principal, bucket, prefix, effect, ('PutObject' = ANY (actions)), ('GetObject' = ANY (actions)),
    ('ListObjects' = ANY (actions)), ('DeleteObject' = ANY (actions)), (md5(conditions::text)::uuid), not_before,
    not_after
) NULLS NOT DISTINCT WHERE removed_at IS NULL;

-- The rows of the ledger fulfil the wider condition as well, so they are not read. The actions of one link come first:
-- they are compared with most rows.
ALTER DOMAIN issuance_action DROP CONSTRAINT issuance_action_check;
ALTER DOMAIN issuance_action ADD CONSTRAINT issuance_action_check CHECK (
    VALUE IN ('PutObject', 'GetObject', 'ListObjects', 'DeleteObject') OR VALUE IN (
        'PutObject,GetObject', 'PutObject,ListObjects', 'PutObject,DeleteObject', 'GetObject,ListObjects',
        'GetObject,DeleteObject', 'ListObjects,DeleteObject', 'PutObject,GetObject,ListObjects',
        'PutObject,GetObject,DeleteObject', 'PutObject,ListObjects,DeleteObject', 'GetObject,ListObjects,DeleteObject',
        'PutObject,GetObject,ListObjects,DeleteObject'
    )
) NOT VALID;

-- Cookies of a CDN need a key pair, which no gateway of a version before knows.
ALTER DOMAIN issuance_delivery DROP CONSTRAINT issuance_delivery_check;
ALTER DOMAIN issuance_delivery ADD CONSTRAINT issuance_delivery_check CHECK (
    VALUE IN (
        'presigned-url', 'post-policy', 'multipart-start', 'multipart-part', 'multipart-complete', 'redirect', 'sts',
        'remote-signature', 'cdn-cookies'
    )
) NOT VALID;

COMMENT ON DOMAIN issuance_action IS
    'What a credential permits; several actions, in this order, only for a session (sts) or cookies (cdn-cookies).';
COMMENT ON COLUMN issuances.object_key IS 'The key; for a session, cookies or a listing, the prefix.';
