import Bytes
import ContractModel

/// The list of a gateway whose rows have the names that fit at a place of the command line.
struct AdminRows: Sendable {
    /// The number of names that are asked for.
    private static let most = 100

    private let list: AdminOperation
    private let path: String
    private let member: String

    /// Finds the list for a parameter or a member of a body; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - name: The name in the contract: `bucket` and `group` name rows of that kind; `grantID` and `credentialID`
    ///     name rows by identifier; a parameter of the path names a row of the list that the path goes on from.
    ///   - command: The command that has the parameter.
    ///   - arguments: The values for the path so far.
    ///   - commands: All commands.
    ///   - model: The contract.
    init?(
        named name: String, of command: AdminOperation, arguments: [String] = [], among commands: [AdminOperation],
        _ model: ContractModel
    ) {
        let lists = commands.filter { $0.isPaged && $0.operation.method == "GET" }
        let found: AdminOperation?
        if name == "bucket" || name == "group" {
            found = lists.first { $0.operation.path == "/admin/v1/\(name)s" }
        } else if let place = command.operation.path.firstRange(of: "/{\(name)}") {
            let path = command.operation.path[..<place.lowerBound]
            found = lists.first { $0.operation.path == path }
        } else if name.hasSuffix("ID"), name.count > 2 {
            let noun = "\(name.dropLast(2).lowercased())s"
            found = lists.first { $0.operation.path.hasSuffix("/\(noun)") || $0.operation.path.hasSuffix("-\(noun)") }
        } else {
            found = nil
        }
        guard let found else { return nil }
        let members = found.answerMembers(model)
        let wanted = name.hasSuffix("ID") ? "id" : name
        guard let member = [wanted, "name"].first(where: members.contains) else { return nil }
        list = found
        self.member = member
        var path = found.operation.path
        for (parameter, value) in zip(found.path, arguments) {
            path = path.replacing("{\(parameter.name)}", with: value.percentEncoded)
        }
        guard !path.contains("{") else { return nil }
        self.path = path
    }

    /// Asks the gateway. A second is the most that it may be silent.
    ///
    /// - Returns: The names of the newest rows, each with what else the row says.
    func names(environment: [String: String]) throws(AdminFailure) -> [ProgramTree.Entry] {
        let client = try AdminClient(
            AdminAccess(url: nil, environment: environment), role: list.operation.access, timeout: 1)
        let answer = try client.call("GET", path + "?pageSize=\(Self.most)")
        try client.check(answer)
        return (answer.json?["items"]?.items ?? []).compactMap { row in
            guard let name = row[member]?.text else { return nil }
            let columns = TextTable.columns[list.words[0]] ?? []
            let text = columns.filter { $0 != member && $0 != "createdAt" }.compactMap { row[$0]?.cell }
            return .init(name: name, text: text.joined(separator: " "))
        }
    }
}
