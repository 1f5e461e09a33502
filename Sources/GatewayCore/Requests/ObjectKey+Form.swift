extension ObjectKey {
    /// The field `key` of a form, which no object can have where the client fills it in; only to be written down.
    init(ofForm request: PostPolicyRequest) {
        rawValue = request.key
    }
}
