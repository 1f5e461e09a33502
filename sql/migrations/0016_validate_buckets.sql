-- Origins of pages that use links to a bucket, and audit rows for checks of buckets at their stores.

ALTER TABLE buckets ADD COLUMN allowed_origins text[] NOT NULL DEFAULT '{}';

ALTER TABLE admin_audit
    DROP CONSTRAINT admin_audit_operation_check,
    ADD CONSTRAINT admin_audit_operation_check CHECK (
        operation IN ('create', 'update', 'delete', 'reset', 'import', 'validate')
    );
