import { computed, signal } from '@preact/signals'
import { stored } from '../data/stored.ts'

export const zoneModes = ['utc', 'mine', 'job'] as const
export type ZoneMode = (typeof zoneModes)[number]

/** The browser's zone. */
export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
export const zoneMode = stored<ZoneMode>('zone', zoneModes, 'mine')

/** The zone of times that belong to no job. */
export const pageZone = computed(() => (zoneMode.value === 'utc' ? 'UTC' : ownZone))

/** The zone of a time of a job, which may have none. */
export function zoneOf(jobZone: string | null | undefined): string {
  return zoneMode.value === 'job' && jobZone ? jobZone : pageZone.value
}

/** The last part of a zone's name, as people say it. */
export function zoneName(zone: string): string {
  return zone.split('/').at(-1)!.replaceAll('_', ' ')
}

/** Ticks every second, by the server's clock. */
export const now = signal(Date.now())
