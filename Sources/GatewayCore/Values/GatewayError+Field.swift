extension GatewayError {
    /// The refusal of a request that lacks a member or parameter.
    ///
    /// Many clients show the reason alone, so it has the name too.
    public static func missing(_ field: String) -> GatewayError {
        .invalidArgument(field: field, reason: "'\(field)' is required.")
    }

    /// Reads the value of a field. An argument that `read` refuses is named after the field, whatever `read` calls it.
    public static func naming<Value>(
        _ field: @autoclosure () -> String, _ read: () throws(GatewayError) -> Value
    ) throws(GatewayError) -> Value {
        do throws(GatewayError) {
            return try read()
        } catch .invalidArgument(_, let reason) {
            throw .invalidArgument(field: field(), reason: reason)
        }
    }
}
