import Bytes
import FoundationEssentials
import GatewayCore
import StrictJSON

/// Reads the items of a batch of grants. Each item is refused by itself.
struct GrantBatchItems {
    /// Largest number of refusals that an answer lists.
    private static let maxRefusals = 100

    private var batch: GrantBatch
    private var refusals: [ItemRefusal] = []
    private var named = NamedGrants()

    /// Reads the body of a request.
    static func read(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) -> GrantBatch {
        let isDryRun = try body.bool("dryRun") ?? false
        let sentWrites = try body.values("writes", atMost: GrantBatch.maxCount)
        let sentDeletes = try body.values("deletes", atMost: GrantBatch.maxCount)
        try body.end()
        try GrantBatch.checkCounts(writes: sentWrites?.count, deletes: sentDeletes?.count)
        let (writes, deletes) = (sentWrites ?? [], sentDeletes ?? [])
        var items = GrantBatchItems(batch: GrantBatch(writes: [], removals: [], isDryRun: isDryRun))
        for (index, value) in writes.enumerated() { items.addWrite(value, index, new) }
        for (index, value) in deletes.enumerated() { items.addRemoval(value, index) }
        if let error = GatewayError(refusing: items.refusals) { throw error }
        return items.batch
    }

    private init(batch: GrantBatch) {
        self.batch = batch
    }

    private mutating func addWrite(_ value: JSONNode, _ index: Int, _ new: NewRow) {
        do throws(GatewayError) {
            var item = try JSONObject(value, at: "writes[\(index)]")
            let id = try name(in: &item)
            let revision = try item.revision("ifMatch")
            guard id != nil || revision == nil else { throw item.invalid("ifMatch", "'ifMatch' requires 'id'.") }
            item.passOver(Grant.ownMembers)
            let grant = try Grant(&item, as: new)
            try item.end()
            let validated = try item.within { () throws(GatewayError) in try Validated(grant) }
            batch.writes.append(ProposedGrant(place: index, id: id, revision: revision, grant: validated))
        } catch {
            refuse(.item(array: "writes", index: index), error)
        }
    }

    private mutating func addRemoval(_ value: JSONNode, _ index: Int) {
        do throws(GatewayError) {
            var item = try JSONObject(value, at: "deletes[\(index)]")
            guard let id = try name(in: &item) else { throw GatewayError.missing(item.name(of: "id")) }
            let revision = try item.revision("ifMatch")
            try item.end()
            batch.removals.append(GrantRemoval(id: id, revision: revision))
        } catch {
            refuse(.item(array: "deletes", index: index), error)
        }
    }

    /// Takes the identifier of an item; no other item may have the same.
    private mutating func name(in item: inout JSONObject) throws(GatewayError) -> UUID? {
        guard let id = try item.uuid("id") else { return nil }
        try item.within { () throws(GatewayError) in try named.add(id) }
        return id
    }

    private mutating func refuse(_ place: ItemRefusal.Place, _ error: GatewayError) {
        if refusals.count < Self.maxRefusals { refusals.append(ItemRefusal(place, error)) }
    }
}

extension JSONObject {
    /// Takes an entity tag; `nil` for `*`, which matches every state.
    fileprivate mutating func revision(_ name: String) throws(GatewayError) -> UUID? {
        guard let text = try string(name), !text.isSameBytes(as: "*") else { return nil }
        let quote = UInt8(ascii: "\"")
        guard text.utf8.count >= 2, text.utf8.first == quote, text.utf8.last == quote else {
            throw invalid(name, "The value must be a quoted entity tag, as in ETag, or '*'.")
        }
        guard let revision = UUID(uuidString: String(Substring(text.utf8.dropFirst().dropLast()))),
            EntityTag(revision).text == text
        else { return .ofNothing }
        return revision
    }

    /// Ignores members that the gateway sets itself.
    mutating func passOver(_ names: Set<String>) {
        for name in names { _ = value(name) }
    }
}

extension UUID {
    /// A revision that no row has.
    fileprivate static let ofNothing = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}
