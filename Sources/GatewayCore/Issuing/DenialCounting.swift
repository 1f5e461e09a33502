/// Counts refusals by caller, bucket and code.
public protocol DenialCounting: Sendable {
    /// Counts a refusal. The memory used is bounded. The call never blocks and never makes the answer fail.
    func count(_ denial: Denial)
}

/// A refusal in the form that is counted: without key or token.
public struct Denial: Sendable, Hashable {
    /// The caller.
    public var principal: Principal
    /// The requested bucket if it exists, otherwise `nil`. Invented names therefore use no space.
    public var bucket: BucketName?
    /// The stable code of the answer, such as `AccessDenied`.
    public var code: String

    /// Creates a denial to be counted.
    public init(principal: Principal, bucket: BucketName?, code: String) {
        self.principal = principal
        self.bucket = bucket
        self.code = code
    }
}
