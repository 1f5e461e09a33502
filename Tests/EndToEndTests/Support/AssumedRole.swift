import Foundation

/// The answer of a token service of AWS: a session of an hour, which is what a caller gets who asks for no other time.
func assumedRole(accessKeyID: String) -> [UInt8] {
    let end = Date().addingTimeInterval(3600).formatted(.iso8601)
    let text = """
        <AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>\(accessKeyID)</AccessKeyId>\
        <SecretAccessKey>made-up-session-secret</SecretAccessKey><SessionToken>made-up-session-token</SessionToken>\
        <Expiration>\(end)</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>
        """
    return Array(text.utf8)
}
