import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso'
import { PauseAllDialog } from '../action/pause-all.tsx'
import { api } from '../data/api.ts'
import { into } from '../data/into.ts'
import { hold, isStreaming, nextTryMs, poll, staleMs } from '../data/live.ts'
import { isHeld, useQuery } from '../data/query.ts'
import { needsLogin, outage } from '../data/request.ts'
import { ownPath, pagePath, root } from '../data/root.ts'
import { may, server, session } from '../data/session.ts'
import { PopoverCard } from '../drawing/popover-card.tsx'
import { Patterns } from '../drawing/shapes.tsx'
import { Overview } from '../page/overview/overview.tsx'
import { Button, Segments } from '../part/button.tsx'
import { Glyph } from '../part/glyph.tsx'
import { Icon } from '../part/icon.tsx'
import { later } from '../part/later.tsx'
import { At } from '../part/time.tsx'
import { duration } from '../time/duration.ts'
import { now, ownZone, pageZone, zoneMode, zoneName } from '../time/zone.ts'
import { clockText } from '../time/zoned.ts'
import { crumbs } from './crumbs.ts'
import { overlay, typedAhead, useKeys } from './keys.ts'
import { Login } from './login.tsx'
import { Logo } from './logo.tsx'
import { Sidebar, TabBar } from './navigation.tsx'
import { mainPages, morePages } from './pages.ts'
import { toggleTheme } from './theme.ts'
import { ToastCard } from './toast.tsx'

const Jobs = lazy(() => import('../page/jobs/jobs.tsx').then((module) => module.Jobs))
const Job = lazy(() => import('../page/job/job.tsx').then((module) => module.Job))
const Occurrences = lazy(() => import('../page/occurrences/occurrences.tsx').then((module) => module.Occurrences))
const Occurrence = lazy(() => import('../page/occurrence/occurrence.tsx').then((module) => module.Occurrence))
const DeadLetters = lazy(() => import('../page/dead-letters/dead-letters.tsx').then((module) => module.DeadLetters))
const Calendar = lazy(() => import('../page/calendar/calendar.tsx').then((module) => module.Calendar))
const Nodes = lazy(() => import('../page/nodes/nodes.tsx').then((module) => module.Nodes))
const Operations = lazy(() => import('../page/operations/operations.tsx').then((module) => module.Operations))
const Gate = lazy(() => import('../page/gate/gate.tsx').then((module) => module.Gate))
const Timers = lazy(() => import('../page/timers/timers.tsx').then((module) => module.Timers))
const Audit = lazy(() => import('../page/audit/audit.tsx').then((module) => module.Audit))
const Settings = lazy(() => import('../page/settings/settings.tsx').then((module) => module.Settings))
const NotFound = lazy(() => import('../page/not-found.tsx').then((module) => module.NotFound))
const Palette = later(() => import('./palette.tsx').then((module) => module.Palette))
const KeySheet = later(() => import('./key-sheet.tsx').then((module) => module.KeySheet))

/** The frame of all pages. */
export function Shell(): VNode {
  return (
    <LocationProvider scope={root}>
      <Frame />
    </LocationProvider>
  )
}

function Frame(): VNode | null {
  const { route, path } = useLocation()
  const goTo = Object.fromEntries([...mainPages, ...morePages].map((page) => [`g ${page.key}`, () => route(pagePath(page.path))]))
  useKeys({
    ...goTo,
    h: () => hold(!isHeld.peek()),
    '?': () => {
      overlay.value = 'keys'
    },
  })
  if (needsLogin.value) return <Login />
  if (!session.value) return null
  return (
    <div class={`app ${staleMs.value > 0 ? 'stale' : ''}`}>
      <Patterns />
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Sidebar path={ownPath(path)} />
      <div class="min-w-0">
        <TopBar path={ownPath(path)} />
        <StaleBar />
        <NoticeBars />
        <main id="main" tabIndex={-1}>
          <Pages />
        </main>
      </div>
      <TabBar path={ownPath(path)} />
      <PopoverCard />
      <ToastCard />
      {overlay.value === 'palette' && <Palette />}
      {overlay.value === 'keys' && <KeySheet />}
    </div>
  )
}

function Pages(): VNode {
  return (
    <Router onRouteChange={() => document.querySelector('dialog[open]') === null && scrollTo(0, 0)}>
      <Route path={root} component={Overview} />
      <Route path={`${root}jobs`} component={Jobs} />
      <Route path={`${root}jobs/:tenant/:name`} component={Job} />
      <Route path={`${root}occurrences`} component={Occurrences} />
      <Route path={`${root}occurrences/:id`} component={Occurrence} />
      <Route path={`${root}dead-letters`} component={DeadLetters} />
      <Route path={`${root}calendar`} component={Calendar} />
      <Route path={`${root}nodes`} component={Nodes} />
      <Route path={`${root}operations`} component={Operations} />
      <Route path={`${root}gate`} component={Gate} />
      <Route path={`${root}timers`} component={Timers} />
      <Route path={`${root}audit`} component={Audit} />
      <Route path={`${root}settings`} component={Settings} />
      <Route default component={NotFound} />
    </Router>
  )
}

