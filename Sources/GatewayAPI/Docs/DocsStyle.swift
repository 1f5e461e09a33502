/// The style sheet of the page.
enum DocsStyle {
    static let css = """
        :root { color-scheme: light dark; --back: #fff; --text: #1c2024; --dim: #5b6570; --line: #d9dee3; --soft: #f4f6f8;
          --link: #0b5cad; --get: #0b6e4f; --post: #0b5cad; --put: #8a5a00; --patch: #8a5a00; --delete: #b3261e }
        @media (prefers-color-scheme: dark) { :root { --back: #15181b; --text: #e4e8eb; --dim: #9aa5af; --line: #343b42;
          --soft: #1e2327; --link: #7fb8f0; --get: #6fd0ab; --post: #7fb8f0; --put: #e3b566; --patch: #e3b566; --delete: #f2948d } }
        * { box-sizing: border-box }
        body { margin: 0; display: grid; grid-template-columns: 22rem minmax(0, 1fr); background: var(--back); color: var(--text);
          font: 16px/1.5 system-ui, sans-serif }
        nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border-right: 1px solid var(--line); padding: 1rem;
          background: var(--soft); font-size: .85rem }
        nav h2 { margin: 1rem 0 .25rem; font-size: .8rem; text-transform: uppercase; letter-spacing: .06em; color: var(--dim) }
        nav ul { list-style: none; margin: 0; padding: 0 }
        nav li a { display: block; padding: .15rem 0; text-decoration: none; color: inherit; overflow-wrap: anywhere }
        nav li a:hover { text-decoration: underline }
        nav .menu > summary { display: none }
        main { padding: 1rem 2.5rem 4rem; max-width: 70rem }
        h1 small { color: var(--dim); font-weight: normal; font-size: 1rem }
        h2 { margin-top: 3rem }
        article { border-top: 1px solid var(--line); padding: 1rem 0 1.5rem; scroll-margin-top: 1rem }
        h3 { margin: .5rem 0; font-size: 1.15rem }
        h2 a, h3 a { color: inherit; text-decoration: none }
        h2 a:hover::after, h3 a:hover::after { content: " #"; color: var(--dim) }
        :focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
        [hidden] { display: none !important }
        main.single { grid-column: 1 / -1; width: 100%; max-width: 52rem; margin: 0 auto }
        input, select, textarea, button { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--dim);
          border-radius: 6px; padding: .3rem .5rem; max-width: 100% }
        button { cursor: pointer; background: var(--soft) }
        #search { margin: 0 }
        #search input, #key input, .try input, .try select, .try textarea { display: block; width: 100% }
        .try textarea { font-family: ui-monospace, monospace; font-size: .9rem; min-height: 8rem }
        .try label { display: block; margin: .5rem 0 }
        .samples details, .try { margin: .25rem 0 }
        h4 { margin: 1.25rem 0 .5rem; font-size: .85rem; text-transform: uppercase; letter-spacing: .06em; color: var(--dim) }
        p { margin: .5rem 0; max-width: 48rem }
        a { color: var(--link) }
        code, pre { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere }
        pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .75rem; overflow-x: auto }
        pre code { overflow-wrap: normal }
        .pattern { color: var(--dim); font-size: .8em }
        .target b, nav b { display: inline-block; min-width: 3.2rem; font-size: .8em }
        b.get { color: var(--get) } b.post { color: var(--post) } b.put { color: var(--put) }
        b.patch { color: var(--patch) } b.delete { color: var(--delete) }
        .access { color: var(--dim); font-size: .85rem; margin-left: .75rem }
        .wide { overflow-x: auto }
        table { border-collapse: collapse; width: 100%; font-size: .9rem }
        th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line);
          font-weight: normal }
        thead th { border: 0; color: var(--dim) }
        tbody th code { white-space: nowrap }
        em { color: var(--dim); font-size: .85em }
        .answer, .content { border-left: 3px solid var(--line); padding-left: .75rem; margin: .5rem 0 }
        .answer .content { border: 0; padding: 0 }
        summary { cursor: pointer; color: var(--dim); font-size: .9rem }
        .problems a { margin-right: .35rem }
        @media (max-width: 60rem) {
          body { display: block }
          nav .menu > summary { display: list-item }
          nav { position: static; height: auto; max-height: 40vh; border: 0; border-bottom: 1px solid var(--line) }
          main { padding: 1rem }
          table, tbody, tr, td, th { display: block; border: 0; padding: 0 }
          thead { display: none }
          tr { border-top: 1px solid var(--line); padding: .4rem 0 }
          td:empty { display: none }
        }
        @media print { nav { display: none } body { display: block } }
        """
}
