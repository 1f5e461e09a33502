-- Temporary credentials outlive the grants that they came of: a bucket may forbid them, or keep their life short.

-- Longest life of a session in seconds; 0 where there are none. No security token service opens a session for less than 900.
ALTER TABLE buckets
    ADD COLUMN max_session_ttl integer DEFAULT 43200 NOT NULL,
    ADD CONSTRAINT buckets_session_ttl_check CHECK (max_session_ttl = 0 OR max_session_ttl BETWEEN 900 AND 43200);
