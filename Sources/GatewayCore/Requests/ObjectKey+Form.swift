extension ObjectKey {
    /// Creates a key from the form field `key`, for the record only. If the client fills in the name, no object can
    /// have this key.
    init(ofForm request: PostPolicyRequest) {
        rawValue = request.key
    }
}
