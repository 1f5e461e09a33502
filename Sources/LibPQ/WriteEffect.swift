/// What the success of a call means for its writes.
enum WriteEffect {
    /// The call wrote nothing.
    case none
    /// The writes last if the transaction is committed. If the connection closes before, they are lost.
    case provisional
    /// The writes are committed.
    case lasting
}
