import GatewayCore
import StrictJSON

extension Page {
    /// Writes the members of a page, and each row with `write`.
    func write(to json: inout JSONWriter, row write: (Item, inout JSONWriter) -> Void) {
        json.objects("items", items) { write($1, &$0) }
        json.member("nextPageToken", nextPageToken)
    }
}

extension LedgerPage {
    /// Writes the members of a page, each row with `write`, and the period that was searched.
    func write(to json: inout JSONWriter, row write: (Item, inout JSONWriter) -> Void) {
        json.objects("items", items) { write($1, &$0) }
        json.member("from", range.from)
        json.member("to", range.to)
        json.member("nextPageToken", nextPageToken)
    }
}
