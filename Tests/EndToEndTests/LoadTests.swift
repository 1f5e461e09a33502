import Testing

/// What puts the machine under load, one after the other, so that nothing else explains a late answer.
@Suite(.serialized) enum LoadTests {}
