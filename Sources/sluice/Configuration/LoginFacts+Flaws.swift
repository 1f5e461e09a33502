import GatewayPostgres

extension LoginFacts {
    /// What is wrong with a login. `sluice doctor` reports it, and a gateway that starts warns of it.
    struct Flaw {
        /// Whether the gateway works nevertheless.
        var isWarning = false
        /// What is wrong, in a sentence.
        let message: String
        /// What to do about it.
        let advice: String
    }

    /// What differs from the login that docs/operations.md creates; empty if all is well.
    var flaws: [Flaw] {
        var flaws: [Flaw] = []
        if !hasGroupRole {
            flaws.append(
                Flaw(
                    message: "The role sluice_gateway does not exist.",
                    advice: "As a superuser: CREATE ROLE sluice_gateway NOLOGIN. Then run 'sluice migrate'."))
        }
        // Whoever may do everything needs no list of rights.
        if let flaw = ofOwner { return flaws + [flaw] }
        return flaws + ofRights
    }

    /// The flaw of a login that may do everything; `nil` if this one may not.
    private var ofOwner: Flaw? {
        let right = "Log in as a member of sluice_gateway that owns nothing; docs/operations.md shows how to create it."
        if isSuperuser {
            return Flaw(
                message: "The gateway logs in as the superuser '\(name)' and could change its own records.",
                advice: right)
        }
        guard ownsSchema else { return nil }
        return Flaw(
            message: "The login '\(name)' owns the schema and could change its own records.", advice: right)
    }

    /// The rights that are missing, and those that are too much.
    private var ofRights: [Flaw] {
        var flaws: [Flaw] = []
        let missing = missingTables + missingFunctions
        if !missing.isEmpty {
            let more = missing.count > 5 ? " and \(missing.count - 5) more" : ""
            flaws.append(
                Flaw(
                    message: "The login '\(name)' lacks rights on \(missing.prefix(5).joined(separator: ", "))\(more).",
                    advice: isInGroupRole || !hasGroupRole
                        ? "Run 'sluice migrate', which grants them to sluice_gateway."
                        : "As a superuser: ALTER ROLE \(name) INHERIT; REVOKE sluice_gateway FROM \(name); "
                            + "GRANT sluice_gateway TO \(name)"))
        }
        if !excessRights.isEmpty {
            flaws.append(
                Flaw(
                    message:
                        "The login '\(name)' could change its own records: \(excessRights.joined(separator: ", ")).",
                    advice: "Revoke these rights from it and from the roles that it is a member of."))
        }
        if mayCreate {
            flaws.append(
                Flaw(
                    isWarning: true,
                    message: "The login '\(name)' may create objects in the schema 'public'.",
                    advice: "As a superuser, in this database: ALTER SCHEMA public OWNER TO pg_database_owner; "
                        + "REVOKE CREATE ON SCHEMA public FROM PUBLIC. Revoke it from the login and its roles as well, "
                        + "if they have it. If the role that runs 'sluice migrate' does not own the database, "
                        + "name it in place of pg_database_owner."))
        }
        if !mayCreateTemporary {
            flaws.append(
                Flaw(
                    isWarning: true,
                    message: "The login '\(name)' may not create temporary tables, so imports of grants fail.",
                    advice: "As the owner of the database: GRANT TEMPORARY ON DATABASE … TO sluice_gateway"))
        }
        return flaws
    }
}
