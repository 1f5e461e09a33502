extension Span where Element == UInt8 {
    /// Whether every byte is greater than another one; many are looked at at once.
    public func isAbove(_ limit: UInt8) -> Bool {
        unsafe withUnsafeBufferPointer { bytes in
            var lowest = UInt8.max
            for index in bytes.indices { lowest = unsafe Swift.min(lowest, bytes[index]) }
            return lowest > limit
        }
    }
}
