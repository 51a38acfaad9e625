import type { VNode } from 'preact'
import { pagePath, root } from '../data/root.ts'
import { server } from '../data/session.ts'
import { Icon } from '../part/icon.tsx'
import { overlay } from './keys.ts'
import { Logo } from './logo.tsx'
import { mainPages, morePages, type PageLink } from './pages.ts'

export function Sidebar({ path }: { path: string }): VNode {
  const facts = server.value
  return (
    <aside class="side">
      <a class="brand" href={root}>
        <Logo />
        <span>Punctual</span>
      </a>
      {facts?.label && <div class="env">{facts.label}</div>}
      <nav class="nav" aria-label="Pages">
        {mainPages.map((page) => (
          <NavLink key={page.path} page={page} path={path} />
        ))}
        <hr />
        {morePages.map((page) => (
          <NavLink key={page.path} page={page} path={path} />
        ))}
      </nav>
      {facts && (
        <div class="foot">
          <b>
            {facts.nodes} {facts.nodes === 1 ? 'node' : 'nodes'}
          </b>
          ,{' '}
          {facts.beating === facts.nodes
            ? facts.nodes === 0
              ? 'none runs'
              : facts.nodes === 1
                ? 'alive'
                : 'all alive'
            : `${facts.beating} alive`}
          <br />
          store <b>{facts.store.name}</b>, {Math.max(1, Math.round(facts.store.latencyMs))} ms
        </div>
      )}
    </aside>
  )
}

function NavLink({ page, path }: { page: PageLink; path: string }): VNode {
  const facts = server.value
  const count =
    facts && { jobs: facts.jobs, 'dead-letters': facts.dead, nodes: facts.nodes, operations: facts.operations }[page.path]
  return (
    <a href={pagePath(page.path)} title={page.title} {...(isCurrent(page, path) && { 'aria-current': 'page' })}>
      <Icon name={page.icon} size={16} />
      <span>{page.title}</span>
      {count ? <span class={`n ${page.path === 'dead-letters' ? 'fault' : ''}`}>{count.toLocaleString('en-US')}</span> : null}
    </a>
  )
}

/** At the foot of a narrow screen. */
export function TabBar({ path }: { path: string }): VNode {
  const dead = server.value?.dead ?? 0
  return (
    <nav class="tabbar" aria-label="Main pages">
      {mainPages.slice(0, 4).map((page) => (
        <a key={page.path} href={pagePath(page.path)} {...(isCurrent(page, path) && { 'aria-current': 'page' })}>
          <Icon name={page.icon} size={19} />
          {page.title}
          {page.path === 'dead-letters' && dead > 0 && <span class="n">{dead > 99 ? '99+' : dead}</span>}
        </a>
      ))}
      <button
        type="button"
        onClick={() => {
          overlay.value = overlay.value === 'more' ? null : 'more'
        }}
        aria-expanded={overlay.value === 'more'}
      >
        <Icon name="menu" size={19} />
        More
      </button>
      {overlay.value === 'more' && (
        <div class="more">
          {[...mainPages.slice(4), ...morePages].map((page) => (
            <a
              key={page.path}
              href={pagePath(page.path)}
              onClick={() => {
                overlay.value = null
              }}
            >
              <Icon name={page.icon} size={17} />
              {page.title}
            </a>
          ))}
        </div>
      )}
    </nav>
  )
}

function isCurrent({ path: own }: PageLink, path: string): boolean {
  return own === '' ? path === '' : path === own || path.startsWith(`${own}/`)
}
