/** The style of the status page. It is served as a file: the page needs no inline style. */
export const statusStyle = `:root { color-scheme: light dark; --line: light-dark(#ddd, #3a3a3a); --soft: light-dark(#f3f3f3, #262626); }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem; }
header { display: flex; align-items: baseline; gap: 1rem; flex-wrap: wrap; }
h1 { font-size: 1.4rem; margin: 0; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 2rem; display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; font-weight: normal; }
thead th { font-size: .85rem; opacity: .75; white-space: nowrap; }
td time { font-variant-numeric: tabular-nums; white-space: nowrap; }
.counts { list-style: none; display: flex; flex-wrap: wrap; gap: .4rem 1rem; padding: 0; }
.badge { display: inline-block; padding: 0 .5em; border-radius: 1em; background: var(--soft); border: 1px solid var(--line); font-size: .85rem; }
.completed, .health-ok { background: light-dark(#d9f2df, #17411f); }
.failed, .dead, .health-degraded, .health-stopped { background: light-dark(#fbdcd9, #561c17); }
.running, .retrying { background: light-dark(#dbe9fb, #173758); }
.waiting, .skipped, .missed, .paused, .disabled, .orphaned { background: light-dark(#fbf0cf, #4b3c0c); }
.notice { padding: 1rem; background: var(--soft); }
`
