import Foundation

/// The answer of a token service of AWS: a session of an hour, which is what a caller gets who asks for no other time.
func assumedRole(accessKeyID: String) -> String {
    let end = Date().addingTimeInterval(3600).formatted(.iso8601)
    return """
        <AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>\(accessKeyID)</AccessKeyId>\
        <SecretAccessKey>made-up-session-secret</SecretAccessKey><SessionToken>made-up-session-token</SessionToken>\
        <Expiration>\(end)</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>
        """
}
