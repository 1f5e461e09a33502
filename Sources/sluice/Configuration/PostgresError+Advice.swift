import LibPQ

extension PostgresError {
    /// The roles that commands log in with.
    enum Login {
        /// A member of the role `sluice_gateway`.
        case gateway
        /// The owner of the schema.
        case owner
    }

    /// What to do about a database that does not answer as it should.
    ///
    /// - Parameter login: The role that SLUICE_DATABASE_URL has to name.
    func advice(for login: Login) -> String {
        let text = "\(self)"
        return switch sqlState {
        case "3D000"?: "Create the database as docs/operations.md shows, or correct its name in SLUICE_DATABASE_URL."
        // insufficient_privilege
        case "42501"?: adviceOnRights(login)
        // out_of_memory; here, of the room for locks
        case "53200"? where text.contains("shared memory"):
            "Raise max_locks_per_transaction on the server, as docs/operations.md says under Sizes, and restart it."
        // undefined_object
        case "42704"? where text.contains("configuration parameter"):
            "The server is too old, or no PostgreSQL: Sluice needs PostgreSQL 15 or later."
        // read_only_sql_transaction
        case "25006"?:
            "The server is a standby, or default_transaction_read_only is on. " + Self.adviceOnReadOnly
        // lock_not_available
        case "55P03"?:
            "Another session holds a table, such as pg_dump or an import; "
                + "'SELECT pid, query FROM pg_stat_activity ORDER BY xact_start' shows it. "
                + "Run this again when it has ended."
        case "57014"?: "The server ended the statement. Find out what keeps it busy."
        // Class 28 is a login that is not accepted.
        case let state? where state.hasPrefix("28") && text.contains("Peer"):
            "Run this as the system user of that name, for example: runuser -u sluice -- sluice …"
        case let state? where state.hasPrefix("28"): Self.adviceOnLogin
        case nil where text.contains("does not match host name"):
            "Name the server in SLUICE_DATABASE_URL as its certificate does."
        case nil where text.contains("certificate"):
            "Name the server's authority by sslrootcert in SLUICE_DATABASE_URL, for example "
                + "sslrootcert=/etc/ssl/certs/ca-certificates.crt."
        case nil where text.contains("password"): Self.adviceOnLogin
        case nil where text.contains("too many connections for role"):
            "Raise the limit of that role, ALTER ROLE … CONNECTION LIMIT …, or run fewer clients."
        case nil where text.contains("too many connections for database"):
            "Raise the limit of that database, ALTER DATABASE … CONNECTION LIMIT …, or run fewer clients."
        case nil where text.contains("too many") || text.contains("slots"):
            "Raise max_connections on the server, or run fewer clients."
        case nil: "Check the host and port in SLUICE_DATABASE_URL, and whether PostgreSQL runs there."
        default: "The server's log tells more."
        }
    }

    private func adviceOnRights(_ login: Login) -> String {
        switch (self, login) {
        case (.refused, .gateway): "As the owner of the database: GRANT CONNECT ON DATABASE … TO sluice_gateway"
        case (.refused, .owner): "As the owner of the database: GRANT CONNECT ON DATABASE … TO the schema's owner"
        case (_, .gateway):
            "The login of SLUICE_DATABASE_URL must be a member of sluice_gateway, and inherit its rights. As a superuser: "
                + "ALTER ROLE … INHERIT; REVOKE sluice_gateway FROM …; GRANT sluice_gateway TO … "
                + "As the owner of the schema: 'sluice migrate'"
        case (_, .owner):
            "The login of SLUICE_DATABASE_URL must own the database, or the schema's tables: name that role. "
                + "docs/operations.md creates it as sluice_owner"
        }
    }

    /// What to do about a server or a session that accepts no writes.
    static let adviceOnReadOnly =
        "Connect to the primary; with several hosts, add target_session_attrs=read-write to the URL. "
        + "Reset default_transaction_read_only where it is on; managed services set it when the disk is full."

    private static let adviceOnLogin =
        "Check the role and the password in SLUICE_DATABASE_URL, and pg_hba.conf on the server."
}
