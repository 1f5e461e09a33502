import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// The console's files, and what its page has to know before anybody has signed in. Everything else it asks of the
/// operations for admins.
struct ConsoleEndpoints: Sendable {
    let signIn: SignInOffers
    /// The version of the program.
    let version: String

    /// `GET /console` and `GET /console/`: the page. Issuers send browsers back to the second, with a query that only
    /// the page's own script reads.
    @Sendable func page(_ request: APIRequest) async throws -> ServerResponse {
        guard let page = await ConsoleFiles.file(ConsoleFiles.indexName) else { throw APIError.noSuchRoute }
        return page.answer(to: request, with: await pageFields())
    }

    /// `GET /console/{file}`.
    @Sendable func file(_ request: APIRequest) async throws -> ServerResponse {
        let name = request.parameter(0)
        guard name != ConsoleFiles.indexName else { return try await page(request) }
        guard let file = await ConsoleFiles.file(name) else { throw APIError.noSuchRoute }
        return file.answer(to: request, with: ConsolePolicy.fileFields)
    }

    /// `GET /console/config.json`.
    @Sendable func configuration(_ request: APIRequest) async throws -> ServerResponse {
        let offers = try await signIn.offers()
        return .json(.ok) { json in
            json.member("version", version)
            json.member("admin", "/admin/v1")
            json.member("contract", "/openapi.json")
            json.objects("issuers", offers) { $1.write(to: &$0) }
        }
    }

    /// Without the database nobody can sign in at an issuer, but the page still opens.
    private func pageFields() async -> HeaderFields {
        do throws(GatewayError) {
            let offers = try await signIn.offers()
            return ConsolePolicy.pageFields(offers: offers, stores: try await signIn.surroundings().stores)
        } catch {
            return ConsolePolicy.pageFields(offers: [], stores: [])
        }
    }
}

extension SignInOffers.Offer {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", issuer.id)
        json.member("issuer", issuer.issuer)
        json.member("clientID", issuer.console.clientID)
        json.member("scopes", issuer.console.scopes)
        json.member("send", issuer.console.send.rawValue)
        guard let endpoints else { return }
        json.member("authorizationEndpoint", endpoints.authorization)
        json.member("tokenEndpoint", endpoints.token)
        json.member("namesItself", endpoints.namesItselfInAnswers)
    }
}
