/// What a reader needs to know before the operations, as sections of the page.
enum DocsGuide {
    /// A section with an anchor of its own.
    struct Section: Sendable {
        /// The anchor, which is stable.
        let id: String
        /// The heading.
        let title: String
        /// The text, in Markdown.
        let text: String
    }

    static let sections = [
        Section(
            id: "authentication", title: "Authentication",
            text: """
                Send a token of your identity provider, or an API key, in the field `Authorization: Bearer …`.
                Operations below `/v1` are for app users; those below `/admin/v1` require the role of an admin or, for
                reading, of an auditor. Clients that cannot send a header use a ticket, which `POST /v1/tickets`
                creates. In the lines for curl, `SLUICE_URL` and `SLUICE_KEY` hold the address and the credential of an
                app user, `SLUICE_ADMIN_URL` and `SLUICE_ADMIN_KEY` those of an admin, and `SLUICE_EVENT_SECRET` the
                secret by which a store reports its events.

                The gateway answers 401 `Unauthenticated` to a credential that it does not accept, and 401
                `ExpiredToken` to one that has ended: fetch a new one and repeat the request.
                """),
        Section(
            id: "errors", title: "Errors",
            text: """
                Every error is an `application/problem+json` document (RFC 9457). Decide by `code`, which is stable, and
                show `detail` to people. `type` is the address of a page that says what to do. `requestID` identifies
                the line in the log, as the field `X-Request-Id` of every answer does. Repeat a request that was
                answered with 429 or 503 after `Retry-After` seconds, and others only once something has changed.
                """),
        Section(
            id: "pagination", title: "Pagination",
            text: """
                A list answers a page: `items`, and `nextPageToken` if there are more. Send that text back as
                `pageToken`, with the same filters, to get the next page; `pageSize` sets the length. Clients cannot
                read anything in a token.
                """),
        Section(
            id: "idempotency", title: "Idempotency",
            text: """
                A `POST` with the field `Idempotency-Key`, a text that the client chooses, takes effect once within
                24 hours: whoever repeats the same request with the same key receives the first answer again, with
                `Idempotency-Replayed`. The same key with another request is refused. `PUT` and `PATCH` require
                `If-Match` with the `ETag` of the row that you read, so that no change of somebody else is lost.
                """),
    ]
}
