-- Kind: contract, serves from 12
--
-- Grants, quotas and tickets may name ListObjects and DeleteObject, and the ledger may record them. Credentials may be
-- key pairs of a CDN, buckets may name the credential that signs links to their CDN, and the ledger may record cookies.
--
-- A gateway of a version before cannot read such a row: it could decide nothing for the row's principal. So rows of
-- that kind are admitted only once no such gateway serves. No row changes here, and none means anything else than
-- before. Every row fulfils the narrower condition of before, and so the new one: no table is read.

ALTER TABLE grants
    DROP CONSTRAINT grants_actions_check,
    ADD CONSTRAINT grants_actions_check CHECK (
        cardinality(actions) > 0 AND actions <@ '{PutObject,GetObject,ListObjects,DeleteObject}'
    ) NOT VALID;
ALTER TABLE quotas
    DROP CONSTRAINT quotas_action_check,
    ADD CONSTRAINT quotas_action_check CHECK (
        action IN ('PutObject', 'GetObject', 'ListObjects', 'DeleteObject')
    ) NOT VALID;
ALTER TABLE tickets
    DROP CONSTRAINT tickets_actions_check,
    ADD CONSTRAINT tickets_actions_check CHECK (
        cardinality(actions) > 0 AND actions <@ '{PutObject,GetObject,ListObjects,DeleteObject}'
    ) NOT VALID;

ALTER TABLE storage_credentials
    DROP CONSTRAINT storage_credentials_kind_check,
    ADD CONSTRAINT storage_credentials_kind_check CHECK (kind IN ('access-key', 'service-account', 'key-pair')) NOT VALID;
ALTER TABLE buckets
    DROP CONSTRAINT buckets_cdn_credential_id_check,
    ADD CONSTRAINT buckets_cdn_credential_id_fkey FOREIGN KEY (cdn_credential_id) REFERENCES storage_credentials (id)
        NOT VALID;

-- The index of 0011 takes the place of that of 0003.
DROP INDEX grants_rule_idx;
ALTER INDEX grants_new_rule_idx RENAME TO grants_rule_idx;

-- The actions of one link come first: they are compared with most rows.
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
