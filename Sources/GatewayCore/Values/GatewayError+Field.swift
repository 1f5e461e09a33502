extension GatewayError {
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
