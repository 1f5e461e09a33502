import Testing

/// Tests that put the machine under load. They run one after the other, so that nothing else explains a late answer.
@Suite(.serialized) enum LoadTests {}
