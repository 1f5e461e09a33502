import FoundationEssentials
import GatewayCore
import StrictJSON

extension GroupMember: ListedResource {
    static var filters: [ListFilter] { [.principal("member")] }

    func write(to json: inout JSONWriter) {
        json.member("group", group.rawValue)
        json.member("member", member.rawValue)
        json.member("createdAt", createdAt)
    }

    /// Takes the group and the member.
    static func identifier(from segments: [String]) -> String? {
        guard let group = try? Principal(segments[0]), group.isGroup,
            let member = try? Principal(segments[1]), member.isUser
        else { return nil }
        return GroupMember(group: group, member: member, createdAt: Date(timeIntervalSince1970: 0)).identifier
    }
}
