import type { IconName } from '../part/icon.tsx'

export interface PageLink {
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** After `g`. */
  readonly key: string
}

export const mainPages: readonly PageLink[] = [
  { path: '', title: 'Overview', icon: 'overview', key: 'o' },
  { path: 'jobs', title: 'Jobs', icon: 'jobs', key: 'j' },
  { path: 'occurrences', title: 'Occurrences', icon: 'occ', key: 'c' },
  { path: 'dead-letters', title: 'Dead letters', icon: 'dead', key: 'd' },
  { path: 'calendar', title: 'Calendar', icon: 'cal', key: 'k' },
]

export const morePages: readonly PageLink[] = [
  { path: 'nodes', title: 'Nodes', icon: 'nodes', key: 'n' },
  { path: 'operations', title: 'Operations', icon: 'ops', key: 'p' },
  { path: 'gate', title: 'Gate', icon: 'gate', key: 'w' },
  { path: 'timers', title: 'Timers', icon: 'clock', key: 't' },
  { path: 'audit', title: 'Audit', icon: 'audit', key: 'a' },
  { path: 'settings', title: 'Settings', icon: 'settings', key: 's' },
]
