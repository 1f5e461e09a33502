import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/admin/v1/principals/{principal}`: operations on all that a principal has.
struct OffboardingEndpoints: Sendable {
    let useCase: Offboarding

    /// `POST /admin/v1/principals/{principal}:offboard`: lists, or removes, all that gives a user
    /// access.
    @Sendable func offboard(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let isDryRun = try body.bool("dryRun") ?? false
        try body.end()
        let user = try Principal(request.parameter(0))
        request.notes.note(row: user.rawValue)
        let ifMatch = try request.ifMatch()
        let report: Offboarding.Report
        if isDryRun {
            report = try await useCase.preview(of: user)
        } else {
            report = try await useCase.offboard(user, seenAs: Self.tag(in: ifMatch), by: caller.change(in: request))
        }
        var response = ServerResponse.json(.ok, capacity: 4096) { json in
            json.member("principal", user.rawValue)
            json.member("dryRun", isDryRun)
            report.write(to: &json)
        }
        if isDryRun { response.head.headerFields[.eTag] = "\"\(report.rows.tag)\"" }
        return response
    }

    /// The tag of the rows that the admin saw; `nil` for whatever there is.
    private static func tag(in ifMatch: IfMatch) throws -> String? {
        switch ifMatch {
        case .absent: throw APIError.preconditionRequired(source: "the dry run, or '*' for whatever there is")
        case .any: return nil
        case .tags(let tags):
            guard let tag = tags.first, tags.count == 1 else {
                throw GatewayError.invalidArgument(field: "If-Match", reason: "Send one entity tag, or '*'.")
            }
            return String(tag.dropFirst().dropLast())
        }
    }
}

extension Offboarding.Report {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("count", rows.count)
        json.object("counts") { json in
            for kind in Self.kinds {
                json.name(kind.name)
                json.integer(rows.counts[kind.kind] ?? 0)
            }
        }
        json.objects("items", rows.rows) { json, row in
            json.member("kind", row.kind.rawValue)
            json.member("id", GroupMember.shown(row.id))
            guard let document = try? JSONReader.read(Array(row.document.utf8)) else { return }
            json.name("row")
            json.value(document)
        }
        json.member("isTruncated", rows.count > rows.rows.count)
        guard let alive else { return }
        json.object("alive") { alive.write(to: &$0) }
    }

    private static var kinds: [(name: String, kind: ResourceKind)] {
        [
            ("grants", .grant), ("memberships", .groupMember), ("apiKeys", .apiKey), ("tickets", .ticket),
            ("uploads", .multipartUpload),
        ]
    }
}
