/// The byte order mark of UTF-8, which some editors write.
public let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
