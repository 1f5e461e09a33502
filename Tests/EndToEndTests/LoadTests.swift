import Testing

/// Tests that put the machine under load. They run one after the other, so that no two loads add up. Other tests run
/// beside them, and a late answer may be due to one of these.
@Suite(.serialized) enum LoadTests {}
