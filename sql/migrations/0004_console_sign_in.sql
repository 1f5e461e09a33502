-- Kind: expand
--
-- Issuers where people sign in to the console.

ALTER TABLE issuers ADD COLUMN console jsonb;
ALTER TABLE issuers ADD CONSTRAINT issuers_console_check CHECK (
    console IS NULL
    OR (
        jsonb_typeof(console) = 'object' AND jsonb_typeof(console -> 'clientID') = 'string'
        AND jsonb_typeof(console -> 'scopes') = 'array' AND console ->> 'send' IN ('access_token', 'id_token')
    ) IS TRUE
);

COMMENT ON COLUMN issuers.console IS
    'How people sign in to the console, in the JSON of the API; NULL where they do not.';
