import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import StrictJSON

/// `POST /admin/v1/simulate`: a question that changes nothing.
struct SimulateEndpoints: Sendable {
    /// Body limit in bytes: 2 KiB for each of 500 items.
    static let maxBodyBytes = 1 << 20
    /// Largest number of items for each kind of change.
    static let maxItems = 500

    let useCase: Simulator
    let newRow: @Sendable (Caller) throws -> NewRow

    /// Replays the ledger under a proposed change.
    @Sendable func simulate(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let days = try body.integer("days")
        let token = try body.string("pageToken")
        let proposal = try PolicyProposal(&body) { try newRow(caller) }
        try body.end()
        let simulation = try await useCase.simulate(
            proposal, days: days, label: try Self.label(of: request), pageToken: token)
        return .json(.ok, capacity: 8192) { simulation.write(to: &$0) }
    }

    /// The digest of the body without its page token. It is the same for every spelling of the same body.
    private static func label(of request: APIRequest) throws -> String {
        guard case .object(let members) = try request.jsonValue() else { return "" }
        var json = JSONWriter()
        json.value(.object(members.filter { $0.name != "pageToken" }.sorted { $0.name < $1.name }))
        return DigestAlgorithm.sha256.digest(of: json.bytes).hex
    }
}

extension PolicyProposal {
    /// Reads the members of a change.
    fileprivate init(_ body: inout JSONObject, newRow: () throws -> NewRow) throws {
        self.init()
        for (index, value) in try body.items("add").enumerated() {
            var item = try JSONObject(value, at: "add[\(index)]")
            additions.append(try Grant(&item, as: newRow()).validated(as: item))
            try item.end()
        }
        for (index, value) in try body.items("replace").enumerated() {
            var item = try JSONObject(value, at: "replace[\(index)]")
            let id = try item.required("id", item.uuid("id"))
            var grant = try Grant(&item, as: newRow()).validated(as: item)
            grant.id = id
            replacements.append(grant)
            try item.end()
        }
        removals = try body.parsedItems("remove", atMost: SimulateEndpoints.maxItems, TextForm.uuid) ?? []
        joins = try Self.memberships("addMembers", &body)
        leaves = try Self.memberships("removeMembers", &body)
    }

    private static func memberships(
        _ name: String, _ body: inout JSONObject
    ) throws(GatewayError) -> Set<Membership> {
        var memberships: Set<Membership> = []
        for (index, value) in try body.items(name).enumerated() {
            var item = try JSONObject(value, at: "\(name)[\(index)]")
            let group = try item.required("group", item.principal("group"))
            let member = try item.required("member", item.principal("member"))
            try item.end()
            // When it began is of no account here.
            let row = try GroupMember(group: group, member: member, createdAt: .distantPast).validated(as: item)
            memberships.insert(Membership(group: row.group, member: row.member))
        }
        return memberships
    }
}

extension JSONObject {
    /// Takes an array of items of a change.
    fileprivate mutating func items(_ name: String) throws(GatewayError) -> [JSONNode] {
        try values(name, atMost: SimulateEndpoints.maxItems) ?? []
    }
}

extension ValidatedRow {
    /// Refuses a row that could not work; the error names the item that it was read from.
    fileprivate func validated(as item: JSONObject) throws(GatewayError) -> Self {
        try item.within { () throws(GatewayError) in try validated() }
    }
}

extension Simulation {
    /// Writes the members of a simulation.
    func write(to json: inout JSONWriter) {
        json.member("examined", examined)
        json.member("refused", refused)
        json.member("refusedAlready", refusedAlready)
        json.member("permittedAnew", permittedAnew)
        json.member("uncertain", uncertain)
        let lists: [(StaticString, [Share])] = [("principals", principals), ("grants", grants)]
        for (name, shares) in lists {
            json.objects(name, shares) { json, share in
                json.member("name", share.name)
                json.member("count", share.count)
            }
        }
        json.member("hasMoreShares", hasMoreShares)
        json.objects("examples", examples) { json, example in
            json.object("issuance") { example.issuance.write(to: &$0) }
            json.name("told")
            Problem(example.error).write(to: &json, requestID: nil)
            if let decidedBy = example.decidedBy {
                json.object("decidedBy") { decidedBy.write(to: &$0) }
            }
        }
        json.member("from", range.from)
        json.member("to", range.to)
        json.member("examinedFrom", examinedBackTo)
        json.member("isComplete", nextPageToken == nil)
        json.member("policySequence", policySequence)
        json.member("nextPageToken", nextPageToken)
    }
}
