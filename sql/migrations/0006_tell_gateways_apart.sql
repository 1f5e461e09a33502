-- Kind: expand
--
-- What a gateway was built for, so that an update is finished only once nobody runs who still needs what it removes.

ALTER TABLE gateways ADD COLUMN schema_version integer NOT NULL DEFAULT 0;
ALTER TABLE gateways ADD COLUMN function_set bytea NOT NULL DEFAULT '';

COMMENT ON COLUMN gateways.schema_version IS 'The highest migration that its program carries.';
COMMENT ON COLUMN gateways.function_set IS
    'SHA-256 of the names and contracts of the functions that its program carries.';