function TopBar({ path }: { path: string }): VNode {
  const trail = crumbs(path)
  const last = trail.at(-1)!
  const label = server.value?.label
  document.title = [last.text, label, 'Punctual'].filter(Boolean).join(' · ')
  return (
    <header class="top">
      <a class="brand only-phone" href={root} aria-label="Overview">
        <Logo />
      </a>
      {label && <span class="env aside ell">{label}</span>}
      <nav class="crumb" aria-label="Where you are">
        {trail.slice(0, -1).map(({ text, path: to }) => (
          <>
            <a class="dim only-desk" href={pagePath(to)}>
              {text}
            </a>
            <span class="dim only-desk">/</span>
          </>
        ))}
        <span class="ell" aria-current="page">
          {last.text}
        </span>
      </nav>
      <button
        type="button"
        class="search"
        onClick={() => {
          typedAhead.value = ''
          overlay.value = 'palette'
        }}
      >
        <Icon name="search" />
        <span>Search or jump to</span>
        <kbd>{/Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <span class="only-desk">
        <Segments
          label="Time zone"
          value={zoneMode.value}
          values={[
            ['utc', 'UTC'],
            ['mine', `Mine: ${zoneName(ownZone)}`],
            ['job', 'Job’s zone'],
          ]}
          onChange={into(zoneMode)}
        />
      </span>
      <LiveButton />
      <a class="who only-desk" href={pagePath('settings')} title={`Role: ${session.value?.role}`}>
        <Icon name="user" />
        {session.value?.name ?? ''}
      </a>
      <span class="only-desk">
        <Button
          kind="ghost"
          icon="info"
          label="Keys"
          isSmall
          onClick={() => {
            overlay.value = 'keys'
          }}
        />
      </span>
      <span class="only-desk">
        <Button kind="ghost" icon="theme" label="Light or dark" isSmall onClick={toggleTheme} />
      </span>
    </header>
  )
}

/** Whether changes arrive, and the way to hold the page still. */
function LiveButton(): VNode {
  const word = isHeld.value ? `Held at ${clockText(now.value, pageZone.value)}` : isStreaming.value ? 'Live' : 'Polling'
  const title = isHeld.value
    ? 'The page stands still. Go on with updates'
    : `${isStreaming.value ? 'Changes arrive as they happen' : 'The stream is away: the page reads every 5 s'}. Hold the page still`
  return (
    <button type="button" class="live" title={title} aria-pressed={isHeld.value} onClick={() => hold(!isHeld.value)}>
      {isHeld.value ? <Icon name="pause" size={12} /> : <i class={isStreaming.value ? '' : 'off'} />}
      {word}
    </button>
  )
}

function StaleBar(): VNode | null {
  if (staleMs.value === 0) return null
  return (
    <div class="stalebar" role="status">
      <Icon name="clock" size={15} />
      <span>
        Last update {duration(Math.floor(staleMs.value / 1000) * 1000)} ago
        {outage.value && `: ${outage.value.message.replace(/\.$/, '')}`}. What you see is as old as that; the next try is in{' '}
        {Math.ceil(nextTryMs() / 1000)} s.
      </span>
      <Button isSmall onClick={poll}>
        Try now
      </Button>
    </div>
  )
}

/** Facts that concern every page: everything is paused, or nothing can be changed. */
function NoticeBars(): VNode {
  const { data } = useQuery({ key: ['overview', 'pauses'], read: (signal) => api.pauses(signal) })
  const all = data?.items.find(({ tenant, job }) => tenant === null && job === null)
  const isAsking = useSignal(false)
  return (
    <>
      {all && (
        <div class="stalebar" role="status">
          <Glyph mark="paused" />
          <span>
            Everything is paused since <At at={all.from} />
            {all.by && ` by ${all.by}`}
            {all.reason && `: ${all.reason}`}. Scheduled instants are skipped, enqueued work waits.
          </span>
          {may('pauses.close') && (
            <Button
              isSmall
              icon="play"
              onClick={() => {
                isAsking.value = true
              }}
            >
              Resume
            </Button>
          )}
        </div>
      )}
      {isAsking.value && (
        <PauseAllDialog
          isPaused
          onClose={() => {
            isAsking.value = false
          }}
        />
      )}
      {server.value?.readOnly && (
        <div class="stalebar" role="status">
          <Icon name="info" size={15} />
          <span>This server is read-only: actions are off for every role.</span>
        </div>
      )}
    </>
  )
}
