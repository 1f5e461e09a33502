public import FoundationEssentials

/// Keeps refusals for admins to look up.
public protocol RefusalJournal: Sendable {
    /// Keeps a refusal, or drops and counts it if there are too many. The memory used is bounded. The call never blocks
    /// and never makes the answer fail.
    ///
    /// - Returns: Whether the refusal is kept.
    func keep(_ refusal: RefusalRecord) -> Bool
}

/// A refusal as it is kept: without the object key, and without any part of a credential that is secret.
public struct RefusalRecord: Sendable, Equatable {
    /// Identifier of the request, as it appears in the answer and in logs.
    public var requestID: String
    /// When the request was refused.
    public var at: Date
    /// HTTP method of the request.
    public var method: String
    /// Template of the path, such as `/v1/presigned-urls`.
    public var route: String
    /// HTTP status of the answer. In a batch, other items may have been served.
    public var status: Int
    /// The reason.
    public var note: RefusalNote
    /// The caller; `nil` if it was not authenticated.
    public var principal: Principal?
    /// Source address of the request; `nil` if it cannot be known.
    public var sourceAddress: IPAddress?

    /// Creates a record.
    public init(
        requestID: String, at: Date, method: String, route: String, status: Int, note: RefusalNote,
        principal: Principal?, sourceAddress: IPAddress?
    ) {
        self.requestID = requestID
        self.at = at
        self.method = method
        self.route = route
        self.status = status
        self.note = note
        self.principal = principal
        self.sourceAddress = sourceAddress
    }
}
