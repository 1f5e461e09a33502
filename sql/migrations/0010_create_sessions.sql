-- Sessions at security token services.

-- The role that a credential assumes, as JSON; NULL where it opens no sessions.
ALTER TABLE storage_credentials ADD COLUMN session_role jsonb;

-- A session may permit two actions, and binds no method; the prefix stands in the place of the key.
ALTER TABLE issuances
    DROP CONSTRAINT issuances_action_check,
    DROP CONSTRAINT issuances_method_check,
    ADD CONSTRAINT issuances_action_check CHECK (
        action IN ('PutObject', 'GetObject') OR (action = 'PutObject,GetObject' AND delivery = 'sts')
    ),
    ADD CONSTRAINT issuances_method_check CHECK (
        method IN ('GET', 'HEAD', 'PUT', 'POST', 'DELETE') OR (method = '*' AND delivery = 'sts')
    );
