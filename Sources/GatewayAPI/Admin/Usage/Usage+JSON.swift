import FoundationEssentials
import GatewayCore
import StrictJSON

extension Usage {
    /// Writes the members of a count.
    func write(to json: inout JSONWriter) {
        json.member("startsAt", start)
        json.member("principal", principal)
        json.member("bucket", bucket)
        json.member("grantID", grantID?.lowercaseText)
        if let actions { json.member("actions", actions) }
        json.member("delivery", delivery)
        json.member("urls", urls)
        json.member("bytesBound", bytesBound)
        json.member("bytesReserved", bytesReserved)
        json.member("bytesUnsettled", bytesUnsettled)
        json.member("bytesLanded", bytesLanded)
    }
}

extension CountedDenial {
    /// Writes the members of a count.
    func write(to json: inout JSONWriter) {
        json.member("startsAt", start)
        json.member("principal", principal)
        json.member("bucket", bucket)
        json.member("code", code)
        json.member("count", count)
    }
}

extension SettlingBacklog {
    /// Writes the members of a report.
    func write(to json: inout JSONWriter) {
        json.member("reservations", reservations)
        json.member("bytes", bytes)
        json.member("due", due)
        json.member("dueSince", dueSince)
    }
}

extension GrantUse {
    /// Writes the members of a grant with its use.
    func write(to json: inout JSONWriter) {
        json.object("grant") { grant.write(to: &$0) }
        json.member("urls", use?.urls ?? 0)
        json.member("lastUsedAt", use?.lastAt)
        json.member("tightestPrefix", use?.tightestPrefix.rawValue)
    }
}

extension BlastRadius {
    /// Writes the members of a report.
    func write(to json: inout JSONWriter) {
        json.member("count", count)
        json.member("lastExpiresAt", aliveUntil)
        json.member("principalCount", principalCount)
        let lists: [(StaticString, [Share])] = [
            ("principals", principals), ("deliveries", deliveries), ("buckets", buckets),
            ("credentials", credentials), ("grants", grants),
        ]
        for (name, shares) in lists {
            json.objects(name, shares) { json, share in
                json.member("name", share.name)
                json.member("count", share.count)
                json.member("lastExpiresAt", share.aliveUntil)
            }
        }
        json.member("sessionCount", sessionCount)
        json.objects("sessions", sessions) { json, session in
            json.member("principal", session.principal)
            json.member("bucket", session.bucket)
            json.member("prefix", session.prefix)
            json.member("actions", session.actions)
            json.member("credentialID", session.credentialID)
            json.member("expiresAt", session.expiresAt)
        }
    }
}
