/// The object ID of a PostgreSQL type.
///
/// - SeeAlso: PostgreSQL source, `src/include/catalog/pg_type.dat`.
public struct PostgresType: Sendable, Hashable {
    /// The object ID. The IDs of built-in types never change.
    public let oid: UInt32

    /// Creates a type from its object ID.
    public init(oid: UInt32) {
        self.oid = oid
    }

    /// The type bool.
    public static let bool = PostgresType(oid: 16)
    /// The type bytea.
    public static let bytea = PostgresType(oid: 17)
    static let name = PostgresType(oid: 19)
    /// The type int8.
    public static let int8 = PostgresType(oid: 20)
    static let int2 = PostgresType(oid: 21)
    /// The type int4.
    public static let int4 = PostgresType(oid: 23)
    /// The type text.
    public static let text = PostgresType(oid: 25)
    static let json = PostgresType(oid: 114)
    static let float8 = PostgresType(oid: 701)
    static let unknown = PostgresType(oid: 705)
    static let boolArray = PostgresType(oid: 1000)
    static let byteaArray = PostgresType(oid: 1001)
    static let int2Array = PostgresType(oid: 1005)
    static let int4Array = PostgresType(oid: 1007)
    static let textArray = PostgresType(oid: 1009)
    static let varcharArray = PostgresType(oid: 1015)
    static let int8Array = PostgresType(oid: 1016)
    static let float8Array = PostgresType(oid: 1022)
    static let bpchar = PostgresType(oid: 1042)
    static let varchar = PostgresType(oid: 1043)
    /// The type timestamptz.
    public static let timestamptz = PostgresType(oid: 1184)
    static let timestamptzArray = PostgresType(oid: 1185)
    /// The type uuid.
    public static let uuid = PostgresType(oid: 2950)
    static let uuidArray = PostgresType(oid: 2951)
    static let jsonb = PostgresType(oid: 3802)
    static let jsonbArray = PostgresType(oid: 3807)
}
